//! Writes the new body into the document.

use engine::prelude::*;
use opennebula::{AttributeName, NebulaTemplate, Text};

use super::{Update, put_back};
use crate::model::caller_credentials::credentials;
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::settings::Serverless;

pub(crate) struct RecordUpdate {
    serverless: Arc<Serverless>,
}

#[derive(Serialize, Deserialize)]
struct Recorded(bool);

impl Fact for Recorded {
    const KEY: &'static str = "record_update.recorded";
}

const BODY: AttributeName = AttributeName::of("BODY");

impl RecordUpdate {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> RecordUpdate {
        RecordUpdate { serverless: Arc::clone(serverless) }
    }
}

fn with(body: &str) -> NebulaTemplate {
    let mut template = NebulaTemplate::new();
    template.set(BODY, Text::ours(body));
    template
}

#[async_trait]
impl Step<Update> for RecordUpdate {
    named!("record_update", "Recording the update");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let Some(body) = op.params.body.clone() else { return done() };
        if op.recall::<Recorded>()?.is_some() {
            return done();
        }
        let credentials = credentials(op).await?;
        let saved =
            self.serverless.nebula.amend_document(&credentials, op.params.document, &with(&body.to)).await;
        saved.map_err(|error| stop(op, "Failed to update Serverless Runtime Document", error))?;
        op.remember(&Recorded(true))?;
        done()
    }

    async fn undo(&self, op: &mut Operation<Update>) -> Outcome {
        let Some(body) = op.params.body.clone() else { return done() };
        let credentials = credentials(op).await?;
        let template = with(&body.from);
        let saved = self.serverless.nebula.amend_document(&credentials, op.params.document, &template).await;
        put_back(op, &self.serverless.settings, "the document", saved)?;
        done()
    }
}
