//! Gets a login for the VMs of the runtime, so that they never see the caller's password. It ends by itself, so
//! there is nothing to take back.

use engine::prelude::*;
use opennebula::NebulaCredentials;

use super::Create;
use crate::model::caller_credentials::credentials;
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::settings::Serverless;

pub(crate) struct MintLogin {
    serverless: Arc<Serverless>,
}

impl MintLogin {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> MintLogin {
        MintLogin { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Create> for MintLogin {
    named!("mint_login", "Getting a login for the VMs");

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
        let own = credentials(op).await?;
        let token = self.serverless.nebula.login(&own, self.serverless.settings.token_valid).await;
        let token = token.map_err(|error| stop(op, "Failed to get a login for the VMs", error))?;
        let login = NebulaCredentials::new(own.user, token);
        let login = login.map_err(|error| Halt::fail(format!("the login: {error}")))?;
        op.input.login = Some(login.text());
        done()
    }
}
