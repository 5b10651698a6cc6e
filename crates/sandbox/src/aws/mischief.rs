//! Mischief on demand: calls that fail, answers that get lost, instances that die or stay without an address.
//!
//! Of several that are meant, the oldest happens.

use serde::{Deserialize, Serialize};

use super::action::Action;

const SCRIPTED_MAX: usize = 1000;
const TEXT_CHARS_MAX: usize = 500;

/// Each kind is taken by the one place that carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mischief {
    /// A call is refused with a code, and nothing is done.
    Fail,
    /// A call is carried out, and its answer never arrives.
    Lose,
    /// An instance never runs: it is terminated instead.
    Die,
    /// An instance runs, and never gets a public address.
    NoAddress,
}

/// What people send to `POST /aws/fail` and its like.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scripted {
    /// Which calls are hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// What a refused call answers, or why an instance died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    /// Whether it hits rehearsals, and only them.
    #[serde(default)]
    dry_run: bool,
    /// How often it happens; 0 means every time until it is cleared.
    #[serde(default = "once")]
    times: u32,
    /// How many chances go by unharmed first.
    #[serde(default)]
    after: u32,
    #[serde(skip_deserializing)]
    hits: u32,
}

fn once() -> u32 {
    1
}

/// Whom mischief could hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance<'a> {
    pub(super) action: Action,
    pub(super) account: &'a str,
    pub(super) region: &'a str,
    pub(super) is_dry_run: bool,
}

/// What is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) code: String,
    pub(super) message: String,
}

impl Scripted {
    fn check(&self, kind: Mischief) -> Result<(), &'static str> {
        let texts = [&self.code, &self.message, &self.account, &self.region];
        let is_long = |text: &&String| text.chars().count() > TEXT_CHARS_MAX;
        let is_about_calls = matches!(kind, Mischief::Fail | Mischief::Lose);
        if texts.into_iter().flatten().any(|text| is_long(&text)) {
            return Err("a text is too long");
        }
        if is_about_calls && self.action.is_none() {
            return Err("this needs the action that it is about");
        }
        if !is_about_calls && (self.action.is_some() || self.dry_run) {
            return Err("action and dry_run are only for fail and lose");
        }
        if kind == Mischief::Fail && self.code.is_none() {
            return Err("fail needs the code to answer");
        }
        Ok(())
    }

    fn is_about(&self, chance: &Chance<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        self.action.is_none_or(|action| action == chance.action)
            && is(&self.account, chance.account)
            && is(&self.region, chance.region)
            && self.dry_run == chance.is_dry_run
    }
}

#[derive(Debug, Default)]
pub(super) struct Script {
    scripted: Vec<(Mischief, Scripted)>,
}

impl Script {
    pub(super) fn add(&mut self, kind: Mischief, one: Scripted) -> Result<(), String> {
        one.check(kind)?;
        if self.scripted.len() >= SCRIPTED_MAX {
            return Err(format!("at most {SCRIPTED_MAX} pieces of mischief can be scripted at once"));
        }
        self.scripted.push((kind, one));
        Ok(())
    }

    /// What to say where this mischief happens now.
    pub(super) fn take(&mut self, kind: Mischief, chance: &Chance<'_>) -> Option<Told> {
        let is_meant = |(other, one): &(Mischief, Scripted)| *other == kind && one.is_about(chance);
        let position = self.scripted.iter().position(is_meant)?;
        let one = &mut self.scripted[position].1;
        if one.after > 0 {
            one.after -= 1;
            return None;
        }
        one.hits += 1;
        let told = Told {
            code: one.code.clone().unwrap_or_else(|| "Server.InternalError".into()),
            message: one.message.clone().unwrap_or_else(|| "this was scripted".into()),
        };
        if one.times != 0 && one.hits >= one.times {
            self.scripted.remove(position);
        }
        Some(told)
    }

    pub(super) fn list(&self, kind: Mischief) -> Vec<&Scripted> {
        self.scripted.iter().filter(|(other, _)| *other == kind).map(|(_, one)| one).collect()
    }

    pub(super) fn clear(&mut self, kind: Mischief) {
        self.scripted.retain(|(other, _)| *other != kind);
    }
}

/// Every so many calls one is refused, because there were too many.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Throttle {
    /// 1 refuses every call, and 0 none.
    every: u64,
    /// All actions count where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_deserializing)]
    calls: u64,
}

impl Throttle {
    pub(super) fn hits(&mut self, action: Action) -> bool {
        if self.every == 0 || self.action.is_some_and(|only| only != action) {
            return false;
        }
        self.calls += 1;
        self.calls.is_multiple_of(self.every)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chance(is_dry_run: bool) -> Chance<'static> {
        Chance { action: Action::RunInstances, account: "1", region: "eu-west-1", is_dry_run }
    }

    fn script(kind: Mischief, json: serde_json::Value) -> Result<Script, String> {
        let mut script = Script::default();
        script.add(kind, serde_json::from_value(json).map_err(|error| error.to_string())?)?;
        Ok(script)
    }

    #[test]
    fn mischief_happens_as_often_as_it_was_scripted_and_to_whom() {
        let body = json!({"action": "RunInstances", "code": "X", "account": "1", "times": 2, "after": 1});
        let mut script = script(Mischief::Fail, body).unwrap();
        let mut codes = |is_dry_run, account| {
            let told = script.take(Mischief::Fail, &Chance { account, ..chance(is_dry_run) });
            told.map_or_else(String::new, |told| told.code)
        };
        assert_eq!([codes(true, "1"), codes(false, "2"), codes(false, "1")], ["", "", ""]);
        assert_eq!([codes(false, "1"), codes(false, "1"), codes(false, "1")], ["X", "X", ""]);
    }

    #[test]
    fn mischief_that_makes_no_sense_is_refused() {
        assert!(script(Mischief::Fail, json!({"code": "X"})).unwrap_err().contains("action"));
        assert!(script(Mischief::Fail, json!({"action": "RunInstances"})).unwrap_err().contains("code"));
        assert!(script(Mischief::Lose, json!({"action": "Launch"})).unwrap_err().contains("RunInstances"));
        assert!(script(Mischief::Die, json!({"action": "RunInstances"})).unwrap_err().contains("only for"));
        assert!(script(Mischief::Die, json!({"colour": 1})).is_err());
        assert!(script(Mischief::Die, json!({"message": "x".repeat(501)})).unwrap_err().contains("long"));
    }

    #[test]
    fn every_third_call_is_throttled() {
        let mut throttle: Throttle = serde_json::from_value(json!({"every": 3})).unwrap();
        let hits: Vec<bool> = (0..6).map(|_| throttle.hits(Action::DescribeImages)).collect();
        assert_eq!(hits, [false, false, true, false, false, true]);
        assert!(!Throttle::default().hits(Action::DescribeImages));
    }
}
