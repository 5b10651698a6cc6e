//! Has OneFlow make the service of the runtime, under a name that says whose it is.

use std::collections::BTreeSet;

use drivers::opennebula::{Credentials, NebulaError};
use engine::Timestamp;
use engine::prelude::*;

use super::call::Call;
use super::{Create, service_name_of};
use crate::serverless::errand::credentials;
use crate::serverless::removal::{Progress, Removal, Whose};
use crate::serverless::report::{OPENNEBULA, brisk, later, refuse, stop};
use crate::serverless::settings::{Serverless, SrAuth};

pub(super) struct InstantiateService {
    serverless: Arc<Serverless>,
}

/// What is being taken back, and since when.
#[derive(Serialize, Deserialize)]
struct Removing {
    service: i32,
    machines: BTreeSet<i32>,
    since: Timestamp,
}

impl Fact for Removing {
    const KEY: &'static str = "instantiate_service.removing";
}

const FAILED: &str = "Failed to create Serverless Runtime Service";
pub(super) const CALL: Call = Call("instantiate_service.called");

impl InstantiateService {
    pub(super) fn new(serverless: &Arc<Serverless>) -> InstantiateService {
        InstantiateService { serverless: Arc::clone(serverless) }
    }

    /// The service that an earlier call has made.
    async fn find(
        &self,
        op: &Operation<Create>,
        own: &Credentials,
        document: i32,
    ) -> Result<Option<i32>, NebulaError> {
        let name = service_name_of(op, document);
        let all = self.serverless.nebula.services(own).await?;
        Ok(all.into_iter().find(|service| service.name == name).map(|service| service.id))
    }

    /// What has to be taken back, if there is anything.
    async fn remains(
        &self,
        op: &mut Operation<Create>,
        removal: &Removal<'_>,
    ) -> Result<Option<Removing>, Halt> {
        if let Some(removing) = op.recall::<Removing>()? {
            return Ok(Some(removing));
        }
        let service = match (op.state.service, op.state.document) {
            (Some(service), _) => Some(service),
            (None, Some(document)) => {
                let found = self.find(op, removal.credentials, document).await;
                found.map_err(|error| later(&self.serverless.settings, &error))?
            }
            (None, None) => None,
        };
        let Some(service) = service else {
            CALL.settles(op, &self.serverless.settings)?;
            return Ok(None);
        };
        let machines = removal.machines(service).await;
        let machines = machines.map_err(|error| later(&self.serverless.settings, &error))?;
        Ok(Some(Removing { service, machines, since: op.now() }))
    }

    fn login(&self, op: &Operation<Create>, own: &Credentials) -> Option<SecretString> {
        match self.serverless.settings.sr_auth {
            SrAuth::Password => Some(own.text()),
            SrAuth::Token => op.input.login.clone(),
            SrAuth::None => None,
        }
    }
}

#[async_trait]
impl Step<Create> for InstantiateService {
    fn name(&self) -> &'static str {
        "instantiate_service"
    }

    fn title(&self) -> &'static str {
        "Making the service of the runtime"
    }

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Create>) -> Outcome {
        if op.state.service.is_some() {
            return done();
        }
        let document = *op.need("the document", |state| state.document.as_ref())?;
        let own = credentials(op).await?;
        if !op.input.document_is_new {
            let found = self.find(op, &own, document).await;
            if let Some(service) = found.map_err(|error| stop(op, FAILED, error))? {
                op.state.service = Some(service);
                return done();
            }
            CALL.settles(op, &self.serverless.settings)?;
            CALL.begins(op)?;
            op.save().await?;
        }
        let login = self.login(op, &own);
        let contents = match op.params.contents(&self.serverless, &own, login.as_ref()).await {
            Ok(contents) => contents,
            Err(refusal) => return Err(refuse(op, refusal)),
        };
        let (template, name) = (op.params.template.template(), service_name_of(op, document));
        match self.serverless.nebula.instantiate(&own, &template, &name, &contents).await {
            Ok(service) => {
                op.state.service = Some(service.id);
                done()
            }
            Err(error) => {
                CALL.failed(op, &error)?;
                Err(stop(op, FAILED, error))
            }
        }
    }

    /// Goes on until the service and its machines are gone for sure.
    async fn undo(&self, op: &mut Operation<Create>) -> Outcome {
        let own = credentials(op).await?;
        let removal = Removal { nebula: &self.serverless.nebula, credentials: &own, whose: Whose::Made };
        let removing = self.remains(op, &removal).await?;
        let Some(mut removing) = removing else { return done() };
        op.remember(&removing)?;
        op.save().await?;
        let going_on_for = op.now().since(removing.since);
        let urgent = going_on_for > self.serverless.settings.timeout;
        let progress = removal.press(removing.service, &mut removing.machines, urgent).await;
        op.remember(&removing)?;
        let progress = progress.map_err(|error| later(&self.serverless.settings, &error))?;
        match progress {
            Progress::Gone => done(),
            Progress::Waits(reason) => wait(self.serverless.settings.pause(going_on_for), reason),
        }
    }
}
