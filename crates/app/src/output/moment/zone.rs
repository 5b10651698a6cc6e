//! Time zones: a file of the zone database, or a rule as POSIX writes it in `TZ`.

use std::fs::File;
use std::io::Read;

use time::{Date, Month, OffsetDateTime, Weekday};

/// No file of the zone database is larger.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const HEADER_BYTES: usize = 44;
const LOCAL: &str = "/etc/localtime";
const DATABASE: &str = "/usr/share/zoneinfo";

/// Seconds east of UTC, by moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Zone {
    /// From when on which offset holds.
    changes: Vec<(i64, i32)>,
    before: i32,
    /// What holds after the last change.
    rule: Option<Rule>,
}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    standard: i32,
    summer: Option<(i32, Switch, Switch)>,
}

/// A day of each year, such as the second Sunday of March, and the second of that day.
#[derive(Debug, PartialEq, Eq)]
struct Switch {
    month: Month,
    week: u8,
    weekday: Weekday,
    second: i32,
}

impl Zone {
    /// UTC where the zone cannot be read.
    pub(super) fn of_user(name: Option<&str>) -> Zone {
        let zone = match name {
            None => file(LOCAL),
            Some("") => None,
            Some(name) => named(name.strip_prefix(':').unwrap_or(name)),
        };
        zone.unwrap_or_default()
    }

    pub(super) fn offset(&self, at: i64) -> i32 {
        let next = self.changes.partition_point(|(since, _)| *since <= at);
        match (next.checked_sub(1), &self.rule) {
            (last, Some(rule))
                if next == self.changes.len() && (last.is_some() || self.changes.is_empty()) =>
            {
                rule.offset(at)
            }
            (Some(last), _) => self.changes[last].1,
            (None, _) => self.before,
        }
    }
}

fn named(name: &str) -> Option<Zone> {
    if name.starts_with('/') {
        return file(name);
    }
    if name.split('/').any(|part| part == "..") {
        return None;
    }
    let rule = || Some(Zone { rule: Some(rule(name)?), ..Zone::default() });
    file(&format!("{DATABASE}/{name}")).or_else(rule)
}

fn file(path: &str) -> Option<Zone> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    parse(&bytes)
}

/// The second part of a file of version 2 or later (RFC 9636), which has 64-bit times and a rule at its end.
fn parse(bytes: &[u8]) -> Option<Zone> {
    let first = Counts::read(bytes)?;
    let second = bytes.get(HEADER_BYTES + first.bytes(4)..)?;
    let counts = Counts::read(second)?;
    let body = second.get(HEADER_BYTES..)?;
    let (times, rest) = body.split_at_checked(counts.times * 8)?;
    let (kinds, rest) = rest.split_at_checked(counts.times)?;
    let types = rest.get(..counts.types * 6)?;
    let offset = |kind: usize| {
        types.get(kind * 6..kind * 6 + 4).and_then(|bytes| Some(i32::from_be_bytes(bytes.try_into().ok()?)))
    };
    let mut changes = Vec::with_capacity(counts.times);
    for (time, kind) in times.chunks_exact(8).zip(kinds) {
        changes.push((i64::from_be_bytes(time.try_into().ok()?), offset(usize::from(*kind))?));
    }
    let footer = second.get(HEADER_BYTES + counts.bytes(8)..)?;
    let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
    Some(Zone { changes, before: offset(0)?, rule: rule(footer) })
}

/// How many there are of what in a part of a file.
struct Counts {
    utc: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    fn read(part: &[u8]) -> Option<Counts> {
        let header = part.get(..HEADER_BYTES)?;
        if !header.starts_with(b"TZif") || header[4] < b'2' {
            return None;
        }
        let count = |at: usize| {
            let bytes = header.get(20 + at * 4..24 + at * 4)?;
            usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok()
        };
        Some(Counts {
            utc: count(0)?,
            standard: count(1)?,
            leaps: count(2)?,
            times: count(3)?,
            types: count(4)?,
            chars: count(5)?,
        })
    }

    fn bytes(&self, time: usize) -> usize {
        self.times * (time + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time + 4)
            + self.standard
            + self.utc
    }
}

/// `EST5EDT,M3.2.0,M11.1.0`; other ways to name a day mean no summer time.
fn rule(text: &str) -> Option<Rule> {
    let mut parts = text.split(',');
    let names = parts.next()?;
    let (west, names) = offset(after_name(names)?)?;
    let standard = -west;
    if names.is_empty() {
        return Some(Rule { standard, summer: None });
    }
    let summer = match after_name(names)? {
        "" => standard + 3_600,
        text => -offset(text)?.0,
    };
    let switches = parts.next().and_then(switch).zip(parts.next().and_then(switch));
    Some(Rule { standard, summer: switches.map(|(start, end)| (summer, start, end)) })
}

