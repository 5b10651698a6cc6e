//! Tells the runtime where its service manager is: the one that the request brought, or the configured one.

use engine::prelude::*;
use serde_json::Value;

use super::OnInstance;
use crate::model::settings::RuntimesSettings;
use engine::overrides::{plain, public, secret};

pub(crate) struct ServiceManagerOverrides {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

const COMPONENT: &str = "service-manager-proxy";

/// Where a service manager is and how to get in.
struct Access {
    url: String,
    username: String,
    password: SecretString,
}

#[async_trait]
impl<W: OnInstance> Step<W> for ServiceManagerOverrides {
    named!("service_manager_overrides", "Choosing the service manager");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let configured = self.runtimes.service_manager.as_ref();
        let sent = from_platform(&op.input.context).or_else(|| from_operator(&op.input.context));
        let own = || {
            configured.map(|own| Access {
                url: own.url.clone(),
                username: own.username.clone(),
                password: own.password.clone(),
            })
        };
        let sent = sent.filter(|_| !configured.is_some_and(|own| own.always));
        let open = if sent.is_some() { plain } else { public };
        if let Some(access) = sent.or_else(own) {
            let entries = [
                open("config.sm.url", access.url),
                open("sm.user", access.username),
                secret("sm.password", access.password),
            ];
            op.input.overrides.append(COMPONENT, entries);
        }
        done()
    }
}

/// `sm_platform_credentials`: a user and a password.
fn from_platform(context: &serde_json::Map<String, Value>) -> Option<Access> {
    let sent = context.get("sm_platform_credentials")?;
    let basic = sent.pointer("/credentials/basic")?;
    access(sent.get("url")?, basic.get("username")?, basic.get("password")?)
}

/// `sm_operator_credentials`: a client and its secret.
fn from_operator(context: &serde_json::Map<String, Value>) -> Option<Access> {
    let sent = context.get("sm_operator_credentials")?;
    access(sent.get("sm_url")?, sent.get("clientid")?, sent.get("clientsecret")?)
}

fn access(url: &Value, username: &Value, password: &Value) -> Option<Access> {
    let (url, username, password) = (url.as_str()?, username.as_str()?, password.as_str()?);
    Some(Access { url: url.into(), username: username.into(), password: password.into() })
}
