//! The acts in front of a cloud: an image is built and launched, and a launch that fails leaves nothing.

use ::launch::api::BASE;
use ::launch::api::types::{Instance, Launch};
use anyhow::{Context, Result, ensure};
use engine::OperationId;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::play::{DemoPart, Ending, Play, said_by};
use super::stage::aside;

const APOLLO: &str = "Apollo";
const ICARUS: &str = "Icarus";
/// The private halves of these were never saved.
const KEY_OF_APOLLO: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBB9z8Vq+S+CoRWe1ILTrZkrULzqFEyHCgt/NPB8Trbs";
const KEY_OF_ICARUS: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJixHPYa/mLD8Wk7KasbvEcBFJ9/47YJnOElFh90XY1I";
/// The account behind the source that the sandbox brings.
const SOURCE: &str = "sandbox";
const ACCOUNT: &str = "123456789012";
/// Everybody has it.
const PUBLIC_IMAGE: &str = "ami-0abc000000000001";
/// What every launch here asks for.
pub(super) const INSTANCES_EACH: u64 = 2;
const GUEST_PORT: u16 = 8000;

impl Play<'_> {
    pub(super) async fn launches(&mut self) -> Result<()> {
        // Long enough to be seen, short enough to be waited for.
        let interval =
            json!({"pending_ms": 100, "building_ms": 700, "uploading_ms": 100, "registering_ms": 100});
        self.turn("image-builder/pace", &interval).await?;
        self.an_image_is_built_and_launched().await?;
        self.a_launch_is_taken_back().await
    }

    async fn an_image_is_built_and_launched(&mut self) -> Result<()> {
        self.stage.title("an image is built, and two instances of it are launched");
        let build = json!({
            "distribution": "rhel-9", "image_name": APOLLO,
            "image_requests": [{
                "architecture": "x86_64", "image_type": "aws",
                "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
            }],
        });
        let id = self.launch(APOLLO, &json!({"build": build}), KEY_OF_APOLLO, Ending::Succeeded).await?;
        let launch = self.shown(&id).await?;
        let count = u64::try_from(launch.instances.len())?;
        ensure!(
            count == INSTANCES_EACH,
            "{count} instances were launched where {INSTANCES_EACH} were asked for"
        );
        for instance in &launch.instances {
            let address = self.answers(instance).await?;
            aside(&format!("{} answers at {address}", instance.instance_id));
        }
        Ok(())
    }

    async fn a_launch_is_taken_back(&mut self) -> Result<()> {
        self.stage.title("another launch uploads its key, and then the account has reached its limit");
        let before = Ledger::read(self.sandbox).await?.counts;
        let limit = json!({
            "action": "RunInstances", "code": "VcpuLimitExceeded",
            "message": "the account may have no more virtual CPUs in this region",
        });
        self.turn("aws/faults/fail", &limit).await?;
        let id = self.launch(ICARUS, &json!({"id": PUBLIC_IMAGE}), KEY_OF_ICARUS, Ending::Undone).await?;
        let launch = self.shown(&id).await?;
        let hint = launch
            .error
            .and_then(|error| error.hint)
            .context("a launch that failed does not say what to do")?;
        aside(&format!("hint: {hint}"));
        let after = Ledger::read(self.sandbox).await?.counts;
        ensure!(
            after.key_pairs.made == before.key_pairs.made + 1,
            "the launch failed before it uploaded its key"
        );
        let stand = [&before, &after].map(|all| (all.instances.standing, all.key_pairs.standing));
        ensure!(stand[0] == stand[1], "instances and key pairs before and after: {stand:?}");
        aside("EC2 has as many instances and key pairs as before: nothing is left of it");
        Ok(())
    }

    /// Asks for a launch at AWS and shows it to its end. Answers its id.
    async fn launch(
        &mut self,
        name: &'static str,
        image: &Value,
        key: &str,
        expected: Ending,
    ) -> Result<String> {
        let body = json!({
            "provider": "aws", "image": image,
            "parameters": {
                "source_id": SOURCE, "instance_type": "t3.small", "amount": INSTANCES_EACH, "name": name,
                "pubkey": {"name": name, "body": key},
            },
        });
        let (id, part) = self.submit_launch(name, &body, expected).await?;
        self.play_out(vec![part]).await?;
        Ok(id)
    }

    /// Asks for a launch. Answers its id, and what is to be seen of it.
    pub(super) async fn submit_launch(
        &self,
        name: &'static str,
        body: &Value,
        expected: Ending,
    ) -> Result<(String, DemoPart)> {
        let request = self.launcher.request(Method::POST, &format!("{BASE}/launches")).json(body);
        let launch = answer(request, StatusCode::ACCEPTED).await?;
        let operation = launch.operation_id.context("the launch is not carried out")?.parse()?;
        Ok((launch.id.to_string(), DemoPart::new(name, OperationId(operation), expected)))
    }

    pub(super) async fn shown(&self, id: &str) -> Result<Launch> {
        answer(self.launcher.request(Method::GET, &format!("{BASE}/launches/{id}")), StatusCode::OK).await
    }

    /// Calls an instance at its address. It answers a moment after it has one.
    pub(super) async fn answers(&self, instance: &Instance) -> Result<String> {
        let id = &instance.instance_id;
        let address = instance.detail.public_ipv4.clone().with_context(|| format!("{id} has no address"))?;
        let url = format!("http://{address}:{GUEST_PORT}/");
        let said = said_by(|| self.http.get(&url)).await;
        let said = said.with_context(|| format!("{id} does not answer"))?;
        ensure!(said["guest"]["instance"] == id.as_str(), "{id} answers {said}");
        Ok(address)
    }

    /// Tells the sandbox how its external systems shall behave.
    async fn turn(&self, knob: &str, body: &Value) -> Result<()> {
        self.script(Method::POST, knob, body).await
    }

    pub(super) async fn script(&self, method: Method, knob: &str, body: &Value) -> Result<()> {
        let answer = self.http.request(method, format!("{}/{knob}", self.sandbox)).json(body).send().await;
        answer.and_then(reqwest::Response::error_for_status).context("cannot script the sandbox")?;
        Ok(())
    }
}

async fn answer(request: RequestBuilder, expected: StatusCode) -> Result<Launch> {
    let answer = request.send().await.context("there is no answer")?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status == expected, "the API answers {status}: {text}");
    serde_json::from_str(&text).context("the API's answer is not readable")
}
