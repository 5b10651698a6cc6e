//! The result of a change, at its end with `--wait`.

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::wait::{WaitArgs, WaitTarget, in_words, way_back};
use crate::client::{BrokerAnswer, BrokerClient, Changed, Ids, LastOperation, OperationSubject, State};
use app::cli::Global;
use app::client::aftermath;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Format, note, printable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeVerb {
    Create,
    Update,
    Delete,
    Unbind,
}

impl ChangeVerb {
    fn done(self) -> &'static str {
        match self {
            ChangeVerb::Create => "is created",
            ChangeVerb::Update => "is updated",
            ChangeVerb::Delete => "is deleted",
            ChangeVerb::Unbind => "is unbound",
        }
    }
}

/// A change that a broker has accepted.
#[derive(Debug)]
pub(super) struct AcceptedChange<'a> {
    pub(super) verb: ChangeVerb,
    pub(super) subject: OperationSubject,
    /// After a change of the plan, the old one.
    pub(super) ids: Option<Ids>,
    /// How people call the plan.
    pub(super) plan: &'a str,
    pub(super) limit: Duration,
}

/// What scripts get to see.
#[derive(Debug, Serialize)]
struct ChangeOutcome<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding_id: Option<&'a str>,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dashboard_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
}

impl AcceptedChange<'_> {
    pub(super) async fn see_through(
        &self,
        global: &Global,
        broker: &BrokerClient,
        reply: &BrokerAnswer<Changed>,
        waiting: &WaitArgs,
    ) -> Result<Exit> {
        let is_data = matches!(global.output, Format::Json | Format::Yaml);
        if !is_data && (self.verb == ChangeVerb::Create || global.output == Format::Name) {
            // Before the wait, so that a wait that is broken off has said what it waited for.
            output::data(&printable(&self.subject.instance))?;
        }
        if !reply.is_going {
            self.print(global, &reply.body, State::Succeeded, None)?;
            note(self.said(self.verb.done()));
            self.dashboard(&reply.body);
            return Ok(Exit::GOOD);
        }
        if !waiting.wait {
            self.print(global, &reply.body, State::InProgress, None)?;
            if global.output != Format::Name {
                note(format!("it is in progress; follow it: {}", way_back(&self.subject)));
            }
            return Ok(Exit::GOOD);
        }
        let watch = WaitTarget {
            subject: &self.subject,
            ids: self.ids.as_ref(),
            operation: reply.body.operation.as_deref(),
            is_removal: matches!(self.verb, ChangeVerb::Delete | ChangeVerb::Unbind),
            limit: self.limit,
        };
        match watch.wait(broker).await? {
            WaitResult::Left(exit) => Ok(exit),
            WaitResult::With(last) => {
                self.print(global, &reply.body, last.state, last.description.as_deref())?;
                Ok(self.settled(&reply.body, &last))
            }
        }
    }

    fn settled(&self, body: &Changed, last: &LastOperation) -> Exit {
        if last.state == State::Succeeded {
            note(self.said(self.verb.done()));
            self.dashboard(body);
            return Exit::GOOD;
        }
        note(in_words(last));
        aftermath(last.instance_usable, last.update_repeatable).for_each(note);
        if self.verb == ChangeVerb::Create {
            let (id, plan) = (&self.subject.instance, printable(self.plan));
            let delete = app::hint::command(&format!("instances delete {id} --plan {plan}"));
            note(format!("remove what is left: {delete}"));
        }
        Exit::OPERATION_FAILED
    }

    fn said(&self, done: &str) -> String {
        match &self.subject.binding {
            Some(binding) => format!("binding {binding} {done}"),
            None => format!("instance {} {done}", self.subject.instance),
        }
    }

    fn dashboard(&self, body: &Changed) {
        if let Some(url) = body.dashboard_url.as_deref().filter(|_| self.verb != ChangeVerb::Delete) {
            note(format!("dashboard: {}", printable(url)));
        }
    }

    fn print(&self, global: &Global, body: &Changed, state: State, description: Option<&str>) -> Result<()> {
        if !matches!(global.output, Format::Json | Format::Yaml) {
            return Ok(());
        }
        let outcome = ChangeOutcome {
            id: &self.subject.instance,
            binding_id: self.subject.binding.as_deref(),
            state,
            description,
            operation: body.operation.as_deref(),
            dashboard_url: body.dashboard_url.as_deref(),
            metadata: body.metadata.as_ref(),
        };
        output::print_value(global.output, &outcome)
    }
}
