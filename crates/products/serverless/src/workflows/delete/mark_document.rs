//! Labels the document as deleted: from then on only this operation finds the runtime.

use engine::prelude::*;
use opennebula::{AttributeName, NebulaErrorKind as Kind, NebulaTemplate};

use super::Delete;
use crate::model::caller_credentials::credentials;
use crate::model::labels;
use crate::model::report::{OPENNEBULA, PATIENT, stop};
use crate::model::settings::Serverless;

pub(crate) struct MarkDocument {
    serverless: Arc<Serverless>,
}

const DELETING: AttributeName = AttributeName::of(labels::DELETING);

impl MarkDocument {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> MarkDocument {
        MarkDocument { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Delete> for MarkDocument {
    named!("mark_document", "Marking the document of the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        if op.state.marked_at.is_some() {
            return done();
        }
        let credentials = credentials(op).await?;
        let mut template = NebulaTemplate::new();
        template.set(DELETING, labels::YES);
        match self.serverless.nebula.amend_document(&credentials, op.params.document, &template).await {
            Err(error) if !error.is(Kind::NotFound) => {
                Err(stop(op, "Failed to delete Serverless Runtime Document", error))
            }
            _ => {
                op.state.marked_at = Some(op.now());
                done()
            }
        }
    }
}
