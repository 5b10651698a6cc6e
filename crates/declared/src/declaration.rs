//! A declaration as people write it, checked whole. What is wrong has a line, a column and a fix.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::{Spot, TreeNode};
use engine::secret::{ExposeSecret, SecretString};
use engine::{Effect, OnFailure, RetryPolicy};
use external_step::Reach;
use reqwest::Url;
use sha2::{Digest, Sha256};

use crate::condition::StepCondition;
use crate::fields::DeclaredFields;
use crate::params::Params;
use crate::template::Template;

pub const DECLARATION_BYTES_MAX: usize = 256 * 1024;
const STEPS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 100;
const STEP_CHARS_MAX: usize = 50;
const TITLE_CHARS_MAX: usize = 200;
const SECRET_CHARS_MIN: usize = 32;
const SECRET_FILE_BYTES_MAX: u64 = 64 * 1024;
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);
const DEADLINE: Duration = DAY;
const DEADLINE_MAX: Duration = Duration::from_hours(24 * 365);
const TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT_MAX: Duration = Duration::from_mins(5);
/// Names that stand for the engine itself in the journal.
const RESERVED_STEPS: [&str; 2] = ["engine", "retrigger"];

const FIELDS: [&str; 12] = [
    "workflow",
    "title",
    "revision",
    "params",
    "resource",
    "on_failure",
    "deadline",
    "base_url",
    "secret",
    "secret_file",
    "secret_env",
    "steps",
];
const STEP_FIELDS: [&str; 12] = [
    "name", "weight", "title", "url", "undo", "effect", "timeout", "retry", "limit", "when", "sees",
    "clean_up",
];

/// What is wrong with a declaration, and where. Lines and columns count from one; zero is no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl Wrong {
    pub(crate) fn at(spot: Spot, message: impl Into<String>) -> Wrong {
        Wrong { line: spot.line, column: spot.column, message: message.into() }
    }

    pub(crate) fn nowhere(message: impl Into<String>) -> Wrong {
        Wrong::at(Spot::default(), message)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)
    }
}

/// One version of a workflow, checked.
pub struct Declaration {
    pub workflow: String,
    pub title: String,
    pub params: Arc<Params>,
    pub(crate) resource: Option<Template>,
    pub on_failure: OnFailure,
    pub deadline: Duration,
    pub secret: Option<SecretSource>,
    /// By weight; those of equal weight as they were written.
    pub steps: Vec<StepDeclaration>,
    /// Of everything but the secret. The order and the form of writing do not count.
    pub digest: String,
    /// As it is kept: without a secret.
    pub text: String,
}

/// Where the secret is that the services share with the engine.
pub enum SecretSource {
    Given(SecretString),
    File(String),
    Env(String),
}

pub struct StepDeclaration {
    pub name: String,
    pub weight: u16,
    pub title: String,
    pub url: Url,
    pub undo: Option<Url>,
    pub effect: Effect,
    pub timeout: Duration,
    pub retry: Option<RetryPolicy>,
    pub limit: Option<usize>,
    pub(crate) when: Option<StepCondition>,
    pub sees: Vec<String>,
    pub clean_up: bool,
}

impl Declaration {
    /// Reads YAML or JSON. Calls nothing and reads no other file.
    pub fn parse(text: &str, reach: Reach) -> Result<Declaration, Wrong> {
        if text.len() > DECLARATION_BYTES_MAX {
            let message =
                format!("the declaration has {} bytes; at most {DECLARATION_BYTES_MAX} are read", text.len());
            return Err(Wrong::nowhere(message));
        }
        let tree = config::parse(text).map_err(|error| Wrong::at(error.spot, error.message))?;
        let fields = DeclaredFields::of(&tree, "the declaration", &FIELDS)?;
        let (workflow, spot) = fields.needed_text("workflow")?;
        check_workflow_name(workflow).map_err(|why| Wrong::at(spot, why))?;
        let title = title(&fields)?;
        // Only to make the same content another one: it is a part of the digest.
        fields.whole("revision", 0, u64::from(u32::MAX))?;
        let params = Arc::new(Params::read(fields.node("params"), fields.spot)?);
        let steps = Steps { fields: &fields, reach, params: &params }.read()?;
        let resource = fields
            .text("resource")?
            .map(|(text, spot)| Template::parse(text, &params).map_err(|why| Wrong::at(spot, why)));
        let on_failure = match fields.text("on_failure")? {
            None | Some(("undo", _)) => OnFailure::Unwind,
            Some(("keep", _)) => OnFailure::Leave,
            Some((_, spot)) => return Err(Wrong::at(spot, "on_failure must be undo or keep")),
        };
        let mut content = tree.to_json();
        let has_secret = content.as_object_mut().is_some_and(|content| {
            content.remove("secret_file");
            content.remove("secret_env");
            content.remove("secret").is_some()
        });
        let digest = Sha256::digest(content.to_string().as_bytes());
        let digest = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let text =
            if has_secret { serde_saphyr::to_string(&content).unwrap_or_default() } else { text.to_owned() };
        Ok(Declaration {
            workflow: workflow.to_owned(),
            title,
            params,
            resource: resource.transpose()?,
            on_failure,
            deadline: fields.period("deadline", SECOND, DEADLINE_MAX)?.unwrap_or(DEADLINE),
            secret: secret(&fields)?,
            steps,
            digest,
            text,
        })
    }
}

