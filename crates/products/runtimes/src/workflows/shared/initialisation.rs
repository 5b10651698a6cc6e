//! Opens what was asked for, checks that the plan is still there, and chooses the back end of a new instance.

use engine::prelude::*;
use serde_json::{Map, Value};

use super::OnInstance;
use crate::backend::BackendKind;
use crate::clients::Clients;
use crate::model::instance::{InstanceRecord, hex_shoot};
use crate::model::parameters::Parameters;
use crate::model::records::Records;
use crate::model::settings::RuntimesSettings;

pub(crate) struct Initialisation {
    runtimes: Arc<RuntimesSettings>,
    records: Records,
}

/// Two instances with the same first name are rare, and three are not seen.
const SHOOT_NAMES: u32 = 20;

impl Initialisation {
    pub(crate) fn new(clients: &Clients) -> Initialisation {
        Initialisation { runtimes: Arc::clone(&clients.runtimes), records: clients.records.clone() }
    }

    /// A short name for the cluster that no other instance has: a back end that finds the name taken would take over
    /// the cluster of another instance.
    async fn free_shoot(&self, instance_id: &str) -> Result<String, Halt> {
        for salt in 0..SHOOT_NAMES {
            let name = hex_shoot(instance_id, salt);
            let users = self.records.labelled::<InstanceRecord>("shoot", &name).await?;
            if users.iter().all(|user| user.instance_id == instance_id) {
                return Ok(name);
            }
        }
        Err(Halt::fail("no free name for the cluster was found"))
    }
}

#[async_trait]
impl<W: OnInstance> Step<W> for Initialisation {
    named!("initialisation", "Reading the request");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let instance = op.input.instance()?;
        let plan = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?;
        let parameters = opened(op, &instance.parameters)?;
        let context = opened(op, &instance.context)?;
        // From here on the instance keeps its back end, whatever the configuration says later.
        if instance.is_unmade() {
            let kind = plan.backend;
            let shoot = match kind {
                BackendKind::Provisioner => instance.shoot.clone(),
                BackendKind::InfrastructureManager => self.free_shoot(&instance.instance_id).await?,
            };
            let instance = op.input.change(|instance| {
                instance.backend = Some(kind);
                instance.shoot = shoot;
            })?;
            op.set_record(&instance)?;
        }
        op.input.parameters = Parameters::read(&parameters).map_err(Halt::fail)?;
        op.input.context = context;
        done()
    }
}

/// Nothing of the text may get into an error: it holds secrets.
pub(crate) fn opened<W: Workflow>(op: &Operation<W>, sealed: &Sealed) -> Result<Map<String, Value>, Halt> {
    let text = op.open(sealed)?;
    serde_json::from_str(text.expose_secret()).map_err(|_| Halt::fail("what was sealed is not JSON"))
}
