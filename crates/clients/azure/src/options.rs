//! Where Azure is, and who we are to it.

use std::path::PathBuf;
use std::time::Duration;

use engine::secret::SecretString;

use super::ClientCertificate;

/// Where Azure answers and with which credentials we ask.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the Resource Manager answers.
    pub arm: String,
    /// Where tokens are issued; the tenant follows as the first part of the path.
    pub authority: String,
    /// What a token is for.
    pub scope: String,
    /// Our own tenant, to which customers delegate their subscriptions.
    pub tenant: String,
    /// The application that we are in our tenant.
    pub client_id: String,
    /// Without it no call can be made.
    pub credential: Option<Credential>,
    /// Which addresses may reach port 22 of new instances: `*`, addresses and CIDR blocks.
    pub ssh_from: Vec<String>,
    /// How often the state of what is being made is asked, where Azure does not say when to come back.
    pub poll: Duration,
    /// For a connection and for every silence. A whole call ends after twice that time.
    pub timeout: Duration,
}

/// How we prove to Entra that we are our application.
#[derive(Debug, Clone)]
pub enum Credential {
    Secret(SecretString),
    /// A file with a federated token, such as Kubernetes projects one. It is read again for every new token.
    TokenFile(PathBuf),
    /// A certificate of the application and its key, with which we sign who we are.
    Certificate(ClientCertificate),
}

impl Options {
    /// Azure itself, without credentials.
    pub fn new() -> Options {
        Options {
            arm: "https://management.azure.com".to_owned(),
            authority: "https://login.microsoftonline.com".to_owned(),
            scope: "https://management.azure.com/.default".to_owned(),
            tenant: String::new(),
            client_id: String::new(),
            credential: None,
            ssh_from: vec!["*".to_owned()],
            poll: Duration::from_secs(10),
            timeout: Duration::from_secs(20),
        }
    }

    /// The Azure of a sandbox, with the credentials that it knows.
    pub fn beside(sandbox: &str) -> Options {
        let sandbox = sandbox.trim_end_matches('/');
        Options {
            arm: format!("{sandbox}/azure"),
            authority: format!("{sandbox}/azure/login"),
            tenant: "5a9db0c4-0000-4000-8000-000000000001".to_owned(),
            client_id: "5a9db0c4-0000-4000-8000-000000000002".to_owned(),
            credential: Some(Credential::Secret("sandbox-secret".into())),
            poll: Duration::from_millis(100),
            ..Options::new()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}
