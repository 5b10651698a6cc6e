//! The acts in front of OpenNebula: a device asks for a function, calls it, and gives it back.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use engine::{Clock, OperationId, WallClock};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::play::{ACT_LIMIT, DemoPart, Ending, Play, said_by};
use super::stage::aside;
use crate::demo::demo_client::DemoClient;
use ::serverless::client::{self as serverless, RuntimeBody, State};

const NAME: &str = "Hermes";
const MEMORY_MB: u32 = 256;
/// A function that greets, as the runtime of functions takes it.
const CALL: &str = "ZGVmIGhlbGxvKG5hbWUpOiByZXR1cm4gbmFtZQ==";
const FAAS_PORT: u16 = 8000;
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Play<'_> {
    pub(super) async fn serverless(&mut self) -> Result<()> {
        let demo_client = DemoClient::new(self.platform.url())?;
        let id = self.a_function_is_made(&demo_client).await?;
        self.stage.title("twice the memory");
        let faas = json!({"FLAVOUR": "Function", "MEMORY": MEMORY_MB});
        self.change(demo_client.update(id, &json!({"SERVERLESS_RUNTIME": {"FAAS": faas}}))).await?;
        let memory = self.running(&demo_client, id).await?.of(serverless::FunctionRole::Faas, "MEMORY");
        ensure!(memory == Some(MEMORY_MB.to_string()), "the VM has {memory:?} MB");
        aside(&format!("OpenNebula says that the VM has {MEMORY_MB} MB now"));

        self.stage.title("the function is given back");
        self.change(demo_client.delete(id)).await?;
        let again = demo_client.show(id).send().await.context("there is no answer")?.status();
        ensure!(again == StatusCode::NOT_FOUND, "runtime {id} was deleted, but asking for it says {again}");
        aside("asked once more: 404, not found");
        Ok(())
    }

    async fn a_function_is_made(&mut self, demo_client: &DemoClient) -> Result<i32> {
        self.stage.title("a device asks OpenNebula for a function, and for data beside it");
        let body = json!({"SERVERLESS_RUNTIME": {
            "NAME": NAME, "FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"},
        }});
        let made = demo_client.operation(self.change(demo_client.create(&body)).await?.0).await?;
        let id = made.location.as_deref().and_then(|path| path.rsplit('/').next()?.parse().ok());
        let id = id.context("a new runtime has no id")?;
        let runtime = self.running(demo_client, id).await?;
        let address =
            runtime.of(serverless::FunctionRole::Faas, "ENDPOINT").context("the function has no address")?;
        aside(&format!("runtime {id} is running; the function is at {address}"));
        let said = self.called(&address).await?;
        aside(&format!("called with \"{NAME}\", it returns {}", said["res"]));
        Ok(id)
    }

    /// Asks for a change and shows it to its end.
    async fn change(&mut self, request: RequestBuilder) -> Result<OperationId> {
        let id = OperationId(DemoClient::begun(request).await?.id);
        self.play_out(vec![DemoPart::new(NAME, id, Ending::Succeeded)]).await?;
        Ok(id)
    }

    async fn running(&self, demo_client: &DemoClient, id: i32) -> Result<RuntimeBody> {
        let give_up_at = WallClock.now().plus(ACT_LIMIT);
        loop {
            let runtime = DemoClient::runtime(demo_client.show(id), StatusCode::OK).await?;
            match runtime.state() {
                State::Running => return Ok(runtime),
                State::Error => bail!("runtime {id} failed: {:?}", runtime.errors().next()),
                State::Busy(state) if WallClock.now() > give_up_at => bail!("runtime {id} is still {state}"),
                State::Busy(_) => WallClock.sleep(LOOK_EVERY).await,
            }
        }
    }

    /// What the function itself says. It answers a moment after its machine runs.
    async fn called(&self, address: &str) -> Result<Value> {
        let url = format!("http://{address}:{FAAS_PORT}/v1/faas/execute-sync");
        let call = json!({"lang": "PY", "fc": CALL, "params": [NAME]});
        let said = said_by(|| self.http.post(&url).json(&call)).await;
        let said = said.context("the function does not answer")?;
        ensure!(said["res"] == NAME, "the function answers {said}");
        Ok(said)
    }
}