/// The form of a name; whether it is free is another question.
pub fn check_workflow_name(name: &str) -> Result<(), String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if name.len() <= NAME_CHARS_MAX && name.contains('.') && name.split('.').all(is_part) {
        return Ok(());
    }
    Err(format!(
        "workflow must be a name such as acme.database: letters, digits, - and _, with at least one dot between, and at \
         most {NAME_CHARS_MAX} characters"
    ))
}

fn title(fields: &DeclaredFields<'_>) -> Result<String, Wrong> {
    let (title, spot) = fields.needed_text("title")?;
    if title.chars().count() > TITLE_CHARS_MAX || title.chars().any(char::is_control) {
        let message = format!("title must be one line of at most {TITLE_CHARS_MAX} characters");
        return Err(Wrong::at(spot, message));
    }
    Ok(title.to_owned())
}

fn secret(fields: &DeclaredFields<'_>) -> Result<Option<SecretSource>, Wrong> {
    let (given, file, env) =
        (fields.text("secret")?, fields.text("secret_file")?, fields.text("secret_env")?);
    match (given, file, env) {
        (None, None, None) => Ok(None),
        (Some((secret, spot)), None, None) => {
            let checked = long_enough(secret.into()).map_err(|why| Wrong::at(spot, why))?;
            Ok(Some(SecretSource::Given(checked)))
        }
        (None, Some((file, _)), None) => Ok(Some(SecretSource::File(file.to_owned()))),
        (None, None, Some((name, _))) => Ok(Some(SecretSource::Env(name.to_owned()))),
        _ => Err(Wrong::at(fields.spot_of("secret_file"), "give one of secret, secret_file and secret_env")),
    }
}

fn long_enough(secret: SecretString) -> Result<SecretString, String> {
    if secret.expose_secret().chars().count() < SECRET_CHARS_MIN {
        return Err(format!("the secret must have {SECRET_CHARS_MIN} characters or more"));
    }
    Ok(secret)
}

impl SecretSource {
    /// Reads the secret. A path is relative to the directory of the declaration.
    pub fn read(&self, dir: &Path) -> Result<SecretString, String> {
        let text = match self {
            SecretSource::Given(secret) => return Ok(secret.clone()),
            SecretSource::File(file) => {
                let path = dir.join(file);
                let failed = |error: &dyn fmt::Display| format!("secret_file {}: {error}", path.display());
                let size = std::fs::metadata(&path).map_err(|error| failed(&error))?.len();
                if size > SECRET_FILE_BYTES_MAX {
                    return Err(failed(&format!("it has more than {SECRET_FILE_BYTES_MAX} bytes")));
                }
                std::fs::read_to_string(&path).map_err(|error| failed(&error))?
            }
            SecretSource::Env(name) => {
                std::env::var(name).map_err(|_| format!("secret_env: the variable {name} is not set"))?
            }
        };
        // Editors and `echo` end a file with a line break.
        let text = SecretString::from(text);
        long_enough(text.expose_secret().trim_end_matches(['\r', '\n']).into())
    }
}

struct Steps<'a> {
    fields: &'a DeclaredFields<'a>,
    reach: Reach,
    params: &'a Params,
}

