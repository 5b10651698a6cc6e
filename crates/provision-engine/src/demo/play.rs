//! The acts of the demonstration, and their results.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use engine::{
    Body, Clock, Command, Engine, Event, Inspection, OperationId, Phase, PhaseVerb, Timestamp, WallClock,
};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use super::Story;
use super::stage::DemoScreen;
use crate::demo::platform::{self, Platform};

/// No act takes anywhere near as long.
pub(super) const ACT_LIMIT: Duration = Duration::from_secs(30);
/// How often to look when nothing is announced.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const EVENTS_MAX: usize = 1000;

/// How an operation of the demonstration can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Succeeded,
    /// It succeeded after something broke.
    Healed,
    Undone,
    Cancelled,
    Other,
}

impl Ending {
    /// A retry that nothing in the demonstration caused, such as a call that timed out on a busy machine, is no fault.
    pub(super) fn fulfils(self, expected: Ending) -> bool {
        self == expected || (self == Ending::Healed && expected == Ending::Succeeded)
    }
}

/// One operation, and what we have seen of it.
pub(super) struct DemoPart {
    name: &'static str,
    expected: Ending,
    id: OperationId,
    seen: u32,
    retries: usize,
    finished: bool,
}

pub(super) struct Play<'a> {
    engine: &'a Engine,
    pub(super) platform: &'a Platform,
    /// Another client, who may launch and nothing more.
    pub(super) launcher: &'a Platform,
    pub(super) sandbox: &'a str,
    pub(super) http: Client,
    pub(super) stage: DemoScreen,
    stories: Vec<Story>,
}

impl<'a> Play<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        platform: &'a Platform,
        launcher: &'a Platform,
        sandbox: &'a str,
    ) -> Result<Play<'a>> {
        let http = platform::client()?;
        Ok(Play { engine, platform, launcher, sandbox, http, stage: DemoScreen::new(), stories: Vec::new() })
    }

    pub(super) async fn all(mut self) -> Result<Vec<Story>> {
        self.greetings().await?;
        self.runtimes().await?;
        let late = self.launch_without_room().await?;
        self.serverless().await?;
        self.launches().await?;
        self.other_clouds(late).await?;
        self.stage.close();
        Ok(self.stories)
    }

    async fn greetings(&mut self) -> Result<()> {
        self.stage.title("three operations at once");
        let mut roles = Vec::new();
        for (name, wait_ms) in [("Ada", 0), ("Grace", 0), ("Barbara", 400)] {
            roles.push(self.submit(name, json!({"wait_ms": wait_ms}), Ending::Succeeded).await?);
        }
        self.play_out(roles).await?;

        self.stage.title("the external system fails, then does its work but the answer is lost");
        self.arm(json!({"system": "greeter", "kind": "error", "times": 2, "method": "POST"})).await?;
        self.arm(json!({"system": "greeter", "kind": "drop_after", "times": 1, "method": "POST"})).await?;
        let role = self.submit("Linus", json!({}), Ending::Healed).await?;
        self.play_out(vec![role]).await?;

        self.stage.title("one fails half way, and what it did is undone");
        let role = self.submit("Edsger", json!({"wait_ms": 200, "fail": true}), Ending::Undone).await?;
        self.play_out(vec![role]).await?;

        self.stage.title("one would wait for an hour, and a user cancels it");
        let role = self.submit("Alan", json!({"wait_ms": 3_600_000}), Ending::Cancelled).await?;
        self.cancel_when_waiting(role.id).await?;
        self.play_out(vec![role]).await
    }

    async fn submit(&self, name: &'static str, mut params: Value, expected: Ending) -> Result<DemoPart> {
        params["name"] = name.into();
        let command = Command {
            name: None,
            workflow: "demo.hello".into(),
            tenant: "demo".into(),
            resource: None,
            params,
            by: "demo".into(),
            idempotency_key: None,
            queue: false,
        };
        let accepted =
            self.engine.submit_json(command).await.with_context(|| format!("cannot greet {name}"))?;
        Ok(DemoPart::new(name, accepted.id, expected))
    }

    pub(super) async fn arm(&self, fault: Value) -> Result<()> {
        let answer = self.http.post(format!("{}/faults", self.sandbox)).json(&fault).send().await;
        answer.and_then(reqwest::Response::error_for_status).context("cannot script a fault")?;
        Ok(())
    }

    async fn cancel_when_waiting(&self, id: OperationId) -> Result<()> {
        let give_up_at = self.engine.now().plus(ACT_LIMIT);
        while self.inspect(id).await?.shown.summary.phase != Phase::Waiting {
            pause(self.engine.now(), give_up_at).await?;
        }
        self.engine.ask(id, PhaseVerb::Cancel, "demo", "an hour is too long").await.context("cannot cancel")
    }

    /// Shows what happens until all of them are finished, and keeps their stories.
    pub(super) async fn play_out(&mut self, mut roles: Vec<DemoPart>) -> Result<()> {
        self.stage.enter(roles.iter().map(|role| role.name));
        let mut updates = self.engine.event_feed().watch();
        let give_up_at = self.engine.now().plus(ACT_LIMIT);
        loop {
            for (place, role) in roles.iter_mut().enumerate() {
                for event in self.engine.journal(role.id, role.seen, EVENTS_MAX).await? {
                    role.see(&event);
                    self.stage.tell(place, &server::describe(&event));
                }
            }
            if roles.iter().all(|role| role.finished) {
                break;
            }
            // News only shorten the wait; what happened is in the journal.
            if tokio::time::timeout(LOOK_EVERY, updates.recv()).await.is_err() {
                pause(self.engine.now(), give_up_at).await?;
            }
        }
        for role in roles {
            let Inspection { shown, memory, .. } = self.inspect(role.id).await?;
            let (phase, ending) = (shown.summary.phase, role.ending(shown.summary.phase));
            let finished_at = shown.summary.finished_at.unwrap_or(shown.summary.created_at);
            let took = finished_at.since(shown.summary.created_at);
            self.stories.push(Story {
                name: role.name,
                workflow: shown.summary.workflow,
                operation: role.id.0,
                phase: phase.as_str(),
                what_happened: told(ending, role.retries, &shown.summary.reason.unwrap_or_default()),
                retries: role.retries,
                steps_done: memory.done.len(),
                steps_taken_back: memory.undone.len(),
                took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                ending,
                expected: role.expected,
            });
        }
        Ok(())
    }

    async fn inspect(&self, id: OperationId) -> Result<Inspection> {
        self.engine.inspect(id).await?.with_context(|| format!("operation {id} is gone"))
    }
}

