//! A small chart: bars of one hour, and one number that says what matters.

use std::time::Duration;

use crate::parts::span;
use crate::pulse::Sample;

const HEIGHT: f64 = 40.0;
const SECONDS: f64 = 30.0;

pub(super) struct Chart {
    pub(super) title: &'static str,
    /// What the last bar says.
    pub(super) value: String,
    /// The same for somebody who does not see the bars.
    pub(super) told: String,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    pub(super) x: usize,
    pub(super) y: f64,
    pub(super) height: f64,
}

impl Chart {
    pub(super) fn of_finished(samples: &[Sample]) -> Chart {
        let values: Vec<f64> = samples.iter().map(|sample| sample.finished as f64 / SECONDS).collect();
        let say = |value: f64| if value < 10.0 { format!("{value:.1}/s") } else { format!("{value:.0}/s") };
        Chart::new("Finished operations", &values, say)
    }

    pub(super) fn of_oldest(samples: &[Sample]) -> Chart {
        let age = |sample: &Sample| {
            let since = sample.stats.oldest_unfinished;
            since.map_or(0.0, |since| sample.at.since(since).as_secs_f64())
        };
        let values: Vec<f64> = samples.iter().map(age).collect();
        Chart::new("Age of the oldest unfinished operation", &values, |value| {
            if value == 0.0 { "none".to_owned() } else { span(Duration::from_secs_f64(value)) }
        })
    }

    fn new(title: &'static str, values: &[f64], say: impl Fn(f64) -> String) -> Chart {
        let most = values.iter().copied().fold(0.0, f64::max);
        let bar = |(x, value): (usize, &f64)| {
            let height = if most > 0.0 { (value / most * HEIGHT).max(1.0) } else { 1.0 };
            Bar { x: x * 2, y: HEIGHT - height, height }
        };
        let value = say(values.last().copied().unwrap_or_default());
        let told = format!("{title} in the last hour: now {value}, at most {}", say(most));
        Chart { title, value, told, bars: values.iter().enumerate().map(bar).collect() }
    }
}
