//! Endpoints and credentials of AWS.

use std::time::Duration;

use engine::secret::SecretString;

/// Where AWS answers and with which credentials we ask.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where EC2 answers; `{region}` stands for the region of a call.
    pub ec2: String,
    /// Where STS answers; `{region}` stands for the home region.
    pub sts: String,
    /// The region that we ask for roles and identities.
    pub home: String,
    /// Our own. The caller who has none can only use accounts that bring theirs.
    pub credentials: Option<AccessKeys>,
    /// For a connection and for every silence. A whole call ends after twice that time.
    pub timeout: Duration,
}

/// Credentials of AWS: for ever without a session, for a while with one.
#[derive(Debug, Clone)]
pub struct AccessKeys {
    pub id: String,
    pub secret: SecretString,
    pub session: Option<SecretString>,
}

impl Options {
    /// AWS itself, without credentials.
    pub fn new() -> Options {
        Options {
            ec2: "https://ec2.{region}.amazonaws.com".to_owned(),
            sts: "https://sts.{region}.amazonaws.com".to_owned(),
            home: "us-east-1".to_owned(),
            credentials: None,
            timeout: Duration::from_secs(20),
        }
    }

    /// The AWS of a sandbox, with the credentials that it knows.
    pub fn beside(sandbox: &str) -> Options {
        let sandbox = sandbox.trim_end_matches('/');
        let keys =
            AccessKeys { id: "AKIASANDBOX".to_owned(), secret: "sandbox-secret".into(), session: None };
        Options {
            ec2: format!("{sandbox}/aws/ec2/{{region}}"),
            sts: format!("{sandbox}/aws/sts"),
            credentials: Some(keys),
            ..Options::new()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}
