//! The acts in front of the broker: a platform asks for runtimes and gives them back.

use ::runtimes::api::osb::wire::{Accepted, Binding, LastOperation, State};
use anyhow::{Context, Result, ensure};
use engine::OperationId;
use engine::secret::{ExposeSecret, SecretString};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::play::{DemoPart, Ending, Play};
use super::stage::aside;

const TENANT: &str = "demo";
/// Long enough to be seen, short enough to be waited for.
const RUNTIME_MS: u64 = 300;
const CREDENTIALS_SECONDS: u64 = 600;
/// The plan allows ten machines, and the platform asks for three more.
const MACHINES: i64 = 13;

/// A service instance, and what people call it.
struct DemoRuntime {
    instance: &'static str,
    name: &'static str,
}

const ATLAS: DemoRuntime = DemoRuntime { instance: "00000000-0000-4000-8000-0000000000a1", name: "Atlas" };
const BOREAS: DemoRuntime = DemoRuntime { instance: "00000000-0000-4000-8000-0000000000a2", name: "Boreas" };
/// Of the first of them.
const BINDING: &str = "00000000-0000-4000-8000-0000000000b1";

impl Play<'_> {
    pub(super) async fn runtimes(&mut self) -> Result<()> {
        let script =
            json!({"provision_ms": RUNTIME_MS, "deprovision_ms": RUNTIME_MS, "upgrade_ms": RUNTIME_MS});
        let url = format!("{}/provisioner/script", self.sandbox);
        let answer = self.http.put(url).json(&script).send().await;
        answer.and_then(Response::error_for_status).context("cannot script the Provisioner")?;
        self.two_are_made().await?;
        self.credentials().await?;
        self.more_machines().await?;
        self.both_are_taken_down().await
    }

    async fn two_are_made(&mut self) -> Result<()> {
        self.stage.title("a platform asks the broker for a runtime");
        self.make(&ATLAS, Ending::Succeeded).await?;
        let again = said(self.platform.provision(ATLAS.instance, TENANT, ATLAS.name)).await?;
        ensure!(
            again.status() == StatusCode::OK,
            "the same request again is answered with {}",
            again.status()
        );
        aside("asked once more for the same: it is there, and nothing is made");

        self.stage.title("the Provisioner does its work but the answer is lost: still one runtime");
        let fault = json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"});
        self.arm(fault).await?;
        self.make(&BOREAS, Ending::Healed).await
    }

    async fn make(&mut self, runtime: &DemoRuntime, expected: Ending) -> Result<()> {
        let asked = self.platform.provision(runtime.instance, TENANT, runtime.name);
        let role = accepted(asked, runtime, expected).await?;
        self.play_out(vec![role]).await?;
        let answer = said(self.platform.last_operation(runtime.instance)).await?;
        let last: LastOperation = answer.json().await?;
        ensure!(
            last.state == State::Succeeded,
            "the broker says about {}: {}",
            runtime.name,
            last.description
        );
        Ok(())
    }

    async fn credentials(&mut self) -> Result<()> {
        self.stage.title("credentials for ten minutes");
        let parameters = json!({"expiration_seconds": CREDENTIALS_SECONDS});
        let asked = self.platform.bind(ATLAS.instance, BINDING, &parameters);
        let role = accepted(asked, &ATLAS, Ending::Succeeded).await?;
        self.play_out(vec![role]).await?;
        let answer = said(self.platform.binding(ATLAS.instance, BINDING)).await?;
        let binding: Binding = answer.json().await.context("the broker shows no credentials")?;
        let until = binding.metadata.map(|metadata| metadata.expires_at).unwrap_or_default();
        let kubeconfig = SecretString::from(binding.credentials.kubeconfig);
        let lines = kubeconfig.expose_secret().lines().count();
        ensure!(lines > 1 && !until.is_empty(), "the credentials are not whole");
        aside(&format!("a kubeconfig of {lines} lines (not shown), valid until {until}"));
        Ok(())
    }

    async fn more_machines(&mut self) -> Result<()> {
        self.stage.title("three nodes more");
        let asked = self.platform.update(ATLAS.instance, &json!({"autoScalerMax": MACHINES}));
        let role = accepted(asked, &ATLAS, Ending::Succeeded).await?;
        self.play_out(vec![role]).await?;
        let machines = self.machines(ATLAS.instance).await?;
        ensure!(machines == Some(MACHINES), "the Provisioner has {machines:?} nodes at most");
        aside(&format!("the Provisioner has {MACHINES} nodes at most now"));
        Ok(())
    }

    /// What the Provisioner itself says about a runtime.
    async fn machines(&self, instance: &str) -> Result<Option<i64>> {
        #[derive(Deserialize)]
        struct ProvisionerRuntime {
            runtimes: Vec<Value>,
        }
        let url = format!("{}/provisioner/runtimes", self.sandbox);
        let listed: ProvisionerRuntime =
            said(self.http.get(url).query(&[("instance_id", instance)])).await?.json().await?;
        let max = listed.runtimes.first().map(|one| &one["input"]["clusterConfig"]["gardenerConfig"]);
        Ok(max.and_then(|config| config["autoScalerMax"].as_i64()))
    }

    async fn both_are_taken_down(&mut self) -> Result<()> {
        self.stage.title("everything is taken down again, and the ids are gone");
        let asked = self.platform.unbind(ATLAS.instance, BINDING);
        let role = accepted(asked, &ATLAS, Ending::Succeeded).await?;
        self.play_out(vec![role]).await?;
        let mut roles = Vec::new();
        for runtime in [&ATLAS, &BOREAS] {
            let asked = self.platform.delete(runtime.instance);
            roles.push(accepted(asked, runtime, Ending::Succeeded).await?);
        }
        self.play_out(roles).await?;
        for runtime in [&ATLAS, &BOREAS] {
            let again = said(self.platform.delete(runtime.instance)).await?.status();
            ensure!(again == StatusCode::GONE, "{} was deleted, but deleting it says {again}", runtime.name);
        }
        aside("asked once more: 410, gone");
        Ok(())
    }
}

async fn said(request: RequestBuilder) -> Result<Response> {
    request.send().await.context("there is no answer")
}

/// The operation that a change has begun.
async fn accepted(request: RequestBuilder, runtime: &DemoRuntime, expected: Ending) -> Result<DemoPart> {
    let answer = said(request).await?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status == StatusCode::ACCEPTED, "the broker answers {status} about {}: {text}", runtime.name);
    let accepted: Accepted =
        serde_json::from_str(&text).context("the answer of the broker is not readable")?;
    let id = accepted.operation.context("the broker names no operation")?;
    Ok(DemoPart::new(runtime.name, OperationId(id.parse()?), expected))
}
