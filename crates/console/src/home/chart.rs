//! A small chart of the last hour: a bar for each minute, with axes, and one number that says what matters.

use std::time::Duration;

use engine::store::EndedOperations;

use crate::history::{MINUTE, MINUTES};
use crate::parts::span;

const HEIGHT: f64 = 60.0;

pub(super) struct Chart {
    pub(super) title: &'static str,
    /// The hour in one number.
    pub(super) value: String,
    /// What the top and the middle of the scale say.
    pub(super) top: String,
    pub(super) middle: String,
    /// The same for a user who does not see the bars.
    pub(super) told: String,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    pub(super) class: &'static str,
    pub(super) x: i64,
    pub(super) y: f64,
    pub(super) height: f64,
}

impl Chart {
    pub(super) fn of_finished(minutes: &[EndedOperations]) -> Chart {
        let all: u64 = minutes.iter().map(|one| one.count).sum();
        let failed: u64 = minutes.iter().map(|one| one.failed).sum();
        let most = minutes.iter().map(|one| one.count).max().unwrap_or_default();
        let top = even(most);
        let value = if failed == 0 { all.to_string() } else { format!("{all}, {failed} not succeeded") };
        let told = format!("Finished operations in the last hour: {value}; at most {most} a minute");
        let mut bars = Vec::new();
        for (x, one) in (0..MINUTES).zip(minutes) {
            let (whole, bad) = (height(one.count, top), height(one.failed, top));
            bars.push(Bar { class: "bar-good", x, y: HEIGHT - whole, height: whole - bad });
            bars.push(Bar { class: "bar-bad", x, y: HEIGHT - bad, height: bad });
        }
        bars.retain(|bar| bar.height > 0.0);
        let (top, middle) = (top.to_string(), (top / 2).to_string());
        Chart { title: "Finished per minute", value, top, middle, told, bars }
    }

    pub(super) fn of_durations(minutes: &[EndedOperations]) -> Chart {
        let mean = |took: Duration, count: u64| took / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let means: Vec<Duration> = minutes.iter().map(|one| mean(one.took, one.count)).collect();
        let longest = means.iter().copied().max().unwrap_or_default();
        let top = even(millis(longest));
        let all = mean(minutes.iter().map(|one| one.took).sum(), minutes.iter().map(|one| one.count).sum());
        let value = if longest.is_zero() { "none".to_owned() } else { span(all) };
        let told =
            format!("Mean time from creation to end in the last hour: {value}; at most {}", span(longest));
        let bar = |(x, mean): (i64, &Duration)| {
            let height = height(millis(*mean), top);
            Bar { class: "bar-good", x, y: HEIGHT - height, height }
        };
        let bars = (0..MINUTES).zip(&means).map(bar).filter(|bar| bar.height > 0.0).collect();
        let say = |millis: u64| span(Duration::from_millis(millis));
        Chart { title: "Mean time to finish", value, top: say(top), middle: say(top / 2), told, bars }
    }

    /// Nothing ended in the last hour.
    pub(super) fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }

    /// When the bars begin.
    pub(super) fn begins() -> String {
        format!("{} ago", span(MINUTE * u32::try_from(MINUTES).unwrap_or_default()))
    }
}

/// What little there is, is seen.
fn height(value: u64, top: u64) -> f64 {
    let share = |value: u64| f64::from(u32::try_from(value).unwrap_or(u32::MAX));
    if value == 0 { 0.0 } else { (share(value) / share(top.max(1)) * HEIGHT).max(1.5) }
}

/// The top of a scale: 2, 4, 10, 20, 40, 100 and so on.
fn even(most: u64) -> u64 {
    let mut decade: u64 = 1;
    loop {
        for step in [2, 4, 10] {
            let top = decade.saturating_mul(step);
            if top >= most || top == u64::MAX {
                return top;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_an_even_number() {
        let tops = [0, 1, 2, 3, 5, 11, 39, 41, 101].map(even);
        assert_eq!(tops, [2, 2, 2, 4, 10, 20, 40, 100, 200]);
        assert_eq!(even(u64::MAX), u64::MAX);
    }

    #[test]
    fn failures_are_a_part_of_their_bar() {
        let mut minutes = vec![EndedOperations::default(); 60];
        minutes[59] = EndedOperations { nth: 59, count: 4, failed: 1, took: Duration::from_secs(8) };
        let chart = Chart::of_finished(&minutes);
        let shown: Vec<(&str, i64, f64, f64)> =
            chart.bars.iter().map(|bar| (bar.class, bar.x, bar.y, bar.height)).collect();
        assert_eq!(shown, [("bar-good", 59, 0.0, 45.0), ("bar-bad", 59, 45.0, 15.0)]);
        assert_eq!((chart.value.as_str(), chart.top.as_str()), ("4, 1 not succeeded", "4"));
        assert_eq!(Chart::of_durations(&minutes).value, "2.0 s");
        assert!(Chart::of_finished(&[]).is_empty());
    }
}
