//! Moments with date and zone, in the zone of the user.

mod zone;

use std::sync::LazyLock;

use time::{OffsetDateTime, UtcOffset};
use zone::Zone;

static ZONE: LazyLock<Zone> = LazyLock::new(|| Zone::of_user(std::env::var("TZ").ok().as_deref()));

/// `2026-11-18 16:47:23.820 -05:00`, in the zone that `TZ` names, else in that of the machine.
pub fn local(at: OffsetDateTime) -> String {
    written(&ZONE, at)
}

fn written(zone: &Zone, at: OffsetDateTime) -> String {
    let offset = UtcOffset::from_whole_seconds(zone.offset(at.unix_timestamp())).unwrap_or(UtcOffset::UTC);
    let at = at.to_offset(offset);
    let (hour, minute, second, milli) = at.to_hms_milli();
    let (hours, minutes, _) = offset.as_hms();
    let sign = if offset.is_negative() { '-' } else { '+' };
    let (hours, minutes) = (hours.unsigned_abs(), minutes.unsigned_abs());
    let date = at.date();
    format!("{date} {hour:02}:{minute:02}:{second:02}.{milli:03} {sign}{hours:02}:{minutes:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_a_date_and_the_offset_of_its_season() {
        let at = |seconds: i64| OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let (winter, summer) = (at(1_795_038_443), at(1_783_000_000));
        let written = |zone: &str, at| written(&Zone::of_user(Some(zone)), at);
        assert_eq!(written("EST5EDT,M3.2.0,M11.1.0", winter), "2026-11-18 16:47:23.000 -05:00");
        assert_eq!(written("EST5EDT,M3.2.0,M11.1.0", summer), "2026-07-02 09:46:40.000 -04:00");
        assert_eq!(written("", winter), "2026-11-18 21:47:23.000 +00:00");
        assert_eq!(written("no/such/zone", winter), "2026-11-18 21:47:23.000 +00:00");
    }
}
