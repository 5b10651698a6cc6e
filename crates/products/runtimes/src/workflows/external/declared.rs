//! The list of external steps as people write it, and what is wrong with it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use engine::StepInfo;
use engine::secret::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::read;
use crate::model::{DEPROVISION, PROVISION, UPDATE};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredStep {
    name: String,
    workflow: String,
    weight: u16,
    url: String,
    timeout: Option<String>,
    secret_file: Option<String>,
    secret_env: Option<String>,
    #[serde(default)]
    sees: BTreeSet<Sees>,
    #[serde(default)]
    clean_up: bool,
    budget: Option<String>,
}

/// What a service is told of what users sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sees {
    Parameters,
    Context,
}

/// One step, checked.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) workflow: &'static str,
    pub(crate) weight: u16,
    pub(crate) url: String,
    pub(crate) timeout: Duration,
    pub(crate) secret: SecretLocation,
    pub(crate) sees: BTreeSet<Sees>,
    pub(crate) is_clean_up: bool,
    pub(crate) budget: Duration,
}

/// Where the secret is that the service shares with us.
#[derive(Debug)]
pub(crate) enum SecretLocation {
    File(String),
    Env(String),
}

/// The workflows that take steps from outside, with the steps that they have without them.
pub(crate) type Tables = [(&'static str, Vec<StepInfo>)];

const STEPS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 50;
const SECRET_CHARS_MIN: usize = 32;
const TIMEOUT_MAX: Duration = Duration::from_mins(5);
const BUDGET_MAX: Duration = Duration::from_hours(24);

pub(crate) fn parse(text: &str, tables: &Tables) -> Result<Vec<Declared>, String> {
    let lines: Vec<DeclaredStep> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    if lines.len() > STEPS_MAX {
        return Err(format!("there are {} steps; at most {STEPS_MAX} are allowed", lines.len()));
    }
    let mut steps: Vec<Declared> = Vec::new();
    for line in lines {
        let name = line.name.clone();
        let step = check(line, tables).map_err(|why| format!("step {name}: {why}"))?;
        if steps.iter().any(|other| (&other.name, other.workflow) == (&step.name, step.workflow)) {
            return Err(format!("step {name}: {} has two steps of this name", step.workflow));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn check(line: DeclaredStep, tables: &Tables) -> Result<Declared, String> {
    if !is_snake_case(&line.name) {
        return Err(format!(
            "name must be 1 to {NAME_CHARS_MAX} small letters, digits and _, and begin with a letter"
        ));
    }
    let found = tables.iter().find(|(workflow, _)| *workflow == line.workflow);
    let (workflow, taken) = found.ok_or_else(|| {
        format!("there is no workflow {}; use {PROVISION}, {UPDATE} or {DEPROVISION}", line.workflow)
    })?;
    if taken.iter().any(|step| step.name == line.name) {
        return Err(format!("{workflow} has a step of this name already; choose another one"));
    }
    if line.weight == 0 {
        return Err("weight must be 1 or more".into());
    }
    if line.clean_up && *workflow != DEPROVISION {
        return Err(format!("clean_up is for {DEPROVISION} only"));
    }
    let secret = match (line.secret_file, line.secret_env) {
        (Some(file), None) => SecretLocation::File(file),
        (None, Some(variable)) => SecretLocation::Env(variable),
        _ => return Err("give either secret_file or secret_env".into()),
    };
    Ok(Declared {
        name: line.name,
        workflow,
        weight: line.weight,
        url: line.url,
        timeout: period("timeout", line.timeout.as_deref().unwrap_or("10s"), TIMEOUT_MAX)?,
        secret,
        sees: line.sees,
        is_clean_up: line.clean_up,
        budget: period("budget", line.budget.as_deref().unwrap_or("10m"), BUDGET_MAX)?,
    })
}

fn is_snake_case(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(inside)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// A whole number and a unit, more than nothing and at most `max`.
fn period(field: &str, text: &str, max: Duration) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let millis_each = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(millis_each));
    let period = millis.map(Duration::from_millis).filter(|period| !period.is_zero() && *period <= max);
    period.ok_or_else(|| format!("{field} must be like 250ms, 10s or 5m, and at most {} s", max.as_secs()))
}

impl SecretLocation {
    pub(crate) fn read(&self, dir: &Path) -> Result<SecretString, String> {
        let (place, text) = match self {
            SecretLocation::File(file) => {
                let path = dir.join(file);
                let text = read(&path).map_err(|error| format!("secret_file {}: {error}", path.display()))?;
                ("secret_file", SecretString::from(text))
            }
            SecretLocation::Env(variable) => {
                let text =
                    std::env::var(variable).map_err(|_| format!("the variable {variable} is not set"))?;
                ("secret_env", SecretString::from(text))
            }
        };
        // Editors and `echo` end a file with a line break.
        let secret = text.expose_secret().trim_end_matches(['\r', '\n']);
        if secret.chars().count() < SECRET_CHARS_MIN {
            return Err(format!("the secret of {place} must have {SECRET_CHARS_MIN} characters or more"));
        }
        Ok(SecretString::from(secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Declared>, String> {
        let (name, title, effect, driver) = ("create_runtime".into(), String::new(), "keyed", None);
        let step = StepInfo { weight: 10, name, title, effect, driver, conditional: false, clean_up: false };
        parse(text, &[(PROVISION, vec![step]), (UPDATE, Vec::new()), (DEPROVISION, Vec::new())])
    }

    fn with(change: &str) -> Result<Vec<Declared>, String> {
        parsed(&format!(
            "- {{name: motto, workflow: runtime.provision, weight: 4, url: \"https://s.example\", \
             secret_env: X}}\n{change}"
        ))
    }

    fn one(fields: &str) -> Result<Vec<Declared>, String> {
        parsed(&format!("- {{url: \"https://s.example\", {fields}}}"))
    }

    #[test]
    fn a_list_that_is_right_gets_the_defaults() {
        let steps = with("").unwrap();
        assert_eq!((steps[0].timeout, steps[0].budget), (Duration::from_secs(10), Duration::from_mins(10)));
        assert!(steps[0].sees.is_empty() && !steps[0].is_clean_up);
        let again = "- {name: motto, workflow: runtime.deprovision, weight: 4, url: \"https://s.example\", \
                     secret_file: f, clean_up: true, sees: [context, parameters], timeout: 250ms}";
        let steps = with(again).unwrap();
        assert_eq!(steps.len(), 2, "another workflow may use the name");
        assert_eq!(steps[1].sees, BTreeSet::from([Sees::Parameters, Sees::Context]));
    }

    #[test]
    fn a_list_that_cannot_work_is_refused_with_the_step_and_the_reason() {
        let rest = "workflow: runtime.provision, weight: 1, secret_env: X";
        for (fields, parts) in [
            (format!("name: Motto, {rest}"), ["step Motto", "small letters"]),
            (format!("name: 1st, {rest}"), ["step 1st", "begin with a letter"]),
            (format!("name: create_runtime, {rest}"), ["create_runtime", "already"]),
            (format!("name: motto, {rest}, clean_up: true"), ["motto", "runtime.deprovision only"]),
            (format!("name: motto, {rest}, secret_file: f"), ["motto", "either secret_file or secret_env"]),
            (format!("name: motto, {rest}, timeout: 10"), ["motto", "timeout must be like"]),
            (format!("name: motto, {rest}, timeout: 6m"), ["motto", "at most 300 s"]),
            (format!("name: motto, {rest}, budget: 0s"), ["motto", "budget must be like"]),
            (format!("name: motto, {rest}, sees: [everything]"), ["everything", "parameters"]),
            (format!("name: motto, {rest}, wait: 1"), ["unknown field", "wait"]),
            (
                "name: motto, workflow: runtime.provision, weight: 0, secret_env: X".into(),
                ["motto", "weight must be 1 or more"],
            ),
            (
                "name: motto, workflow: runtime.make, weight: 1, secret_env: X".into(),
                ["no workflow runtime.make", "runtime.provision, runtime.update or runtime.deprovision"],
            ),
            ("name: motto, workflow: runtime.provision, secret_env: X".into(), ["missing field", "weight"]),
        ] {
            let error = one(&fields).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{fields}: {error}");
        }
        let twice = "- {name: motto, workflow: runtime.provision, weight: 9, url: \"x\", secret_env: X}";
        assert!(with(twice).unwrap_err().contains("two steps of this name"));
    }
}
