//! The record of an operation's resource: the caller's credentials, sealed, for as long as the operation needs them.
//!
//! What is known about a runtime is in OpenNebula. A record has room for one operation only, so a command on a
//! runtime that another one works on is refused as busy and never queues: its credentials would take the place of
//! those that the running operation still needs.

use engine::prelude::*;
use engine::secret::Sealer;
use engine::store::{Expect, Portrait};
use engine::{Accepted, Alongside, Engine, Rest, Submission, SubmitError, Timestamp};
use opennebula::Credentials;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credentials: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone_at: Option<Timestamp>,
}

impl Resource for Errand {
    const KIND: &'static str = "serverless";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

impl Errand {
    pub fn new(sealer: &Sealer, credentials: &Credentials) -> Errand {
        Errand { credentials: Some(sealer.seal(&credentials.text())), gone_at: None }
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

/// What somebody asks for, with the credentials to do it.
pub struct Request<'a, W: Workflow> {
    pub resource: &'a str,
    pub params: &'a W::Params,
    pub credentials: &'a Credentials,
    pub idempotency_key: Option<&'a str>,
}

/// How often to look again when somebody else has written the record in the meantime.
const LOOKS_MAX: u32 = 5;

/// Begins an operation, and hands it the credentials in the same commit.
pub async fn accept<W: Workflow>(engine: &Engine, request: &Request<'_, W>) -> Result<Accepted, SubmitError> {
    let tenant = Errand::tenant(&request.credentials.user);
    let errand = Errand::new(&engine.sealer(&tenant, request.resource), request.credentials);
    let portrait = errand.portrait().map_err(SubmitError::Invalid)?;
    let mut looks = 0;
    loop {
        looks += 1;
        let row = engine.resource(request.resource).await?;
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        let along = Alongside { subject: Some((expect, Some(portrait.clone()))), ..Alongside::default() };
        let order = Submission::<W>::new(&tenant, &tenant, request.params);
        let (resource, idempotency_key) = (Some(request.resource), request.idempotency_key);
        match engine.submit(Submission { resource, idempotency_key, along, ..order }).await {
            Err(SubmitError::Changed) if looks < LOOKS_MAX => {}
            answer => return answer,
        }
    }
}

/// What one pass of a serverless workflow puts together.
#[derive(Debug, Default)]
pub struct Input {
    credentials: Option<Credentials>,
    /// A login for the machines of this runtime.
    pub(crate) login: Option<SecretString>,
}

/// On whose behalf the operation works.
pub(crate) async fn credentials<W>(op: &mut Operation<W>) -> Result<Credentials, Halt>
where
    W: Workflow<Input = Input>,
{
    if let Some(credentials) = &op.input.credentials {
        return Ok(credentials.clone());
    }
    let sealed = op.subject::<Errand>().await?.and_then(|errand| errand.credentials);
    let sealed = sealed.ok_or_else(|| Halt::fail("its credentials are not kept any longer; ask again"))?;
    // The text is a secret, so the error must not quote it.
    let credentials = Credentials::parse(&op.open(&sealed)?)
        .map_err(|_| Halt::fail("its credentials cannot be read; ask again"))?;
    op.input.credentials = Some(credentials.clone());
    Ok(credentials)
}

/// The record of an operation that is over. One that is stuck will need its credentials again.
pub(crate) fn parting<W: Workflow>(op: &Operation<W>, rest: &Rest<'_>) -> Option<Portrait> {
    let over = Errand { credentials: None, gone_at: Some(op.now()) };
    rest.phase.is_final().then(|| over.portrait().ok()).flatten()
}
