//! `operations submit`: starts one operation or many.

use anyhow::Result;
use api::client::CallError;
use api::types::{Operation, Phase, Submit};
use clap::Args;
use serde_json::Value;
use uuid::Uuid;

use super::wait::{Goal, Notice, WaitArgs, patient, wait_or_fail, way_back};
use super::{bulk, params, watch};
use crate::cli::Global;
use crate::client::{CallResult, PlatformClient};
use crate::cmd::wait::WaitResult;
use crate::config::Period;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine operations submit demo.hello
  provision-engine operations submit demo.hello --param name=Ada --param wait_ms=2000 --watch
  provision-engine operations submit demo.hello --params params.json --queue
  provision-engine operations submit demo.hello --count 1000 --wait

Every submit carries an idempotency key, so that one whose answer was lost can be sent again.";

/// Start an operation, or many
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SubmitArgs {
    /// The workflow; `provision-engine steps` lists all
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    /// The params of the workflow: a file with a JSON object, - for stdin, or the object itself
    #[arg(long, value_name = "FILE|-|JSON")]
    params: Option<String>,
    /// One of the params, of the type that the workflow says; without one it is JSON where it reads as JSON, and text
    /// otherwise
    #[arg(long = "param", value_name = "KEY=VALUE")]
    single: Vec<String>,
    /// What the operation works on; only one operation at a time works on a resource
    #[arg(long, value_name = "RESOURCE")]
    resource: Option<String>,
    /// A name for people, which lists show and search
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// For whom it is; work is shared fairly between tenants
    #[arg(long, value_name = "TENANT", default_value = "default")]
    tenant: String,
    /// The same key means the same operation, also after a crash [default: a new one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for a busy resource instead of being refused
    #[arg(long)]
    queue: bool,
    /// How many operations to start; with --idempotency-key their keys are KEY-1, KEY-2 and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    #[command(flatten)]
    waiting: WaitArgs,
    /// Print what happens until the operation is finished; includes --wait
    #[arg(long, conflicts_with = "count")]
    watch: bool,
}

impl SubmitArgs {
    async fn body(&self, client: &PlatformClient) -> Result<Submit> {
        // Without its schema the types are guessed; the server checks them in any case.
        let schema = match self.single.as_slice() {
            [] => Value::Null,
            _ => client.workflow(&self.workflow).await.map_or(Value::Null, |workflow| workflow.params),
        };
        Ok(Submit {
            workflow: self.workflow.clone(),
            resource: self.resource.clone(),
            name: self.name.clone(),
            tenant: self.tenant.clone(),
            params: params::params(self.params.as_deref(), &self.single, &schema)?,
            queue: self.queue,
        })
    }

    /// The key of one of the operations, counted from 1.
    fn key(&self, number: u32) -> String {
        match &self.idempotency_key {
            Some(key) if self.count > 1 => format!("{key}-{number}"),
            Some(key) => key.clone(),
            None => Uuid::now_v7().to_string(),
        }
    }
}

pub(super) async fn run(global: &Global, args: &SubmitArgs, client: &PlatformClient) -> Result<Exit> {
    if args.idempotency_key.as_deref() == Some("") {
        return Err(UsageError("--idempotency-key: expected at least one character".into()).into());
    }
    let body = args.body(client).await?;
    if args.count > 1 {
        let keys: Vec<String> = (1..=args.count).map(|number| args.key(number)).collect();
        return bulk::run(global, &body, &keys, &args.waiting, client).await;
    }
    let timeout = args.waiting.timeout;
    let operation = submit(client, &body, &args.key(1), timeout).await?;
    let id = operation.id;
    if args.watch {
        note(format!("operation {id}"));
        return match watch::follow(global.output, client, id, Some(timeout)).await? {
            WaitResult::With(phase) => Ok(Goal::Success.exit(phase)),
            WaitResult::Left(exit) => Ok(exit),
        };
    }
    if args.waiting.wait {
        if global.output != Format::Json && global.output != Format::Yaml {
            // Before the wait, so that a wait that is broken off has said what it waited for.
            output::data(&id.to_string())?;
        }
        return match wait_or_fail(client, id, Goal::Success, timeout).await? {
            WaitResult::With(operation) => finished(global.output, &operation),
            WaitResult::Left(exit) => Ok(exit),
        };
    }
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &operation)?,
        Format::Table | Format::Wide | Format::Name => output::data(&id.to_string())?,
    }
    if global.output != Format::Name {
        note(format!("follow it: {}", way_back(id)));
    }
    Ok(Exit::GOOD)
}

/// A server that is not there is an error at once; an answer that was lost on the way is asked for again,
/// with the same key.
async fn submit(client: &PlatformClient, body: &Submit, key: &str, timeout: Period) -> CallResult<Operation> {
    let submit = async || client.submit(body, key).await;
    match submit().await {
        Err(CallError::Lost { .. }) => {
            let notice = Notice::default();
            client.http.retry(patient(timeout.get()), submit, |updates| notice.updates(&updates)).await
        }
        answer => answer,
    }
}

fn finished(format: Format, operation: &Operation) -> Result<Exit> {
    if matches!(format, Format::Json | Format::Yaml) {
        output::print_value(format, operation)?;
    }
    let Operation { id, phase, reason, .. } = operation;
    if *phase == Phase::Succeeded {
        note("succeeded");
    } else {
        let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let explain = hint::command(&format!("explain {id}"));
        note(format!("{phase}{reason}\nmore about it: {explain}"));
    }
    Ok(Goal::Success.exit(*phase))
}
