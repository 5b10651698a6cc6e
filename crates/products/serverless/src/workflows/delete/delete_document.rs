//! Deletes the document, which is the last part of the runtime.

use engine::prelude::*;
use opennebula::NebulaErrorKind as Kind;

use super::Delete;
use crate::model::caller_credentials::credentials;
use crate::model::report::{OPENNEBULA, PATIENT, stop};
use crate::model::settings::Serverless;

pub(crate) struct DeleteDocument {
    serverless: Arc<Serverless>,
}

impl DeleteDocument {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> DeleteDocument {
        DeleteDocument { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Delete> for DeleteDocument {
    named!("delete_document", "Deleting the document of the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        let credentials = credentials(op).await?;
        match self.serverless.nebula.delete_document(&credentials, op.params.document).await {
            Err(error) if !error.is(Kind::NotFound) => {
                Err(stop(op, "Failed to delete Serverless Runtime Document", error))
            }
            _ => {
                op.state.runtime_error = None;
                done()
            }
        }
    }
}
