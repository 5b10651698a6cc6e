//! A small chart: bars of one hour, and one number that says what matters.

use std::time::Duration;

use crate::parts::span;
use crate::pulse::Sample;

const HEIGHT: f64 = 40.0;
const SECONDS: f64 = 30.0;
/// Bars of one hour; the newest is at the right edge.
const BARS: usize = 120;

pub(super) struct Chart {
    pub(super) title: &'static str,
    /// What the last bar says.
    pub(super) value: String,
    /// What the highest bar says.
    pub(super) most: String,
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
        // The first sample has nothing before it to compare with.
        let values: Vec<f64> = samples.iter().skip(1).map(per_minute).collect();
        let say =
            |value: f64| if value < 10.0 { format!("{value:.1}/min") } else { format!("{value:.0}/min") };
        Chart::new("Finished operations", &values, say)
    }

    pub(super) fn of_oldest(samples: &[Sample]) -> Chart {
        let age = |sample: &Sample| {
            let since = sample.stats.oldest_unfinished;
            since.map_or(0.0, |since| sample.at.since(since).as_secs_f64())
        };
        let values: Vec<f64> = samples.iter().skip(1).map(age).collect();
        Chart::new("Age of the oldest unfinished operation", &values, |value| {
            if value == 0.0 { "none".to_owned() } else { span(Duration::from_secs_f64(value)) }
        })
    }

    /// There is nothing to draw in the first minute.
    pub(super) fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }

    fn new(title: &'static str, values: &[f64], say: impl Fn(f64) -> String) -> Chart {
        let most = values.iter().copied().fold(0.0, f64::max);
        let values = &values[values.len().saturating_sub(BARS)..];
        let first = BARS - values.len();
        let bar = |(nth, value): (usize, &f64)| {
            let height = if most > 0.0 { (value / most * HEIGHT).max(1.0) } else { 1.0 };
            Bar { x: (first + nth) * 2, y: HEIGHT - height, height }
        };
        let value = say(values.last().copied().unwrap_or_default());
        let most_said = say(most);
        let told = format!("{title} in the last hour: now {value}, at most {most_said}");
        Chart { title, value, most: most_said, told, bars: values.iter().enumerate().map(bar).collect() }
    }
}

fn per_minute(sample: &Sample) -> f64 {
    f64::from(u32::try_from(sample.finished).unwrap_or(u32::MAX)) / SECONDS * 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_bar_is_at_the_right_edge_and_the_highest_fills_the_chart() {
        let chart = Chart::new("x", &[1.0, 4.0, 2.0], |value| format!("{value}"));
        assert_eq!(chart.bars.last().unwrap().x, (BARS - 1) * 2);
        assert!((chart.bars[1].height - HEIGHT).abs() < 0.01);
        assert_eq!((chart.value.as_str(), chart.most.as_str()), ("2", "4"));
        assert!(Chart::new("x", &[], |value| format!("{value}")).is_empty());
    }
}
