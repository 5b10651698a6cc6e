//! Asks the back end for the address of the runtime's dashboard.

use engine::prelude::*;

use super::Provision;
use crate::backend::{Backends, DashboardState};
use crate::clients::Clients;
use crate::workflows::shared::{PATIENT, pause};

pub(crate) struct FetchDashboard {
    backends: Backends,
}

impl FetchDashboard {
    pub(crate) fn new(clients: &Clients) -> FetchDashboard {
        FetchDashboard { backends: Backends::new(clients) }
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
        if instance.dashboard_url.is_some() {
            return done();
        }
        let backend = self.backends.of(instance);
        let runtime = instance.runtime(op.need("the runtime", |state| state.runtime_id.as_ref())?);
        match backend.dashboard(runtime).await? {
            DashboardState::Unknown => done(),
            DashboardState::Failed(why) => fail(why),
            DashboardState::NotYet(reason) => {
                let waited = op.now().since(instance.asked_at.unwrap_or(op.now()));
                pause(backend.next_look(runtime, waited), reason.to_owned())
            }
            DashboardState::At(url) => {
                let instance = op.input.change(|instance| instance.dashboard_url = Some(url))?;
                op.set_record(&instance)?;
                done()
            }
        }
    }

    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
