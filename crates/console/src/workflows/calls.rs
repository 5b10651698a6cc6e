//! How often the steps of a workflow were called in this process, and how that ended: from the metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::api::Api;
use crate::parts::span;

const COUNT: &str = "provision_engine_step_duration_seconds_count{";
const SUM: &str = "provision_engine_step_duration_seconds_sum{";

/// The calls of one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Calls {
    by_result: BTreeMap<String, u64>,
    seconds: f64,
}

/// What the calls of a step to something outside say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Unknown,
    Good,
    Mixed,
    Bad,
}

impl Calls {
    pub(super) fn count(&self) -> u64 {
        self.by_result.values().sum()
    }

    /// Such as `3 done, 1 failed`.
    pub(super) fn told(&self) -> String {
        let parts = self.by_result.iter().filter(|(_, count)| **count > 0);
        parts.map(|(result, count)| format!("{count} {result}")).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn mean(&self) -> String {
        let count = f64::from(u32::try_from(self.count().max(1)).unwrap_or(u32::MAX));
        Duration::try_from_secs_f64(self.seconds / count).map(span).unwrap_or_default()
    }

    pub(super) fn health(&self) -> Health {
        let is_bad = |result: &str| !matches!(result, "done" | "waited" | "skipped" | "undone");
        let bad: u64 =
            self.by_result.iter().filter(|(result, _)| is_bad(result)).map(|(_, count)| count).sum();
        match (self.count(), bad) {
            (0, _) => Health::Unknown,
            (_, 0) => Health::Good,
            (all, bad) if bad == all => Health::Bad,
            _ => Health::Mixed,
        }
    }
}

/// The calls of every step of a workflow. Whoever may not see the metrics sees none.
pub(super) async fn of(api: &Api, workflow: &str) -> BTreeMap<String, Calls> {
    let none: &[(axum::http::HeaderName, axum::http::HeaderValue)] = &[];
    let answer = api.send(axum::http::Method::GET, "/metrics", none, None::<&()>).await;
    answer.map(|answer| read(&answer.text(), workflow)).unwrap_or_default()
}

fn read(text: &str, workflow: &str) -> BTreeMap<String, Calls> {
    let mut all: BTreeMap<String, Calls> = BTreeMap::new();
    let wanted = format!("workflow=\"{workflow}\"");
    for line in text.lines() {
        let (rest, is_count) = match (line.strip_prefix(COUNT), line.strip_prefix(SUM)) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => continue,
        };
        let Some((labels, value)) = rest.split_once("} ") else { continue };
        let label = |name: &str| {
            let mut pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"').to_owned())
        };
        let (Some(step), Some(result)) = (label("step"), label("result")) else { continue };
        if !labels.split(',').any(|pair| pair == wanted) {
            continue;
        }
        let calls = all.entry(step).or_default();
        if is_count {
            *calls.by_result.entry(result).or_default() += value.trim().parse::<u64>().unwrap_or(0);
        } else {
            calls.seconds += value.trim().parse::<f64>().unwrap_or(0.0);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# TYPE provision_engine_step_duration_seconds histogram
provision_engine_step_duration_seconds_sum{workflow=\"launch\",step=\"validate\",result=\"done\"} 0.3
provision_engine_step_duration_seconds_count{workflow=\"launch\",step=\"validate\",result=\"done\"} 3
provision_engine_step_duration_seconds_count{workflow=\"launch\",step=\"validate\",result=\"failed\"} 1
provision_engine_step_duration_seconds_bucket{workflow=\"launch\",step=\"validate\",result=\"done\",le=\"1.0\"} 3
provision_engine_step_duration_seconds_count{workflow=\"launch.x\",step=\"validate\",result=\"done\"} 9
";

    #[test]
    fn the_calls_of_one_workflow_are_read_and_others_are_not() {
        let calls = read(TEXT, "launch").remove("validate").unwrap();
        assert_eq!((calls.count(), calls.told().as_str()), (4, "3 done, 1 failed"));
        assert_eq!(calls.mean(), "75 ms");
        assert_eq!(calls.health(), Health::Mixed);
        assert!(read(TEXT, "laun").is_empty());
        assert_eq!(Calls::default().health(), Health::Unknown);
    }
}