impl DemoPart {
    pub(super) fn new(name: &'static str, id: OperationId, expected: Ending) -> DemoPart {
        DemoPart { name, expected, id, seen: 0, retries: 0, finished: false }
    }

    fn see(&mut self, event: &Event) {
        self.seen = event.seq;
        match &event.body {
            Body::Retried { .. } => self.retries += 1,
            Body::Finished { .. } => self.finished = true,
            _ => {}
        }
    }

    fn ending(&self, phase: Phase) -> Ending {
        match phase {
            Phase::Succeeded if self.retries > 0 => Ending::Healed,
            Phase::Succeeded => Ending::Succeeded,
            Phase::Undone => Ending::Undone,
            Phase::Cancelled => Ending::Cancelled,
            _ => Ending::Other,
        }
    }
}

fn told(ending: Ending, retries: usize, reason: &str) -> String {
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match ending {
        Ending::Succeeded => "succeeded".to_owned(),
        Ending::Healed if retries == 1 => "succeeded after 1 retry".to_owned(),
        Ending::Healed => format!("succeeded after {retries} retries"),
        Ending::Undone => format!("failed and undone{because}"),
        Ending::Cancelled => format!("cancelled and undone{because}"),
        Ending::Other => format!("something else{because}"),
    }
}

async fn pause(now: Timestamp, give_up_at: Timestamp) -> Result<()> {
    if now > give_up_at {
        bail!("an operation is still not finished after {} seconds", ACT_LIMIT.as_secs());
    }
    WallClock.sleep(Duration::from_millis(5)).await;
    Ok(())
}

/// What a machine says to a request. It answers a moment after it has an address.
pub(super) async fn said_by(request: impl Fn() -> RequestBuilder) -> Result<Value> {
    let give_up_at = WallClock.now().plus(ACT_LIMIT);
    loop {
        match request().send().await {
            Ok(answer) => return Ok(answer.error_for_status()?.json().await?),
            Err(error) if error.is_connect() && WallClock.now() < give_up_at => {
                WallClock.sleep(LOOK_EVERY).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
