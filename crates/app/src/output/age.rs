//! Times as people say them.

use std::time::Duration;

use engine::Timestamp;

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];

/// `3 min ago`, `in 2 h` or `now`.
pub fn age(now: Timestamp, at: Timestamp) -> String {
    let (gone, ahead) = (now.since(at), at.since(now));
    if gone.as_secs() > 0 {
        format!("{} ago", rounded(gone.as_secs()))
    } else if ahead.as_millis() > 500 {
        // Rounded up, because something that is due in half a second is not due yet.
        format!("in {}", rounded(ahead.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)))
    } else {
        "now".to_owned()
    }
}

/// How long something took: `85 ms`, `3.2 s`, `12 min`.
pub fn lasted(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ 0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => rounded(duration.as_secs()),
    }
}

pub(super) fn rounded(seconds: u64) -> String {
    let (length, unit) = UNITS.into_iter().find(|(length, _)| seconds >= *length).unwrap_or((1, "s"));
    format!("{} {unit}", seconds / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short_and_know_the_future() {
        let now = Timestamp(0).plus(Duration::from_secs(1_000_000));
        let ago = |seconds| age(now, now.minus(Duration::from_secs(seconds)));
        let ahead = |millis| age(now, now.plus(Duration::from_millis(millis)));
        assert_eq!([ago(0), ago(1), ago(59)], ["now", "1 s ago", "59 s ago"]);
        assert_eq!([ago(60), ago(3_599), ago(3_600)], ["1 min ago", "59 min ago", "1 h ago"]);
        assert_eq!([ago(86_400), ago(950_000)], ["1 d ago", "10 d ago"]);
        assert_eq!([ahead(400), ahead(600), ahead(90_000)], ["now", "in 1 s", "in 1 min"]);
    }

    #[test]
    fn short_times_are_exact_and_long_ones_round() {
        let took = |millis| lasted(Duration::from_millis(millis));
        assert_eq!([took(0), took(85), took(3_250)], ["0 ms", "85 ms", "3.2 s"]);
        assert_eq!([took(59_949), took(60_000), took(7_260_000)], ["59.9 s", "1 min", "2 h"]);
    }
}
