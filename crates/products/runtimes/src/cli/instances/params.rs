//! Parameters and contexts from the command line, held against what the plan takes.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Map, Value};

use crate::client::{Parameters, SchemaAction, ServicePlan, guessed};
use app::given::{object, pair};
use app::output::{note, printable};

#[derive(Debug, Args)]
pub(super) struct ParamArgs {
    /// One parameter; its type is the one that the plan takes
    #[arg(long = "param", value_name = "KEY=VALUE")]
    single: Vec<String>,
    /// All parameters: a file with a JSON object, - for stdin, or the object itself
    #[arg(long, value_name = "FILE|-|JSON")]
    params: Option<String>,
}

impl ParamArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.single.is_empty() && self.params.is_none()
    }

    /// The whole, with single ones laid over it.
    pub(super) fn read(
        &self,
        plan: Option<&ServicePlan>,
        action: SchemaAction,
    ) -> Result<Map<String, Value>> {
        let known = plan.and_then(|plan| Parameters::of(plan, action));
        let mut params =
            self.params.as_deref().map(|given| object("--params", given)).transpose()?.unwrap_or_default();
        for given in &self.single {
            let (name, text) = pair("--param", given)?;
            let value = match known.as_ref().and_then(|known| known.get(name)) {
                Some(parameter) => parameter.parse(text)?,
                None => guessed(text),
            };
            params.insert(name.to_owned(), value);
        }
        if let Some(known) = &known
            && let Some(unknown) = known.unknown(&params)
        {
            let unknown = printable(&unknown);
            if known.is_closed {
                bail!("{unknown}");
            }
            note(format!("warning: {unknown}"));
        }
        Ok(params)
    }
}

/// What the platform would say about itself.
#[derive(Debug, Args)]
pub(super) struct ContextArgs {
    /// One line of the context, such as `region=eu`; true, false, null, lists and objects are JSON
    #[arg(long, value_name = "KEY=VALUE")]
    context: Vec<String>,
}

impl ContextArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.context.is_empty()
    }

    pub(super) fn read(&self) -> Result<Map<String, Value>> {
        let mut read = Map::from_iter([("platform".to_owned(), Value::from("provision-engine"))]);
        for given in &self.context {
            let (name, text) = pair("--context", given)?;
            let value = match guessed(text) {
                // Contexts are full of ids, and an id of digits is still a text.
                Value::Number(_) => Value::from(text),
                value => value,
            };
            read.insert(name.to_owned(), value);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(params: Option<&str>, single: &[&str]) -> ParamArgs {
        let single = single.iter().map(|&it| it.to_owned()).collect();
        ParamArgs { single, params: params.map(str::to_owned) }
    }

    fn plan(is_closed: bool) -> ServicePlan {
        serde_json::from_value(json!({"id": "p", "name": "p", "schemas": {"service_instance": {"create": {
            "parameters": {
                "additionalProperties": !is_closed,
                "properties": {"name": {"type": "string"}, "nodes": {"type": "integer"}},
            },
        }}}}))
        .unwrap()
    }

    #[test]
    fn single_parameters_win_and_have_the_type_of_the_plan() {
        let args = args(Some(r#"{"name": "a", "x": [1]}"#), &["name=7", "nodes=7", "free=true", "y=a=b"]);
        let expected = json!({"name": "7", "nodes": 7, "x": [1], "free": true, "y": "a=b"});
        let read = args.read(Some(&plan(false)), SchemaAction::Create).unwrap();
        assert_eq!(Value::Object(read), expected);
        let guessed = json!({"name": 7, "nodes": 7, "x": [1], "free": true, "y": "a=b"});
        assert_eq!(Value::Object(args.read(None, SchemaAction::Create).unwrap()), guessed);
    }

    #[test]
    fn what_is_wrong_is_named_and_not_repeated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret").unwrap();
        let path = file.path().to_str().unwrap();
        for (params, single, expected) in [
            (None, "s3cret", "--param: expected KEY=VALUE"),
            (None, "=s3cret", "--param: expected KEY=VALUE"),
            (None, "nods=1", "`nods` (did you mean `nodes`?)"),
            (Some(r#"{"nods": 1}"#), "nodes=1", "`nods`"),
            (Some("{s3cret"), "nodes=1", "the argument is not JSON (line 1, column 2)"),
            (Some("no/such/file"), "nodes=1", "cannot read no/such/file"),
            (Some(path), "nodes=1", "expected an object"),
        ] {
            let error = args(params, &[single]).read(Some(&plan(true)), SchemaAction::Create).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(expected) && !error.contains("s3cret"), "{expected}: {error}");
        }
    }

    #[test]
    fn a_context_keeps_ids_as_text() {
        let context =
            ["account=42", "active=false", "note=a b", "more={\"a\": 1}"].map(str::to_owned).to_vec();
        let read = ContextArgs { context }.read().unwrap();
        let expected = json!({
            "platform": "provision-engine", "account": "42", "active": false, "note": "a b", "more": {"a": 1},
        });
        assert_eq!(Value::Object(read), expected);
    }
}
