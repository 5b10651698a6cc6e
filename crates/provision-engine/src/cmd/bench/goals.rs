//! What we want to reach, as ratios within one run, and whether we did.

use serde::Serialize;

use super::measure::Database;

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
    let at_least = |id, figure, value: f64, goal: f64| Goal {
        id,
        database,
        figure,
        value,
        goal: format!("≥ {goal}"),
        is_met: value >= goal,
    };
    let at_most = |id, figure, value: f64, goal: f64| Goal {
        id,
        database,
        figure,
        value,
        goal: format!("≤ {goal}"),
        is_met: value <= goal,
    };
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
