//! What we want to reach, as ratios within one run, and whether we did.

use serde::Serialize;

use super::console::Consoled;
use super::declared::DeclaredResult;
use super::launch::Launching;
use super::measure::Database;
use super::runtimes::RuntimesResult;
use super::serverless::Serverless;

#[derive(Debug, Serialize)]
pub(super) struct Goal {
    pub(super) id: &'static str,
    pub(super) database: &'static str,
    pub(super) figure: &'static str,
    pub(super) value: f64,
    pub(super) goal: String,
    pub(super) is_met: bool,
}

pub(super) fn judge(databases: &[Database]) -> Vec<Goal> {
    databases.iter().flat_map(judge_one).collect()
}

fn judge_one(db: &Database) -> Vec<Goal> {
    let is_postgres = db.name == "postgres";
    let database = db.name;
    let at_least = |id, figure, value, goal| at_least(database, id, figure, value, goal);
    let at_most = |id, figure, value, goal| at_most(database, id, figure, value, goal);
    let mut goals = Vec::new();
    if is_postgres {
        goals.push(at_least(
            "P1",
            "steps/s at 1,000 in flight ÷ commits/s at 32",
            db.ratios.steps_at_1000,
            6.0,
        ));
        goals.push(at_least("P2", "steps/s at 64 in flight ÷ commits/s at 32", db.ratios.steps_at_64, 2.0));
    } else {
        goals.push(at_least("P3", "steps/s at 1,000 in flight ÷ commits/s", db.ratios.steps_at_1000, 40.0));
    }
    goals.push(at_most(
        "P4",
        "time of one operation alone ÷ time of one commit",
        db.ratios.latency_alone,
        14.0,
    ));
    goals.push(at_least("P5", "steps/s with a long past ÷ without", db.history.ratio, 0.95));
    let more = db.waiting.memory_waiting_mb - db.waiting.memory_idle_mb;
    goals.push(at_most("P6", "MB more with all the waiting operations", more, 50.0));
    goals.push(at_most("P7", "ms from a new start until all are resumed", db.recovery.resumed_ms, 2000.0));
    if let (true, Some(load)) = (is_postgres, db.engine.last()) {
        goals.push(at_most("P8", "WAL bytes per step at 1,000 in flight", load.bytes_per_step, 400.0));
        goals.push(at_most("P8", "commits per step at 1,000 in flight", load.commits_per_step, 0.02));
    }
    if let Some(rate) = db.idle_transactions_per_second {
        goals.push(at_most("P9", "transactions per second of an idle replica", rate, 2.0));
    }
    goals
}

pub(super) fn judge_runtimes(databases: &[RuntimesResult]) -> Vec<Goal> {
    databases.iter().flat_map(judge_runtimes_of).collect()
}

fn judge_runtimes_of(runtimes: &RuntimesResult) -> Vec<Goal> {
    let RuntimesResult { name, at_a_rate, awaited, lists, .. } = runtimes;
    let slowest = lists.iter().map(|list| list.max_ms).fold(0.0, f64::max);
    let more = awaited.memory_later_mb - awaited.memory_before_mb;
    vec![
        at_most(name, "R1", "ms to accept a runtime at a fixed pace, 99 %", at_a_rate.p99_ms, 250.0),
        at_most(name, "R4", "MB more with all the runtimes waiting", more, 50.0),
        at_most(name, "R5", "ms for a page of 100, the slowest of all", slowest, 100.0),
    ]
}

pub(super) fn judge_serverless(databases: &[Serverless]) -> Vec<Goal> {
    let share = "ms of our own in a look at a fixed pace, 99 %";
    let judge = |of: &Serverless| {
        let own = of.reads.own_p99_ms;
        let goal = at_most(of.name, "S2", share, own, 1.0);
        // Less than nothing is noise, and noise meets no goal.
        Goal { is_met: goal.is_met && own >= 0.0, ..goal }
    };
    databases.iter().map(judge).collect()
}

pub(super) fn judge_launches(databases: &[Launching]) -> Vec<Goal> {
    databases.iter().flat_map(judge_launches_of).collect()
}

fn judge_launches_of(launches: &Launching) -> Vec<Goal> {
    let Launching { name, awaited, events, callbacks, .. } = launches;
    let more = awaited.memory_later_mb - awaited.memory_before_mb;
    vec![
        at_most(name, "L2", "MB more with all the launches waiting", more, 50.0),
        at_most(name, "L3", "looks at builds ÷ those that are allowed", awaited.looks_ratio, 1.0),
        at_most(name, "L4", "ms from an event to the launch, 99 %", events.p99_ms, 100.0),
        at_most(name, "L5", "ms from a callback to the launch, 99 %", callbacks.p99_ms, 100.0),
    ]
}

pub(super) fn judge_consoles(databases: &[Consoled]) -> Vec<Goal> {
    databases.iter().flat_map(judge_console).collect()
}

fn judge_console(of: &Consoled) -> Vec<Goal> {
    let more = of.memory_streams_mb - of.memory_before_mb;
    vec![
        at_most(of.name, "C1", "ms on the server for a page, 99 %", of.page_p99_ms, 50.0),
        at_most(of.name, "C2", "kB of the first page with all that it loads", of.first_page_kb, 100.0),
        at_most(of.name, "C3", "ms from a commit to the page, 99 %", of.change_p99_ms, 200.0),
        at_most(of.name, "C4", "MB more with all the pages open", more, 100.0),
    ]
}

