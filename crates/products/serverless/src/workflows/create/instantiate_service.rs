//! Has OneFlow make the service of the runtime, under a name that says whose it is.

use std::collections::BTreeSet;

use engine::Timestamp;
use engine::prelude::*;
use opennebula::{NebulaCredentials, NebulaError};

use super::{Create, service_name_of};
use crate::model::caller_credentials::credentials;
use crate::model::limit::watched;
use crate::model::removal::{Removal, RemovalProgress, RemovalScope};
use crate::model::report::{OPENNEBULA, brisk, later, refuse, stop};
use crate::model::settings::{Serverless, SrAuth};

pub(crate) struct InstantiateService {
    serverless: Arc<Serverless>,
}

/// What is being taken back, and since when.
#[derive(Serialize, Deserialize)]
struct Removing {
    service: i32,
    /// What carries the same name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    twins: BTreeSet<i32>,
    machines: BTreeSet<i32>,
    since: Timestamp,
}

impl Removing {
    fn services(&self) -> BTreeSet<i32> {
        self.twins.iter().copied().chain([self.service]).collect()
    }
}

impl Fact for Removing {
    const KEY: &'static str = "instantiate_service.removing";
}

const FAILED: &str = "Failed to create Serverless Runtime Service";
pub(crate) const CALL: &str = "instantiate_service.called";
/// How earlier releases say that the call was made twice.
const REPEATED: &str = "instantiate_service.repeated";
const REMOVAL_WATCHED: &str = "instantiate_service.removal_watched";

impl InstantiateService {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> InstantiateService {
        InstantiateService { serverless: Arc::clone(serverless) }
    }

    /// The call was made again although an earlier one may still be carried out: there may be two services.
    pub(crate) fn may_be_doubled(op: &Operation<Create>) -> Result<bool, Halt> {
        let is_doubled = op.calls(CALL)?.is_some_and(|calls| calls.is_doubled);
        Ok(is_doubled || op.recall_as::<bool>(REPEATED)?.is_some())
    }

    fn settle(&self, op: &mut Operation<Create>) -> Result<(), Halt> {
        let settings = &self.serverless.settings;
        op.attempt(CALL).settle(settings.settle, |waited| settings.pause(waited))
    }

    /// What has to be taken back, if there is anything.
    async fn remains(
        &self,
        op: &mut Operation<Create>,
        removal: &Removal<'_>,
    ) -> Result<Option<Removing>, Halt> {
        let later = |error: &NebulaError| later(&self.serverless.settings, error);
        let mut services: BTreeSet<i32> = op.state.service.into_iter().collect();
        let removing = op.recall::<Removing>()?;
        services.extend(removing.iter().flat_map(Removing::services));
        if let Some(document) = op.state.document
            && (services.is_empty() || InstantiateService::may_be_doubled(op)?)
        {
            let named = removal.named(document, &service_name_of(op, document)).await;
            services.extend(named.map_err(|error| later(&error))?);
        }
        let Some(service) = services.first().copied() else {
            self.settle(op)?;
            return Ok(None);
        };
        let known = match removing {
            Some(removing) if removing.services() == services => return Ok(Some(removing)),
            Some(removing) => removing.machines,
            None => BTreeSet::new(),
        };
        let mut machines = removal.machines(&services).await.map_err(|error| later(&error))?;
        machines.extend(known);
        services.remove(&service);
        Ok(Some(Removing { service, twins: services, machines, since: op.now() }))
    }

    fn removal<'a>(&'a self, own: &'a NebulaCredentials) -> Removal<'a> {
        Removal { nebula: &self.serverless.nebula, credentials: own, whose: RemovalScope::Made }
    }

    fn login(&self, op: &Operation<Create>, own: &NebulaCredentials) -> Option<SecretString> {
        match self.serverless.settings.sr_auth {
            SrAuth::Password => Some(own.text()),
            SrAuth::Token => op.input.login.clone(),
            SrAuth::None => None,
        }
    }
}

#[async_trait]
impl Step<Create> for InstantiateService {
    named!("instantiate_service", "Creating the runtime's service");

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
        if op.attempt(CALL).unknown()?.is_some() {
            let found = self.removal(&own).named(document, &service_name_of(op, document)).await;
            let found = found.map_err(|error| stop(op, FAILED, error))?;
            if let Some(service) = found.first() {
                op.attempt(CALL).adopt()?;
                op.state.service = Some(*service);
                return done();
            }
            self.settle(op)?;
        }
        let login = self.login(op, &own);
        let contents = match op.params.contents(&self.serverless, &own, login.as_ref()).await {
            Ok(contents) => contents,
            Err(runtime_error) => return Err(refuse(op, runtime_error)),
        };
        let (template, name) = (op.params.template.template(), service_name_of(op, document));
        let call = self.serverless.nebula.instantiate(&own, &template, &name, &contents);
        match op.attempt(CALL).call(call, NebulaError::may_have_happened).await? {
            Ok(service) => {
                op.state.service = Some(service.id);
                done()
            }
            Err(error) => Err(stop(op, FAILED, error)),
        }
    }

    /// Goes on until the service and its VMs are gone for sure.
    async fn undo(&self, op: &mut Operation<Create>) -> Outcome {
        let own = credentials(op).await?;
        let removal = self.removal(&own);
        let removing = self.remains(op, &removal).await?;
        let Some(mut removing) = removing else { return done() };
        op.remember(&removing)?;
        op.save().await?;
        let watched = watched(op, &self.serverless.settings, REMOVAL_WATCHED)?;
        let services = removing.services();
        let progress = removal.press(&services, &mut removing.machines, watched.is_overdue).await;
        op.remember(&removing)?;
        let progress = progress.map_err(|error| later(&self.serverless.settings, &error))?;
        match progress {
            RemovalProgress::Gone => done(),
            RemovalProgress::Waits(reason) => wait(self.serverless.settings.pause(watched.time), reason),
        }
    }
}
