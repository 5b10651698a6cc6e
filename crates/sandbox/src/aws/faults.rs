//! Faults on demand: calls that fail, answers that get lost, instances that die or stay without an address.

use serde::{Deserialize, Serialize};

use super::action::AwsAction;
use crate::script::{Fault, Script};

const TEXT_CHARS_MAX: usize = 500;

/// Each kind is taken by the one place that carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AwsFaultKind {
    /// A call is refused with a code, and nothing is done.
    Fail,
    /// A call is carried out, and its answer never arrives.
    Lose,
    /// An instance never runs: it is terminated instead.
    Die,
    /// An instance runs, and never gets a public address.
    NoAddress,
}

/// What a client sends to `POST /aws/faults`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AwsFault {
    kind: AwsFaultKind,
    /// Which calls are hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<AwsAction>,
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
}

/// What a fault could hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultOdds<'a> {
    pub(super) action: AwsAction,
    pub(super) account: &'a str,
    pub(super) region: &'a str,
    pub(super) is_dry_run: bool,
}

/// What is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FaultView {
    pub(super) code: String,
    pub(super) message: String,
}

impl Fault for AwsFault {
    fn check(&self) -> Result<(), String> {
        let texts = [&self.code, &self.message, &self.account, &self.region];
        let is_long = |text: &&String| text.chars().count() > TEXT_CHARS_MAX;
        let is_about_calls = matches!(self.kind, AwsFaultKind::Fail | AwsFaultKind::Lose);
        if texts.into_iter().flatten().any(|text| is_long(&text)) {
            return Err("a text is too long".into());
        }
        if is_about_calls && self.action.is_none() {
            return Err("this needs the action that it is about".into());
        }
        if !is_about_calls && (self.action.is_some() || self.dry_run) {
            return Err("action and dry_run are only for fail and lose".into());
        }
        if self.kind == AwsFaultKind::Fail && self.code.is_none() {
            return Err("fail needs the code to answer".into());
        }
        Ok(())
    }
}

impl AwsFault {
    fn is_for(&self, chance: &FaultOdds<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        self.action.is_none_or(|action| action == chance.action)
            && is(&self.account, chance.account)
            && is(&self.region, chance.region)
            && self.dry_run == chance.is_dry_run
    }
}

impl Script<AwsFault> {
    /// What to say where a fault of this kind hits now.
    pub(super) fn hits(&self, kind: AwsFaultKind, chance: &FaultOdds<'_>) -> Option<FaultView> {
        let is_about = |about: &str| [chance.account, chance.region].contains(&about);
        let fault = self.take(|fault| fault.kind == kind && fault.is_for(chance), is_about)?;
        Some(FaultView {
            code: fault.code.unwrap_or_else(|| "Server.InternalError".into()),
            message: fault.message.unwrap_or_else(|| "this was scripted".into()),
        })
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
    action: Option<AwsAction>,
    #[serde(skip_deserializing)]
    calls: u64,
}

impl Throttle {
    pub(super) fn hits(&mut self, action: AwsAction) -> bool {
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

    fn chance(is_dry_run: bool) -> FaultOdds<'static> {
        FaultOdds { action: AwsAction::RunInstances, account: "1", region: "eu-west-1", is_dry_run }
    }

    fn script(json: serde_json::Value) -> Result<Script<AwsFault>, String> {
        let script = Script::default();
        script.add(serde_json::from_value(json).unwrap())?;
        Ok(script)
    }

    #[test]
    fn a_fault_hits_those_that_it_names() {
        let body = json!({"kind": "fail", "action": "RunInstances", "code": "X", "account": "1", "times": 2, "after": 1});
        let script = script(body).unwrap();
        let codes = |is_dry_run, account| {
            let told = script.hits(AwsFaultKind::Fail, &FaultOdds { account, ..chance(is_dry_run) });
            told.map_or_else(String::new, |told| told.code)
        };
        assert_eq!([codes(true, "1"), codes(false, "2"), codes(false, "1")], ["", "", ""]);
        assert_eq!([codes(false, "1"), codes(false, "1"), codes(false, "1")], ["X", "X", ""]);
    }

    #[test]
    fn a_fault_that_makes_no_sense_is_refused() {
        let refused = |json| script(json).unwrap_err();
        assert!(refused(json!({"kind": "fail", "code": "X"})).contains("action"));
        assert!(refused(json!({"kind": "fail", "action": "RunInstances"})).contains("code"));
        assert!(refused(json!({"kind": "lose", "action": "Launch"})).contains("RunInstances"));
        assert!(refused(json!({"kind": "die", "action": "RunInstances"})).contains("only for"));
        assert!(refused(json!({"kind": "die", "colour": 1})).contains("colour"));
        assert!(refused(json!({"kind": "die", "message": "x".repeat(501)})).contains("long"));
    }

    #[test]
    fn every_third_call_is_throttled() {
        let mut throttle: Throttle = serde_json::from_value(json!({"every": 3})).unwrap();
        let hits: Vec<bool> = (0..6).map(|_| throttle.hits(AwsAction::DescribeImages)).collect();
        assert_eq!(hits, [false, false, true, false, false, true]);
        assert!(!Throttle::default().hits(AwsAction::DescribeImages));
    }
}
