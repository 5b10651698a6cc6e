//! Time and chance, the two things that a test must be able to turn.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

/// A moment, in microseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment this long after `self`; saturates at the end of time.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Timestamp {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(micros))
    }

    /// The moment this long before `self`.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Timestamp {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(micros))
    }

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub fn millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Reads RFC 3339, the way people and APIs write a moment.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1000).ok().map(Timestamp)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1000)
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok());
        match text {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not an RFC 3339 time")))
    }
}

/// Where the engine takes time and chance from. Nothing else in this crate looks at a clock or rolls dice.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    async fn sleep(&self, duration: Duration);
    /// A moment that no change of the clock moves. It may stand still while the machine sleeps.
    fn monotonic(&self) -> Instant {
        Instant::now()
    }
    /// A number that cannot be guessed; in a simulation it is the same for the same seed.
    fn chance(&self) -> u64;
}

/// The clock on the wall.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallClock;

#[async_trait]
impl Clock for WallClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that looks at the wall")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(0).plus(since)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        rand::random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_survives_its_text() {
        for micros in [0, 1, 1_700_000_000_123_456, -5] {
            let at = Timestamp(micros);
            assert_eq!(Timestamp::parse(&at.to_string()), Some(at), "{at}");
        }
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn moments_are_added_and_compared_in_microseconds() {
        let at = Timestamp(1_700_000_000_123_456);
        assert_eq!(at.plus(Duration::from_micros(5)), Timestamp(1_700_000_000_123_461));
        assert_eq!(at.minus(Duration::from_micros(6)), Timestamp(1_700_000_000_123_450));
        assert_eq!(at.since(Timestamp(at.0 - 7)), Duration::from_micros(7));
        assert_eq!((at.millis(), Timestamp(-1).millis()), (1_700_000_000_123, -1));
        assert_eq!(Timestamp(i64::MAX).to_string(), "9223372036854775807us", "no calendar goes that far");
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, "\"2023-11-14T22:13:20.123456Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&text).unwrap(), at);
        assert!(serde_json::from_str::<Timestamp>("\"yesterday\"").is_err());
    }

    #[test]
    fn the_wall_is_in_this_century_and_its_dice_differ() {
        assert!(WallClock.now() > Timestamp::parse("2024-01-01T00:00:00Z").unwrap());
        let rolls = [WallClock.chance(), WallClock.chance(), WallClock.chance()];
        assert!(rolls[0] != rolls[1] || rolls[1] != rolls[2]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_wall_clock_sleeps_as_long_as_it_is_told() {
        let began = tokio::time::Instant::now();
        WallClock.sleep(Duration::from_secs(3)).await;
        assert_eq!(began.elapsed().as_secs(), 3);
    }

    #[test]
    fn time_never_overflows() {
        assert_eq!(Timestamp(i64::MAX).plus(Duration::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(1).since(Timestamp(5)), Duration::ZERO);
    }
}
