//! Renames the runtime, once everything else is done.

use engine::prelude::*;

use super::{Update, put_back};
use crate::model::caller_credentials::credentials;
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::settings::Serverless;

pub(crate) struct Rename {
    serverless: Arc<Serverless>,
}

#[derive(Serialize, Deserialize)]
struct Renamed(bool);

impl Fact for Renamed {
    const KEY: &'static str = "rename.renamed";
}

impl Rename {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> Rename {
        Rename { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Update> for Rename {
    named!("rename", "Renaming the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let Some(name) = op.params.name.clone() else { return done() };
        if op.recall::<Renamed>()?.is_some() {
            return done();
        }
        let credentials = credentials(op).await?;
        let renamed =
            self.serverless.nebula.rename_document(&credentials, op.params.document, &name.to).await;
        renamed.map_err(|error| stop(op, "Failed to rename Serverless Runtime Document", error))?;
        op.remember(&Renamed(true))?;
        done()
    }

    async fn undo(&self, op: &mut Operation<Update>) -> Outcome {
        let Some(name) = op.params.name.clone() else { return done() };
        let (nebula, settings) = (&self.serverless.nebula, &self.serverless.settings);
        let credentials = credentials(op).await?;
        let found = nebula.document(&credentials, op.params.document).await;
        let found = put_back(op, settings, "the name", found)?;
        // An old name may be one that only a new document can have.
        if found.is_some_and(|document| document.name != name.from) {
            let renamed = nebula.rename_document(&credentials, op.params.document, &name.from).await;
            put_back(op, settings, "the name", renamed)?;
        }
        done()
    }
}