impl Steps<'_> {
    fn read(&self) -> Result<Vec<StepDeclaration>, Wrong> {
        let node = self.fields.needed("steps")?;
        let config::ConfigValue::List(items) = &node.value else {
            return Err(Wrong::at(node.spot, "steps must be a list"));
        };
        if items.is_empty() || items.len() > STEPS_MAX {
            let message = format!("there are {} steps; a workflow has 1 to {STEPS_MAX}", items.len());
            return Err(Wrong::at(node.spot, message));
        }
        let base = self.fields.text("base_url")?;
        let base = base.map(|(text, spot)| self.url(text, spot, None)).transpose()?;
        let mut steps: Vec<(StepDeclaration, Spot)> = Vec::new();
        for item in items {
            let step = self.step(item, base.as_ref())?;
            if steps.iter().any(|(other, _)| other.name == step.0.name) {
                return Err(Wrong::at(
                    step.1,
                    format!("the name {} is used twice; each step has its own", step.0.name),
                ));
            }
            steps.push(step);
        }
        steps.sort_by_key(|(step, _)| step.weight);
        let before: BTreeMap<String, usize> =
            steps.iter().enumerate().map(|(index, (step, _))| (step.name.clone(), index)).collect();
        for (index, (step, spot)) in steps.iter().enumerate() {
            let other = step.when.as_ref().and_then(StepCondition::step);
            if let Some(other) = other.filter(|other| before.get(*other).is_none_or(|at| *at >= index)) {
                let message = format!("when names the step {other}, which does not run before {}", step.name);
                return Err(Wrong::at(*spot, message));
            }
        }
        Ok(steps.into_iter().map(|(step, _)| step).collect())
    }

    fn step(&self, node: &TreeNode, base: Option<&Url>) -> Result<(StepDeclaration, Spot), Wrong> {
        let fields = DeclaredFields::of(node, "a step", &STEP_FIELDS)?;
        let (name, name_spot) = fields.needed_text("name")?;
        check_step_name(name).map_err(|why| Wrong::at(name_spot, why))?;
        let weight = fields.whole("weight", 1, u64::from(u16::MAX))?;
        let weight = weight.and_then(|weight| u16::try_from(weight).ok());
        let (url, spot) = fields.needed_text("url")?;
        let url = self.url(url, spot, base)?;
        let undo = fields.text("undo")?.map(|(text, spot)| self.url(text, spot, base)).transpose()?;
        let effect = match fields.text("effect")? {
            None | Some(("idempotent", _)) => Effect::Keyed,
            Some(("none", _)) => Effect::Pure,
            Some(("once", _)) => Effect::Once,
            Some((_, spot)) => return Err(Wrong::at(spot, "effect must be none, idempotent or once")),
        };
        if effect == Effect::Pure && undo.is_some() {
            let message =
                "a step with effect none changes nothing, so it has no undo; leave one of the two out";
            return Err(Wrong::at(fields.spot_of("undo"), message));
        }
        let when = fields
            .text("when")?
            .map(|(text, spot)| StepCondition::parse(text, self.params).map_err(|why| Wrong::at(spot, why)));
        let mut sees = Vec::new();
        for (name, spot) in fields.texts("sees")? {
            if !self.params.is_write_only(name) {
                let message = format!(
                    "sees names {name}, which is no writeOnly param; all other params are sent anyway"
                );
                return Err(Wrong::at(spot, message));
            }
            sees.push(name.to_owned());
        }
        let step = StepDeclaration {
            name: name.to_owned(),
            weight: weight.ok_or_else(|| Wrong::at(fields.spot, "weight is missing"))?,
            title: title(&fields)?,
            url,
            undo,
            effect,
            timeout: fields.period("timeout", Duration::from_millis(100), TIMEOUT_MAX)?.unwrap_or(TIMEOUT),
            retry: fields.node("retry").map(retry).transpose()?,
            limit: fields.whole("limit", 1, 10_000)?.and_then(|limit| usize::try_from(limit).ok()),
            when: when.transpose()?,
            sees,
            clean_up: fields.flag("clean_up")?,
        };
        Ok((step, name_spot))
    }

    fn url(&self, text: &str, spot: Spot, base: Option<&Url>) -> Result<Url, Wrong> {
        let url = match base {
            Some(base) => base.join(text),
            None => Url::parse(text),
        };
        let wrong = |why: String| Wrong::at(spot, why);
        let url =
            url.map_err(|error| wrong(format!("this is no url: {error}; give it whole, or with base_url")))?;
        self.reach.check(&url).map_err(wrong)?;
        Ok(url)
    }
}

fn check_step_name(name: &str) -> Result<(), String> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !(1..=STEP_CHARS_MAX).contains(&name.len()) || !name.bytes().all(inside) {
        return Err(format!("name must be 1 to {STEP_CHARS_MAX} letters, digits, - and _"));
    }
    if RESERVED_STEPS.contains(&name) {
        return Err(format!("the name {name} is reserved for the engine; choose another one"));
    }
    Ok(())
}

fn retry(node: &TreeNode) -> Result<RetryPolicy, Wrong> {
    let fields = DeclaredFields::of(node, "retry", &["within", "first", "at_most"])?;
    let usual = RetryPolicy::default();
    let least = Duration::from_millis(1);
    let first = fields.period("first", least, DAY)?.unwrap_or(usual.first);
    let max = fields.period("at_most", least, DAY)?.unwrap_or(usual.max.max(first));
    let budget = fields.period("within", least, DEADLINE_MAX)?.unwrap_or(usual.budget);
    if first > max {
        return Err(Wrong::at(fields.spot_of("at_most"), "at_most must not be shorter than first"));
    }
    Ok(RetryPolicy { first, max, budget })
}
