//! `instances bind`: credentials for an instance, the only ones that the program ever prints.

use std::path::{Path, PathBuf};

use crate::api::osb::wire::BindBody;
use anyhow::{Context, Result, bail};
use api::client::CallError;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::locate::{LocatedPlan, known, locate};
use super::params::{ContextArgs, ParamArgs};
use super::wait::{WaitArgs, WaitTarget, in_words};
use super::{PlanArgs, given_or_new};
use crate::client::{Binding, BrokerClient, OperationSubject, SchemaAction, State, plain};
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Cell, Format, Table, note, printable};
use app::paths::replace_file;

const KUBECONFIG: &str = "kubeconfig";

const EXAMPLES: &str = "\
Examples:
  provision-engine instances bind ID --kubeconfig kubeconfig.yaml
  provision-engine instances bind ID -o json | jq .credentials
  provision-engine instances bind ID my-binding --param expiration_seconds=900

It waits until the credentials are there, unless only the name is asked for with -o name.";

/// Bind an instance and print the credentials
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BindArgs {
    /// The instance
    #[arg(value_name = "INSTANCE")]
    id: String,
    /// The id of the new binding [default: a new UUID]
    binding_id: Option<String>,
    /// Write the kubeconfig to this file, which only you can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &BindArgs, broker: &BrokerClient) -> Result<Exit> {
    let catalog = broker.catalog().await?;
    let plan = known(locate(broker, &catalog, &args.id, &args.plan).await?, &args.id)?;
    let parameters = args.params.read(plan.offer.map(|offer| offer.plan), SchemaAction::Bind)?;
    let context = if args.context.is_empty() { None } else { Some(args.context.read()?) };
    let subject = OperationSubject::binding(&args.id, &given_or_new(args.binding_id.as_deref()));
    let body = BindBody {
        service_id: Some(plan.ids.service.clone()),
        plan_id: Some(plan.ids.plan.clone()),
        context,
        parameters: Some(parameters).filter(|parameters| !parameters.is_empty()),
        ..BindBody::default()
    };
    let reply = match broker.bind(&subject, &body).await {
        Ok(reply) => reply,
        Err(error) => {
            // The user would not learn the id otherwise, and something may be there under it.
            if matches!(error, CallError::Unexpected { .. }) || error.may_heal() {
                note(format!("the binding may exist: its id is {}", binding_id(&subject)));
            }
            return Err(error.into());
        }
    };
    if !reply.is_going {
        return hand_over(global, args, &subject, reply.body);
    }
    let wants_credentials = global.output != Format::Name || args.kubeconfig.is_some();
    if !args.waiting.wait && !wants_credentials {
        output::data(&printable(binding_id(&subject)))?;
        let bind = format!("instances bind {} {} --wait", args.id, binding_id(&subject));
        note(format!("the credentials come later; get them with: {}", app::hint::command(&bind)));
        return Ok(Exit::GOOD);
    }
    let operation = reply.body.operation.as_deref();
    if let Some(exit) = waited(args, broker, &subject, &plan, operation).await? {
        return Ok(exit);
    }
    let binding = broker.binding(&subject, &plan.ids).await?;
    hand_over(global, args, &subject, binding)
}

/// An exit when there is no binding to fetch.
async fn waited(
    args: &BindArgs,
    broker: &BrokerClient,
    subject: &OperationSubject,
    plan: &LocatedPlan<'_>,
    operation: Option<&str>,
) -> Result<Option<Exit>> {
    note(format!("binding {}", binding_id(subject)));
    let limit = args.waiting.limit(plan.polling_seconds());
    let watch = WaitTarget { subject, ids: Some(&plan.ids), operation, is_removal: false, limit };
    match watch.wait(broker).await? {
        WaitResult::Left(exit) => Ok(Some(exit)),
        WaitResult::With(last) if last.state == State::Succeeded => {
            if !plan.bindings_retrievable() {
                note("the catalog does not say that bindings can be fetched; trying all the same");
            }
            Ok(None)
        }
        WaitResult::With(last) => {
            note(in_words(&last));
            let id = binding_id(subject);
            let unbind = app::hint::command(&format!("instances unbind {} {id}", args.id));
            note(format!("remove what is left: {unbind}"));
            Ok(Some(Exit::OPERATION_FAILED))
        }
    }
}

#[derive(Debug, Serialize)]
struct BindingOutput<'a> {
    id: &'a str,
    binding_id: &'a str,
    #[serde(flatten)]
    binding: Binding,
}

fn hand_over(
    global: &Global,
    args: &BindArgs,
    subject: &OperationSubject,
    mut binding: Binding,
) -> Result<Exit> {
    let id = binding_id(subject);
    if let Some(path) = &args.kubeconfig {
        save_kubeconfig(&mut binding, path)
            .with_context(|| format!("binding {id} exists; ask again with its id, or unbind it"))?;
        note(format!("wrote {}", path.display()));
    }
    match global.output {
        Format::Json | Format::Yaml => {
            output::print_value(
                global.output,
                &BindingOutput { id: &subject.instance, binding_id: id, binding },
            )?;
        }
        Format::Name => output::data(&printable(id))?,
        Format::Table | Format::Wide => output::data(&for_people(id, &binding))?,
    }
    Ok(Exit::GOOD)
}

/// Takes the kubeconfig out of the credentials and puts it where only the owner can read it.
fn save_kubeconfig(binding: &mut Binding, path: &Path) -> Result<()> {
    let credentials = binding.credentials.as_mut().map(|credentials| &mut credentials.0);
    let Some(Value::String(text)) = credentials.and_then(|credentials| credentials.remove(KUBECONFIG)) else {
        bail!("the broker gave no kubeconfig for {}", path.display());
    };
    replace_file(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Short values in a table; long ones, such as a kubeconfig, below it as they are.
fn for_people(id: &str, binding: &Binding) -> String {
    let mut table = Table::facts();
    let mut fact = |name: &str, value: String| table.row([Cell::new(name), Cell::new(value)]);
    fact("binding", id.to_owned());
    for key in ["expires_at", "renew_before"] {
        if let Some(at) = binding.metadata.as_ref().and_then(|metadata| metadata.get(key)) {
            fact(key, plain(at));
        }
    }
    let mut blocks = Vec::new();
    for (name, value) in binding.credentials.as_ref().into_iter().flat_map(|credentials| &credentials.0) {
        let text = plain(value);
        if text.trim_end().contains('\n') {
            blocks.push(format!("\n\n{}:\n{}", printable(name), lines(&text)));
        } else {
            fact(name, text);
        }
    }
    table.to_text() + &blocks.concat()
}

/// Many lines that cannot talk to the terminal.
fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn binding_id(subject: &OperationSubject) -> &str {
    subject.binding.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_shown_in_full_and_cannot_talk_to_the_terminal() {
        let binding: Binding = serde_json::from_value(json!({
            "credentials": {"user": "me", "port": 5432, "kubeconfig": "a: 1\nb: \u{1b}[31m\n"},
            "metadata": {"expires_at": "2030-01-01T00:00:00Z"},
        }))
        .unwrap();
        assert_eq!(
            for_people("b1", &binding),
            "binding     b1\nexpires_at  2030-01-01T00:00:00Z\nport        5432\nuser        me\n\n\
             kubeconfig:\na: 1\nb:  [31m"
        );
    }
}
