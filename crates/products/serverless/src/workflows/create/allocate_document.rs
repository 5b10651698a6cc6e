//! Makes the document of the runtime, with the token of this operation in it. After a lost answer the token tells
//! whether there is one.

use engine::prelude::*;
use opennebula::{
    AttributeName, DocumentFilter, NebulaCredentials, NebulaError, NebulaErrorKind as Kind, NebulaTemplate,
    RUNTIME_DOCUMENT, Text,
};

use super::instantiate_service::CALL as SERVICE_CALL;
use super::{Create, name_of};
use crate::model::caller_credentials::credentials;
use crate::model::function::ObservedFunction;
use crate::model::labels;
use crate::model::report::{OPENNEBULA, brisk, later, stop};
use crate::model::runtime::ServerlessRuntime;
use crate::model::settings::Serverless;
use crate::model::state::RuntimeState;

pub(crate) struct AllocateDocument {
    serverless: Arc<Serverless>,
}

const NAME: AttributeName = AttributeName::of("NAME");
const BODY: AttributeName = AttributeName::of("BODY");
const TOKEN: AttributeName = AttributeName::of(labels::TOKEN);
const SEAL: AttributeName = AttributeName::of(labels::SEAL);

impl AllocateDocument {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> AllocateDocument {
        AllocateDocument { serverless: Arc::clone(serverless) }
    }

    /// The documents that this operation has made.
    async fn find(&self, op: &Operation<Create>, own: &NebulaCredentials) -> Result<Vec<i32>, NebulaError> {
        let token = op.idempotency_key(labels::LABEL);
        let all = self.serverless.nebula.documents(own, DocumentFilter::Mine, RUNTIME_DOCUMENT, None).await?;
        let ours = all.iter().filter(|document| labels::token(document) == Some(&token));
        Ok(ours.map(|document| document.id).collect())
    }

    /// OpenNebula goes on with a call whose caller is gone, so what is not found yet may appear later.
    fn settle(&self, op: &mut Operation<Create>) -> Result<(), Halt> {
        let settings = &self.serverless.settings;
        op.attempt(CALL).settle(settings.settle, |waited| settings.pause(waited))
    }
}

const FAILED: &str = "Failed to create Serverless Runtime Document";
const CALL: &str = "allocate_document.called";

#[async_trait]
impl Step<Create> for AllocateDocument {
    named!("allocate_document", "Creating the runtime's document");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Create>) -> Outcome {
        if op.state.document.is_some() {
            return done();
        }
        let credentials = credentials(op).await?;
        if op.attempt(CALL).unknown()?.is_some() {
            let found = self.find(op, &credentials).await.map_err(|error| stop(op, FAILED, error))?;
            if let Some(id) = found.first() {
                op.attempt(CALL).adopt()?;
                op.state.document = Some(*id);
                return done();
            }
            self.settle(op)?;
        }
        let name = name_of(op);
        let mut runtime = ServerlessRuntime::asked(0, &name, &op.params.spec);
        for (role, _) in op.params.spec.functions() {
            runtime.show(role, &ObservedFunction::without_machine(None, RuntimeState::Pending, None));
        }
        let mut template = NebulaTemplate::new();
        template.set(NAME, Text::ours(name));
        template.set(BODY, Text::ours(runtime.to_document()));
        let token = op.idempotency_key(labels::LABEL);
        let seal = op.seal(&SecretString::from(token.clone()));
        template.set(TOKEN, Text::ours(token));
        template.set(SEAL, Text::ours(seal.as_str()));
        let call = self.serverless.nebula.allocate_document(&credentials, &template, RUNTIME_DOCUMENT);
        match op.attempt(CALL).call(call, NebulaError::may_have_happened).await? {
            Ok(id) => {
                op.state.document = Some(id);
                // Saved with the event that lets the next steps begin, so that it costs nothing.
                op.attempt(SERVICE_CALL).announce()?;
                done()
            }
            Err(error) => Err(stop(op, FAILED, error)),
        }
    }

    async fn undo(&self, op: &mut Operation<Create>) -> Outcome {
        if op.calls(CALL)?.is_none() {
            return done();
        }
        let later = |error: &NebulaError| later(&self.serverless.settings, error);
        let credentials = credentials(op).await?;
        let ids = match op.state.document {
            Some(id) => vec![id],
            None => self.find(op, &credentials).await.map_err(|error| later(&error))?,
        };
        if ids.is_empty() {
            self.settle(op)?;
        }
        for id in ids {
            match self.serverless.nebula.delete_document(&credentials, id).await {
                Err(error) if !error.is(Kind::NotFound) => return Err(later(&error)),
                _ => {}
            }
        }
        done()
    }
}
