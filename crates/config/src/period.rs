//! A length of time as people write it: `250ms`, `10s`, `5m`, `24h` or `90d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The units, longest first, so that printing picks the longest one that divides the value.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A length of time in whole milliseconds, which prints in the form in which it can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(Duration);

impl Period {
    pub const fn millis(n: u64) -> Period {
        Period(Duration::from_millis(n))
    }

    pub const fn seconds(n: u64) -> Period {
        Period(Duration::from_secs(n))
    }

    pub const fn minutes(n: u64) -> Period {
        Period(Duration::from_secs(60 * n))
    }

    pub const fn hours(n: u64) -> Period {
        Period(Duration::from_secs(3_600 * n))
    }

    pub const fn days(n: u64) -> Period {
        Period(Duration::from_secs(86_400 * n))
    }

    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<Period> for Duration {
    fn from(period: Period) -> Duration {
        period.0
    }
}

/// The text is not a whole number followed by a unit, or is longer than any clock can count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number and a unit, such as 250ms, 10s, 5m, 24h or 90d")]
pub struct NotAPeriod;

impl FromStr for Period {
    type Err = NotAPeriod;

    fn from_str(text: &str) -> Result<Period, NotAPeriod> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| NotAPeriod)?;
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(NotAPeriod)?;
        number.checked_mul(*scale).map(Period::millis).ok_or(NotAPeriod)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        let (unit, scale) = UNITS
            .iter()
            .find(|(_, scale)| millis.is_multiple_of(u128::from(*scale)))
            .expect("one millisecond divides every whole number of milliseconds");
        write!(f, "{}{unit}", millis / u128::from(*scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_reads_and_prints_the_same() {
        check("250ms", "250ms");
        check("10s", "10s");
        check("5m", "5m");
        check("24h", "1d");
        check("36h", "36h");
        check("90d", "90d");
        check("90s", "90s");
        check("120s", "2m");
        check("0ms", "0s");
        check("007s", "7s");
    }

    #[test]
    fn anything_else_is_refused() {
        let too_long = format!("{}d", u64::MAX);
        for text in [
            "", "10", "s", "ms", "1.5h", "-1s", "+1s", "1 s", " 1s", "1s ", "1S", "1w", "1h30m", "٣s",
            &too_long,
        ] {
            assert_eq!(text.parse::<Period>(), Err(NotAPeriod), "{text:?}");
        }
    }

    #[test]
    fn the_short_forms_mean_what_they_say() {
        assert_eq!(Period::days(1), Period::hours(24));
        assert_eq!(Period::hours(1), Period::minutes(60));
        assert_eq!(Period::minutes(1), Period::seconds(60));
        assert_eq!(Period::seconds(1), Period::millis(1_000));
        assert_eq!(Duration::from(Period::seconds(2)), Duration::from_secs(2));
    }

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let period: Period = text.parse().unwrap();
        assert_eq!(period.to_string(), printed);
        assert_eq!(printed.parse(), Ok(period));
    }
}
