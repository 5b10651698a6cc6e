//! The record of an operation's resource: the caller's credentials, sealed, for as long as the operation needs them.
//!
//! What is known about a runtime is in OpenNebula. A record has room for one operation only, so a command on a
//! runtime that another one works on is refused as busy and never queues: its credentials would take the place of
//! those that the running operation still needs.

use engine::prelude::*;
use engine::secret::Sealer;
use engine::store::{Expect, RecordUpdate};
use engine::{AcceptedOperation, Engine, RecordWrites, Settled, Submission, SubmitError, Timestamp};
use opennebula::NebulaCredentials;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallerCredentials {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credentials: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone_at: Option<Timestamp>,
}

impl Resource for CallerCredentials {
    const KIND: &'static str = "serverless";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

impl CallerCredentials {
    pub fn new(sealer: &Sealer, credentials: &NebulaCredentials) -> CallerCredentials {
        CallerCredentials { credentials: Some(sealer.seal(&credentials.text())), gone_at: None }
    }

    /// The name under which operations on a runtime exclude each other.
    pub fn resource(document: i32) -> String {
        format!("serverless:{document}")
    }

    /// The same for a runtime that has no document yet. The name is different for every request.
    pub fn resource_of_new(name: &str) -> String {
        format!("serverless:new:{name}")
    }

    /// The name between which work is shared fairly.
    pub fn tenant(user: &str) -> String {
        format!("opennebula:{user}")
    }
}

/// What a client asks for, with the credentials to do it.
pub struct Request<'a, W: Workflow> {
    pub resource: &'a str,
    /// What its owner calls the runtime, where the request says it and the params do not.
    pub name: Option<&'a str>,
    pub params: &'a W::Params,
    pub credentials: &'a NebulaCredentials,
    pub idempotency_key: Option<&'a str>,
}

/// How often to look again when another request has written the record in the meantime.
const LOOKS_MAX: u32 = 5;

/// Begins an operation, and hands it the credentials in the same commit.
pub async fn accept<W: Workflow>(
    engine: &Engine,
    request: &Request<'_, W>,
) -> Result<AcceptedOperation, SubmitError> {
    let tenant = CallerCredentials::tenant(&request.credentials.user);
    let caller_credentials =
        CallerCredentials::new(&engine.sealer(&tenant, request.resource), request.credentials);
    let record_update = caller_credentials.record_update().map_err(SubmitError::Invalid)?;
    let mut looks = 0;
    loop {
        looks += 1;
        let row = engine.resource(request.resource).await?;
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        let along =
            RecordWrites { subject: Some((expect, Some(record_update.clone()))), ..RecordWrites::default() };
        let order = Submission::<W>::new(&tenant, &tenant, request.params);
        let (resource, name) = (Some(request.resource), request.name);
        let idempotency_key = request.idempotency_key;
        match engine.submit(Submission { resource, name, idempotency_key, along, ..order }).await {
            Err(SubmitError::Changed) if looks < LOOKS_MAX => {}
            answer => return answer,
        }
    }
}

/// What one pass of a serverless workflow puts together.
#[derive(Debug, Default)]
pub struct Input {
    credentials: Option<NebulaCredentials>,
    /// A login for the VMs of this runtime.
    pub(crate) login: Option<SecretString>,
}

/// On whose behalf the operation works.
pub(crate) async fn credentials<W>(op: &mut Operation<W>) -> Result<NebulaCredentials, Halt>
where
    W: Workflow<Input = Input>,
{
    if let Some(credentials) = &op.input.credentials {
        return Ok(credentials.clone());
    }
    let sealed = op
        .subject::<CallerCredentials>()
        .await?
        .and_then(|caller_credentials| caller_credentials.credentials);
    let sealed = sealed.ok_or_else(|| Halt::fail("its credentials are not kept any longer; ask again"))?;
    // The text is a secret, so the error must not quote it.
    let credentials = NebulaCredentials::parse(&op.open(&sealed)?)
        .map_err(|_| Halt::fail("its credentials cannot be read; ask again"))?;
    op.input.credentials = Some(credentials.clone());
    Ok(credentials)
}

/// The record of an operation that is over. One that is stuck will need its credentials again.
pub(crate) fn on_settled<W: Workflow>(op: &Operation<W>, rest: &Settled<'_>) -> Option<RecordUpdate> {
    let over = CallerCredentials { credentials: None, gone_at: Some(op.now()) };
    rest.phase.is_final().then(|| over.record_update().ok()).flatten()
}
