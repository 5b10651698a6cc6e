//! Maintenance windows: when a runtime may be upgraded.

use std::time::Duration;

use engine::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::instance::InstanceRecord;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// 1970 began with a Thursday.
const FIRST_DAY: i64 = 3;

/// One time at which a window is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub begin: Timestamp,
    pub end: Timestamp,
}

/// The windows of all runtimes: the first rule that fits counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows(Vec<WindowRule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct WindowRule {
    /// What the instance must have: a member and its value.
    matches: Vec<(Member, String)>,
    window: Window,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Account,
    Plan,
    Region,
}

/// From a time of the day for so long, on some days of the week. All times are UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Window {
    begin: Duration,
    lasts: Duration,
    days: [bool; 7],
}

impl Default for Windows {
    fn default() -> Self {
        let window =
            Window { begin: Duration::from_hours(22), lasts: Duration::from_hours(4), days: [true; 7] };
        Windows(vec![WindowRule { matches: Vec::new(), window }])
    }
}

impl Windows {
    /// Reads rules such as `plan=trial 00:00-06:00; region=eu-central-1 20:00-04:00 Sat,Sun; 22:00-02:00`.
    pub fn parse(text: &str) -> Result<Windows, String> {
        let rules: Result<Vec<WindowRule>, String> = text.split(';').map(WindowRule::parse).collect();
        let rules = rules?;
        match rules.last() {
            Some(last) if last.matches.is_empty() => Ok(Windows(rules)),
            _ => {
                Err("the last rule must fit every runtime: end it with times alone, such as 22:00-02:00"
                    .into())
            }
        }
    }

    /// The window of a runtime that is open at this moment, or else the next one.
    pub fn opening(&self, instance: &InstanceRecord, now: Timestamp) -> Opening {
        let rule = self.0.iter().find(|rule| rule.fits(instance));
        match rule {
            Some(rule) => rule.window.opening(now),
            None => Opening { begin: now, end: now.plus(DAY) },
        }
    }
}

impl WindowRule {
    fn parse(text: &str) -> Result<WindowRule, String> {
        let wrong = |what: &str| format!("{:?}: {what}", text.trim());
        let (mut matches, mut times, mut days) = (Vec::new(), None, [true; 7]);
        for word in text.split_whitespace() {
            if let Some((member, value)) = word.split_once('=') {
                let member = match member {
                    "account" => Member::Account,
                    "plan" => Member::Plan,
                    "region" => Member::Region,
                    _ => return Err(wrong(&format!("{member} is not account, plan or region"))),
                };
                matches.push((member, value.to_owned()));
            } else if word.contains(':') {
                let (begin, end) = word.split_once('-').ok_or_else(|| wrong("write times as 22:00-02:00"))?;
                let time = |text| time_of_day(text).ok_or_else(|| wrong("write times as 22:00-02:00"));
                times = Some((time(begin)?, time(end)?));
            } else {
                days = [false; 7];
                for name in word.split(',') {
                    let day = DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
                    days[day.ok_or_else(|| wrong(&format!("{name} is not a day such as Mon")))?] = true;
                }
            }
        }
        let (begin, end) = times.ok_or_else(|| wrong("it has no times such as 22:00-02:00"))?;
        let until = if end > begin { end } else { end + DAY };
        let lasts = until.saturating_sub(begin);
        Ok(WindowRule { matches, window: Window { begin, lasts, days } })
    }

    fn fits(&self, instance: &InstanceRecord) -> bool {
        self.matches.iter().all(|(member, value)| match member {
            Member::Account => instance.account == *value,
            Member::Plan => instance.plan == *value,
            Member::Region => instance.region == *value,
        })
    }
}

fn time_of_day(text: &str) -> Option<Duration> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then(|| MINUTE * (hours * 60 + minutes))
}

