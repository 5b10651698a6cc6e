//! What shall become of the next builds: they fail, are held, or do not tell about their upload.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::build::{Failure, Status};

const PLANS_MAX: usize = 1000;
const ABOUT_CHARS_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Fail,
    Hold,
    NoUpload,
}

/// What people send to `POST /image-builder/fail`, `/hold` and `/no-upload`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanBody {
    /// How many builds it hits; 0 means every build until it is cleared.
    #[serde(default = "once")]
    times: u32,
    /// How many builds go by unharmed first.
    #[serde(default)]
    after: u32,
    /// Text that the name, the description or the organisation of the build must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The status at whose end a build fails; only for failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Status>,
    /// The error that it is told with; only for failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl Default for PlanBody {
    fn default() -> Self {
        PlanBody { times: once(), after: 0, about: None, at: None, error: None }
    }
}

fn once() -> u32 {
    1
}

#[derive(Debug, Serialize)]
struct Plan {
    kind: Kind,
    #[serde(flatten)]
    body: PlanBody,
    hits: u32,
}

#[derive(Debug, Default)]
pub(super) struct Plans {
    all: Vec<Plan>,
}

impl Plans {
    pub(super) fn add(&mut self, kind: Kind, body: PlanBody) -> Result<(), String> {
        if kind != Kind::Fail && (body.at.is_some() || body.error.is_some()) {
            return Err("at and error are only for failures".into());
        }
        if body.at.is_some_and(Status::is_over) {
            return Err("at must be pending, building, uploading or registering".into());
        }
        if body.about.as_ref().is_some_and(|about| about.chars().count() > ABOUT_CHARS_MAX) {
            return Err(format!("about must have at most {ABOUT_CHARS_MAX} characters"));
        }
        if self.all.len() >= PLANS_MAX {
            return Err(format!("at most {PLANS_MAX} plans can be made at once"));
        }
        self.all.push(Plan { kind, body, hits: 0 });
        Ok(())
    }

    /// Whether a build with these texts is hit. The oldest plan that is meant is used up by it.
    pub(super) fn take(&mut self, kind: Kind, texts: &[&str]) -> bool {
        self.next(kind, texts).is_some()
    }

    pub(super) fn take_failure(&mut self, texts: &[&str]) -> Option<Failure> {
        let body = self.next(Kind::Fail, texts)?;
        let at = body.at.unwrap_or(Status::Building);
        Some(Failure { at, error: body.error.unwrap_or_else(|| trouble(at)) })
    }

    fn next(&mut self, kind: Kind, texts: &[&str]) -> Option<PlanBody> {
        let is_meant = |plan: &Plan| {
            let about = plan.body.about.as_ref();
            plan.kind == kind && about.is_none_or(|about| texts.iter().any(|text| text.contains(about)))
        };
        let position = self.all.iter().position(is_meant)?;
        let plan = &mut self.all[position];
        if plan.body.after > 0 {
            plan.body.after -= 1;
            return None;
        }
        plan.hits += 1;
        let body = plan.body.clone();
        if body.times != 0 && plan.hits >= body.times {
            self.all.remove(position);
        }
        Some(body)
    }

    pub(super) fn show(&self) -> Value {
        json!(self.all)
    }
}

/// Errors that point at errors, the way they come from a queue of jobs.
fn trouble(at: Status) -> Value {
    let told =
        |id: u32, reason: &str, details: Value| json!({"id": id, "reason": reason, "details": details});
    match at {
        Status::Uploading | Status::Registering => {
            let inner = told(11, "the image could not be uploaded: access denied", Value::Null);
            told(28, "one of the targets failed", json!([inner]))
        }
        _ => {
            let inner = told(22, "no package matches no-such-package", Value::Null);
            let middle = told(5, "depsolving failed", json!([inner]));
            told(9, "making the manifest failed", json!([middle]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_hits_whom_it_is_about_as_often_as_it_says() {
        let mut plans = Plans::default();
        let body = json!({"times": 2, "after": 1, "about": "web"});
        plans.add(Kind::Hold, serde_json::from_value(body).unwrap()).unwrap();
        assert!(!plans.take(Kind::NoUpload, &["web"]));
        let hit: Vec<bool> = ["db", "web 1", "web 2", "web 3", "web 4"]
            .map(|name| plans.take(Kind::Hold, &["x", name]))
            .into();
        assert_eq!(hit, [false, false, true, true, false]);
    }

    #[test]
    fn a_build_cannot_fail_when_it_is_over() {
        let body = |at| PlanBody { at: Some(at), ..PlanBody::default() };
        assert!(Plans::default().add(Kind::Fail, body(Status::Success)).is_err());
        assert!(Plans::default().add(Kind::Hold, body(Status::Building)).is_err());
        assert!(Plans::default().add(Kind::Fail, body(Status::Building)).is_ok());
    }
}
