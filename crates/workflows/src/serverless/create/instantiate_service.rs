//! Has OneFlow make the service of the runtime, under a name that says whose it is.

use std::collections::BTreeSet;

use drivers::opennebula::{Credentials, NebulaError};
use engine::Timestamp;
use engine::prelude::*;

use super::call::Call;
use super::{Create, service_name_of};
use crate::serverless::errand::credentials;
use crate::serverless::limit::watched;
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

/// The call was made again although an earlier one may still be carried out: there may be two services.
#[derive(Serialize, Deserialize)]
pub(super) struct RepeatedCall(bool);

impl Fact for RepeatedCall {
    const KEY: &'static str = "instantiate_service.repeated";
}

impl Fact for Removing {
    const KEY: &'static str = "instantiate_service.removing";
}

const FAILED: &str = "Failed to create Serverless Runtime Service";
pub(super) const CALL: Call = Call("instantiate_service.called");
const REMOVAL_WATCHED: &str = "instantiate_service.removal_watched";

impl InstantiateService {
    pub(super) fn new(serverless: &Arc<Serverless>) -> InstantiateService {
        InstantiateService { serverless: Arc::clone(serverless) }
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
            && (services.is_empty() || op.recall::<RepeatedCall>()?.is_some())
        {
            let named = removal.named(document, &service_name_of(op, document)).await;
            services.extend(named.map_err(|error| later(&error))?);
        }
        let Some(service) = services.first().copied() else {
            CALL.settles(op, &self.serverless.settings)?;
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

    fn removal<'a>(&'a self, own: &'a Credentials) -> Removal<'a> {
        Removal { nebula: &self.serverless.nebula, credentials: own, whose: Whose::Made }
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
            let found = self.removal(&own).named(document, &service_name_of(op, document)).await;
            let found = found.map_err(|error| stop(op, FAILED, error))?;
            if let Some(service) = found.first() {
                op.state.service = Some(*service);
                return done();
            }
            CALL.settles(op, &self.serverless.settings)?;
            if CALL.is_open(op)? {
                op.remember(&RepeatedCall(true))?;
            }
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
            Progress::Gone => done(),
            Progress::Waits(reason) => wait(self.serverless.settings.pause(watched.time), reason),
        }
    }
}