/// What follows the name of a zone, `EST` or `<+03>`.
fn after_name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return Some(quoted.split_once('>')?.1);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// `5`, `-3:30` or `+2:00:00` in seconds, and what follows.
fn offset(text: &str) -> Option<(i32, &str)> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let mut seconds = 0;
    for (part, unit) in digits.split(':').zip([3_600, 60, 1]) {
        seconds += part.parse::<i32>().ok().filter(|number| *number < 168)? * unit;
    }
    Some((sign * seconds, rest))
}

/// `M3.2.0/2`: month, week (5 is the last), day of the week from Sunday, and the time.
fn switch(text: &str) -> Option<Switch> {
    let (day, at) = text.split_once('/').unwrap_or((text, "2"));
    let mut numbers = day.strip_prefix('M')?.split('.').map(|part| part.parse::<u8>().ok());
    let month = Month::try_from(numbers.next()??).ok()?;
    let week = numbers.next()??;
    let weekday = Weekday::Sunday.nth_next(numbers.next()??);
    Some(Switch { month, week, weekday, second: offset(at)?.0 })
}

impl Switch {
    /// When it is in a year, in local seconds since 1970.
    fn at(&self, year: i32) -> Option<i64> {
        let first = Date::from_calendar_date(year, self.month, 1).ok()?;
        let days =
            i64::from(self.weekday.number_days_from_sunday() + 7 - first.weekday().number_days_from_sunday())
                % 7;
        let mut day = days + 7 * (i64::from(self.week) - 1);
        if day >= i64::from(self.month.length(year)) {
            day -= 7;
        }
        Some(first.midnight().assume_utc().unix_timestamp() + day * 86_400 + i64::from(self.second))
    }
}

impl Rule {
    fn offset(&self, at: i64) -> i32 {
        let Some((summer, start, end)) = &self.summer else { return self.standard };
        let year = OffsetDateTime::from_unix_timestamp(at + i64::from(self.standard))
            .map_or(1970, OffsetDateTime::year);
        let Some((start, end)) = start.at(year).zip(end.at(year)) else { return self.standard };
        let (start, end) = (start - i64::from(self.standard), end - i64::from(*summer));
        let is_summer = if start < end { (start..end).contains(&at) } else { !(end..start).contains(&at) };
        if is_summer { *summer } else { self.standard }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(zone: &str, at: i64, expect: i32) {
        assert_eq!(Zone::of_user(Some(zone)).offset(at), expect, "{zone} {at}");
    }

    #[test]
    fn rules_know_their_summers_on_both_halves_of_the_earth() {
        // The second of the change in the United States in 2026, and the one before.
        check("EST5EDT,M3.2.0,M11.1.0", 1_772_953_200, -14_400);
        check("EST5EDT,M3.2.0,M11.1.0", 1_772_953_199, -18_000);
        check("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_768_000_000, 39_600);
        check("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_783_000_000, 36_000);
        check("CET-1CEST,M3.5.0,M10.5.0/3", 1_783_000_000, 7_200);
        check("<+0330>-3:30", 0, 12_600);
        check("UTC0", 0, 0);
    }

    #[test]
    fn a_file_has_changes_and_a_rule_and_nonsense_is_utc() {
        let part = |time: &[u8], footer: &str| {
            let mut bytes = b"TZif2".to_vec();
            bytes.extend([0; 15]);
            for count in [0_u32, 0, 0, 1, 2, 4] {
                bytes.extend(count.to_be_bytes());
            }
            bytes.extend(time);
            bytes.extend([1]);
            bytes.extend([0, 0, 0, 0, 0, 0]);
            bytes.extend(3_600_i32.to_be_bytes());
            bytes.extend([0, 0]);
            bytes.extend(b"UTC\0");
            bytes.extend(footer.as_bytes());
            bytes
        };
        let whole = [part(&0_i32.to_be_bytes(), ""), part(&100_i64.to_be_bytes(), "\nABC-2\n")].concat();
        let zone = parse(&whole).unwrap();
        assert_eq!((zone.offset(99), zone.offset(100)), (0, 7_200), "the rule holds after the last change");
        for end in 0..whole.len() - 8 {
            // However the file is cut, nothing panics.
            let _ = parse(&whole[..end]);
        }
        for zone in ["../../etc/passwd", "X", "no", "/dev/null", "M3"] {
            check(zone, 0, 0);
        }
    }
}
