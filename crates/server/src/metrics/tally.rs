//! How many calls there were and how long they took, with room for percentiles.

use std::time::Duration;

/// Four to an octave, from a microsecond to about 18 hours.
const BUCKETS: usize = 144;

#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) took: Duration,
    buckets: [u32; BUCKETS],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { count: 0, took: Duration::ZERO, buckets: [0; BUCKETS] }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, took: Duration) {
        self.count += 1;
        self.took = self.took.saturating_add(took);
        let bucket = &mut self.buckets[bucket(took)];
        *bucket = bucket.saturating_add(1);
    }

    /// The median and the 99th percentile of all calls together, in seconds; nothing without a call.
    pub(crate) fn percentiles<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Option<(f64, f64)> {
        let mut sum = [0_u64; BUCKETS];
        for tally in tallies {
            for (total, count) in sum.iter_mut().zip(tally.buckets) {
                *total += u64::from(count);
            }
        }
        let all: u64 = sum.iter().sum();
        let at = |percent: u64| {
            let rank = (all * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let found = sum.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            found.map(upper)
        };
        Some((at(50)?, at(99)?))
    }
}

fn bucket(took: Duration) -> usize {
    let micros = took.as_micros().max(1);
    let octave = micros.ilog2();
    // The two bits behind the first one.
    let quarter = if octave >= 2 { micros >> (octave - 2) } else { micros << (2 - octave) } & 3;
    let index = usize::try_from(octave).unwrap_or(BUCKETS) * 4 + usize::try_from(quarter).unwrap_or(0);
    index.min(BUCKETS - 1)
}

/// The upper end of a bucket, in seconds.
fn upper(index: usize) -> f64 {
    let octave = u32::try_from(index / 4).unwrap_or(0);
    let quarter = f64::from(u32::try_from(index % 4).unwrap_or(0));
    f64::from(octave).exp2() * (1.0 + (quarter + 1.0) / 4.0) / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_a_fifth() {
        let mut quick = Tally::default();
        let mut slow = Tally::default();
        for millis in 1..=98 {
            quick.add(Duration::from_millis(millis));
        }
        slow.add(Duration::from_secs(9));
        slow.add(Duration::from_secs(10));
        let (p50, p99) = Tally::percentiles([&quick, &slow].into_iter()).unwrap();
        assert!((0.050..=0.060).contains(&p50), "{p50}");
        assert!((9.0..=11.0).contains(&p99), "{p99}");
        assert_eq!(Tally::percentiles([&Tally::default()].into_iter()), None);
    }

    #[test]
    fn every_duration_has_a_bucket_that_ends_behind_it() {
        for micros in [0, 1, 2, 3, 4, 7, 999, 1000, 65_535, 1 << 35] {
            let took = Duration::from_micros(micros);
            let end = upper(bucket(took));
            assert!(
                end >= took.as_secs_f64() && end <= took.as_secs_f64().mul_add(1.26, 3e-6),
                "{micros}: {end}"
            );
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }
}
