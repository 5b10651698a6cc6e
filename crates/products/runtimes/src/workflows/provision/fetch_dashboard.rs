//! Asks the Director for the address of the runtime's dashboard, which the runtime's agent tells it.

use director::Director;
use engine::prelude::*;
use serde_json::Value;

use super::Provision;
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::PATIENT;

pub(crate) struct FetchDashboard {
    director: Option<Arc<dyn Director>>,
    runtimes: Arc<RuntimesSettings>,
}

const LABEL: &str = "runtime_consoleUrl";

impl FetchDashboard {
    pub(crate) fn new(clients: &Clients) -> FetchDashboard {
        FetchDashboard { director: clients.director.clone(), runtimes: Arc::clone(&clients.runtimes) }
    }
}

#[async_trait]
impl Step<Provision> for FetchDashboard {
    named!("fetch_dashboard", "Fetching the address of the dashboard");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("director")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let instance = op.input.instance()?;
        let Some(director) = self.director.as_ref().filter(|_| instance.dashboard_url.is_none()) else {
            return done();
        };
        let runtime_id = op.need("the runtime", |state| state.runtime_id.as_ref())?;
        let known = director.runtime(&instance.account, runtime_id).await?;
        let waited = op.now().since(instance.asked_at.unwrap_or(op.now()));
        let Some(known) = known else {
            return wait(self.runtimes.pause(waited), "the Director does not know the runtime yet");
        };
        if known.condition.as_deref() == Some("FAILED") {
            return fail("the Director says that the runtime has failed");
        }
        match known.labels.get(LABEL).and_then(Value::as_str).filter(|url| url.starts_with("https://")) {
            Some(url) => {
                let instance = op.input.change(|instance| instance.dashboard_url = Some(url.to_owned()))?;
                op.set_record(&instance)?;
                done()
            }
            None => wait(self.runtimes.pause(waited), "the runtime has not told its dashboard's address yet"),
        }
    }

    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
