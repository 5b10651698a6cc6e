//! The benchmarks of launches, of the console and of declared workflows, at a small scale: they run to their end, and their figures can be
//! believed.

#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

use std::process::{Command, Stdio};

use serde_json::Value;

/// The report on these figures, with nothing around the program but what it needs.
fn quick(figures: &str) -> Value {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["--figures", figures, "--store", "sqlite", "--quick", "--output", "json"]);
    command.env_clear().env("HOME", home.path());
    for kept in ["PATH", "TMPDIR"] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    let ran = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(ran.status.success(), "{}", ran.status);
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

#[test]
fn the_benchmark_of_launches_makes_the_calls_of_its_base_and_times_every_launch() {
    let report = quick("launch");
    let launches = &report["launches"][0];
    // Where they differ, the program has said which calls they are.
    assert_eq!(launches["calls_per_launch"], launches["base_calls_per_launch"], "{report}");
    assert!(number(&launches["launches_per_second"]) > 0.0 && number(&launches["ratio"]) > 0.0, "{report}");
    let awaited = &launches["awaited"];
    assert_eq!(awaited["launches"], 100);
    assert!(number(&awaited["looks_per_second"]) > 0.0 && number(&awaited["looks_ratio"]) <= 1.0, "{report}");
    for way in ["events", "callbacks"] {
        let reaction = &launches[way];
        assert_eq!(reaction["launches"], 10, "{report}");
        assert!(number(&reaction["p50_ms"]) > 0.0, "{report}");
        assert!(number(&reaction["p50_ms"]) <= number(&reaction["p99_ms"]), "{report}");
    }
    let goals: Vec<&str> =
        report["goals"].as_array().unwrap().iter().map(|goal| goal["id"].as_str().unwrap()).collect();
    assert_eq!(goals, ["L2", "L3", "L4", "L5"]);
}

#[test]
fn the_benchmark_of_the_console_loads_whole_pages_and_times_every_change() {
    let report = quick("console");
    let console = &report["consoles"][0];
    assert_eq!((&console["operations"], &console["streams"]), (&200.into(), &20.into()), "{report}");
    for figure in ["api_p50_ms", "page_p50_ms", "change_p50_ms", "memory_before_mb"] {
        assert!(number(&console[figure]) > 0.0, "{figure}: {report}");
    }
    // The scripts alone are more than ten.
    assert!(number(&console["first_page_kb"]) > 10.0, "{report}");
    assert!(number(&console["change_p50_ms"]) <= number(&console["change_p99_ms"]), "{report}");
    let goals: Vec<&str> =
        report["goals"].as_array().unwrap().iter().map(|goal| goal["id"].as_str().unwrap()).collect();
    assert_eq!(goals, ["C1", "C2", "C3", "C4"]);
}

#[test]
fn the_benchmark_of_declared_workflows_compares_steps_with_bare_calls() {
    let report = quick("declared");
    let declared = &report["declared"][0];
    assert_eq!(declared["in_flight"], 64, "{report}");
    for figure in
        ["calls_per_second", "steps_per_second", "ratio", "cpu_micros_per_call", "cpu_micros_per_step"]
    {
        assert!(number(&declared[figure]) > 0.0, "{figure}: {report}");
    }
    // Connections are kept: one carries many calls.
    assert!(number(&declared["calls_per_connection"]) > 5.0, "{report}");
    // In half a second few operations end, so that this is only known to be measured.
    assert!(number(&declared["commits_per_step"]) > 0.0, "{report}");
    assert_eq!(report["goals"][0]["id"], "D1");
}