pub(super) fn judge_declared(databases: &[DeclaredResult]) -> Vec<Goal> {
    let figure = "declared steps/s ÷ bare calls/s at 64 in flight";
    databases.iter().map(|of| at_least(of.name, "D1", figure, of.ratio, 0.5)).collect()
}

fn at_least(database: &'static str, id: &'static str, figure: &'static str, value: f64, goal: f64) -> Goal {
    Goal { id, database, figure, value, goal: format!("≥ {goal}"), is_met: value >= goal }
}

fn at_most(database: &'static str, id: &'static str, figure: &'static str, value: f64, goal: f64) -> Goal {
    Goal { id, database, figure, value, goal: format!("≤ {goal}"), is_met: value <= goal }
}

#[cfg(test)]
mod tests {
    use super::super::launch;
    use super::super::runtimes::{AcceptRate, Awaited, ListMeasurement};
    use super::super::serverless::Share;
    use super::*;

    fn runtimes(p99_ms: f64, memory_later_mb: f64, max_ms: f64) -> RuntimesResult {
        let list = |max_ms| ListMeasurement { question: "any", p50_ms: 1.0, max_ms };
        RuntimesResult {
            name: "sqlite",
            clients: 64,
            writers: 1,
            commits_per_second: 100.0,
            accepted_per_second: 200.0,
            accepted_ratio: 2.0,
            at_a_rate: AcceptRate { requests_per_second: 200, requests: 800, p50_ms: 1.0, p99_ms },
            reads_per_second: 1.0,
            carried_per_second: 1.0,
            awaited: Awaited {
                runtimes: 1,
                memory_before_mb: 50.0,
                memory_waiting_mb: 500.0,
                memory_later_mb,
            },
            records: 1,
            lists: vec![list(max_ms), list(2.0)],
        }
    }

    #[test]
    fn each_goal_of_runtimes_is_missed_by_its_own_figure_alone() {
        for (measured, missed) in [
            (runtimes(250.0, 100.0, 100.0), vec![]),
            (runtimes(250.1, 100.0, 100.0), vec!["R1"]),
            (runtimes(250.0, 100.1, 100.0), vec!["R4"]),
            (runtimes(250.0, 100.0, 100.1), vec!["R5"]),
        ] {
            let goals = judge_runtimes(&[measured]);
            let found: Vec<&str> = goals.iter().filter(|goal| !goal.is_met).map(|goal| goal.id).collect();
            assert_eq!(found, missed);
            assert_eq!(goals.len(), 3);
        }
    }

    fn serverless(own_p99_ms: f64) -> Serverless {
        let share = |own_p99_ms| Share {
            requests: 1,
            per_second: 1.0,
            base_per_second: 2.0,
            p50_ms: 9.0,
            p99_ms: 9.0,
            base_p50_ms: 8.0,
            base_p99_ms: 8.0,
            own_p50_ms: 9.0,
            own_p99_ms,
        };
        Serverless {
            name: "sqlite",
            creators: 8,
            creates: share(99.0),
            requests_per_second: 500,
            reads: share(own_p99_ms),
            pollers: 64,
            polls_per_second: 1.0,
            base_polls_per_second: 2.0,
            connections: 99,
            memory_before_mb: 1.0,
            memory_after_mb: 99.0,
        }
    }

    #[test]
    fn the_goal_of_serverless_runtimes_is_our_own_share_of_a_look() {
        for (own_p99_ms, is_met) in [(0.2, true), (1.0, true), (1.1, false), (-0.1, false)] {
            let goals = judge_serverless(&[serverless(own_p99_ms)]);
            let found: Vec<(&str, bool)> = goals.iter().map(|goal| (goal.id, goal.is_met)).collect();
            assert_eq!(found, [("S2", is_met)], "{own_p99_ms}");
        }
    }

    fn launching(memory_later_mb: f64, looks_ratio: f64, event_ms: f64, callback_ms: f64) -> Launching {
        let reaction =
            |p99_ms| launch::Reaction { launches: 1, per_second: 1, p50_ms: 200.0, p99_ms, max_ms: 200.0 };
        Launching {
            name: "sqlite",
            at_once: 64,
            launches_per_second: 1.0,
            base_per_second: 2.0,
            ratio: 0.5,
            calls_per_launch: 11.0,
            base_calls_per_launch: 11.0,
            awaited: launch::Awaited {
                launches: 1,
                memory_before_mb: 50.0,
                memory_waiting_mb: 500.0,
                memory_later_mb,
                looks_per_second: 500.0,
                looks_ratio,
            },
            events: reaction(event_ms),
            callbacks: reaction(callback_ms),
        }
    }

    #[test]
    fn each_goal_of_launches_is_missed_by_its_own_figure_alone() {
        for (measured, missed) in [
            (launching(100.0, 1.0, 100.0, 100.0), vec![]),
            (launching(100.1, 1.0, 100.0, 100.0), vec!["L2"]),
            (launching(100.0, 1.1, 100.0, 100.0), vec!["L3"]),
            (launching(100.0, 1.0, 100.1, 100.0), vec!["L4"]),
            (launching(100.0, 1.0, 100.0, 100.1), vec!["L5"]),
        ] {
            let goals = judge_launches(&[measured]);
            let found: Vec<&str> = goals.iter().filter(|goal| !goal.is_met).map(|goal| goal.id).collect();
            assert_eq!(found, missed);
            assert_eq!(goals.len(), 4);
        }
    }
}