impl Window {
    /// The one that is open now, or else the next.
    fn opening(&self, now: Timestamp) -> Opening {
        let day_micros = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
        let today = now.0.div_euclid(day_micros);
        // The window of yesterday may go on after midnight, and a week has each of the days.
        let openings = (today - 1..=today + 8).filter(|day| self.is_open_on(*day)).map(|day| {
            let begin = Timestamp(day * day_micros).plus(self.begin);
            Opening { begin, end: begin.plus(self.lasts) }
        });
        let whole_day = Opening { begin: now, end: now.plus(DAY) };
        openings.into_iter().find(|opening| now < opening.end).unwrap_or(whole_day)
    }

    fn is_open_on(&self, day: i64) -> bool {
        let index = usize::try_from((day + FIRST_DAY).rem_euclid(7)).unwrap_or_default();
        self.days[index]
    }
}

#[cfg(test)]
mod tests {
    use engine::secret::{KeyRing, Sealer, SecretString, SharedRing};

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn instance(plan: &str, region: &str) -> InstanceRecord {
        let sealer = Sealer::new(&SharedRing::new(KeyRing::generate()), "test".to_owned());
        let sealed = || sealer.seal(&SecretString::from("{}"));
        let (plan, region) = (plan.to_owned(), region.to_owned());
        InstanceRecord { plan, region, ..InstanceRecord::new("i-1", "service", "plan", sealed(), sealed()) }
    }

    #[test]
    fn a_window_is_open_or_comes_on_the_next_day_that_has_one() {
        // 2026-11-18 is a Wednesday.
        let table = [
            ("22:00-02:00", "2026-11-18T12:00:00Z", "2026-11-18T22:00:00Z", "2026-11-19T02:00:00Z"),
            ("22:00-02:00", "2026-11-18T22:00:00Z", "2026-11-18T22:00:00Z", "2026-11-19T02:00:00Z"),
            ("22:00-02:00", "2026-11-18T01:59:00Z", "2026-11-17T22:00:00Z", "2026-11-18T02:00:00Z"),
            ("22:00-02:00", "2026-11-18T02:00:00Z", "2026-11-18T22:00:00Z", "2026-11-19T02:00:00Z"),
            ("00:00-00:00", "2026-11-18T12:00:00Z", "2026-11-18T00:00:00Z", "2026-11-19T00:00:00Z"),
            ("06:00-08:00 Sat,Sun", "2026-11-18T12:00:00Z", "2026-11-21T06:00:00Z", "2026-11-21T08:00:00Z"),
            ("06:00-08:00 Sat,Sun", "2026-11-21T09:00:00Z", "2026-11-22T06:00:00Z", "2026-11-22T08:00:00Z"),
            ("06:00-08:00 Wed", "2026-11-18T09:00:00Z", "2026-11-25T06:00:00Z", "2026-11-25T08:00:00Z"),
        ];
        for (rule, now, begin, end) in table {
            let windows = Windows::parse(rule).unwrap();
            let opening = windows.opening(&instance("azure", "westeurope"), at(now));
            assert_eq!(opening, Opening { begin: at(begin), end: at(end) }, "{rule} {now}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let windows =
            Windows::parse("plan=trial 01:00-02:00; region=us plan=aws 03:00-04:00; 22:00-02:00").unwrap();
        let begins =
            |plan, region| windows.opening(&instance(plan, region), at("2026-11-18T00:30:00Z")).begin;
        assert_eq!(begins("trial", "eu"), at("2026-11-18T01:00:00Z"));
        assert_eq!(begins("aws", "us"), at("2026-11-18T03:00:00Z"));
        assert_eq!(begins("aws", "eu"), at("2026-11-17T22:00:00Z"));
        assert_eq!(Windows::parse("22:00-02:00").unwrap(), Windows::default());
    }

    #[test]
    fn what_cannot_be_read_is_quoted() {
        for text in
            ["", "22:00", "22:00-25:00", "plan=a", "plan=a 22:00-02:00", "22:00-02:00 Noday", "x=y 1:00-2:00"]
        {
            assert!(Windows::parse(text).is_err(), "{text}");
        }
    }
}
