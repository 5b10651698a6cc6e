//! Where Google Cloud is, and who we are to it.

use std::fmt;
use std::time::Duration;

use engine::secret::SecretString;
use serde::Deserialize;

/// The service account that a sandbox knows.
const SANDBOX_EMAIL: &str = "provision-engine@sandbox.iam.gserviceaccount.com";
/// Projects of Google and of vendors whose images are open to every account.
const PUBLIC_IMAGE_PROJECTS: [&str; 9] = [
    "centos-cloud",
    "cos-cloud",
    "debian-cloud",
    "fedora-cloud",
    "opensuse-cloud",
    "rhel-cloud",
    "rocky-linux-cloud",
    "suse-cloud",
    "ubuntu-os-cloud",
];

/// Where Google Cloud answers and with which credentials we ask.
#[derive(Debug, Clone)]
pub struct GoogleOptions {
    /// Compute Engine, with its version.
    pub compute: String,
    /// Where an assertion is exchanged for a token.
    pub token: String,
    /// The service that gives tokens of other service accounts.
    pub iam_credentials: String,
    /// The service that knows the labels of projects and who may do what in them.
    pub resource_manager: String,
    /// Without it no call can be made.
    pub credentials: Option<KeySource>,
    /// The service account that acts for an organisation; `{org}` stands for its id. A project then belongs to the
    /// organisation whose service account it lets in. Without it every project needs a label with the organisation.
    pub impersonate: Option<String>,
    /// Projects whose images every organisation may use. An image of another project needs that project's label.
    pub image_projects: Vec<String>,
    /// How long the cloud is left alone while it makes instances.
    pub poll: Duration,
    /// How long what a lost call made may take to be shown. Nothing: as long as the settings of launches say.
    pub settle: Option<Duration>,
    /// For a connection and for every silence. A whole call ends after twice that time.
    pub timeout: Duration,
}

/// Where the key of our own service account is.
#[derive(Debug, Clone)]
pub enum KeySource {
    Key(ServiceAccountKey),
    /// A sandbox makes its key when it is first asked for it. It is asked again for every new token, because another
    /// process at this address has another key.
    Sandbox {
        email: String,
        url: String,
    },
}

/// The key of a service account.
#[derive(Clone)]
pub struct ServiceAccountKey {
    pub email: String,
    pub key_id: String,
    /// PKCS #8 in PEM.
    pub private_key: SecretString,
}

#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key_id: String,
    private_key: String,
}

impl ServiceAccountKey {
    /// Reads the JSON file that the console of Google Cloud gives out. Its `token_uri` is not used: an assertion goes
    /// where the options say.
    pub fn parse(json: &str) -> Result<ServiceAccountKey, String> {
        let file: KeyFile = serde_json::from_str(json).map_err(|error| {
            // The parser's own words may quote the key.
            format!(
                "it is no key of a service account, from line {} column {} on",
                error.line(),
                error.column()
            )
        })?;
        if file.kind != "service_account" {
            return Err(format!("its type must be service_account, not {:?}", file.kind));
        }
        let KeyFile { client_email: email, private_key_id: key_id, private_key, .. } = file;
        Ok(ServiceAccountKey { email, key_id, private_key: private_key.into() })
    }
}

impl fmt::Debug for ServiceAccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccountKey")
            .field("email", &self.email)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl GoogleOptions {
    /// Google Cloud itself, without credentials.
    pub fn new() -> GoogleOptions {
        GoogleOptions {
            compute: "https://compute.googleapis.com/compute/v1".to_owned(),
            token: "https://oauth2.googleapis.com/token".to_owned(),
            iam_credentials: "https://iamcredentials.googleapis.com/v1".to_owned(),
            resource_manager: "https://cloudresourcemanager.googleapis.com/v3".to_owned(),
            credentials: None,
            impersonate: None,
            image_projects: PUBLIC_IMAGE_PROJECTS.map(str::to_owned).into(),
            poll: Duration::from_secs(3),
            settle: Some(Duration::from_secs(60)),
            timeout: Duration::from_secs(20),
        }
    }

    /// The Google Cloud of a sandbox, with the key that it gives out. Images of the Image Builder are in its own project.
    pub fn beside(sandbox: &str) -> GoogleOptions {
        let sandbox = sandbox.trim_end_matches('/');
        let mut options = GoogleOptions::new();
        options.image_projects.push("sandbox-images".to_owned());
        GoogleOptions {
            compute: format!("{sandbox}/gcp/compute/v1"),
            token: format!("{sandbox}/gcp/token"),
            iam_credentials: format!("{sandbox}/gcp/iamcredentials/v1"),
            resource_manager: format!("{sandbox}/gcp/cloudresourcemanager/v3"),
            credentials: Some(KeySource::Sandbox {
                email: SANDBOX_EMAIL.to_owned(),
                url: format!("{sandbox}/gcp/key"),
            }),
            poll: Duration::from_millis(100),
            settle: None,
            ..options
        }
    }
}

impl Default for GoogleOptions {
    fn default() -> GoogleOptions {
        GoogleOptions::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_read_and_never_shown() {
        let json = r#"{"type": "service_account", "project_id": "p", "private_key_id": "k1",
            "private_key": "hush", "client_email": "us@p.iam.gserviceaccount.com", "token_uri": "http://elsewhere"}"#;
        let key = ServiceAccountKey::parse(json).unwrap();
        assert_eq!((key.email.as_str(), key.key_id.as_str()), ("us@p.iam.gserviceaccount.com", "k1"));
        assert!(!format!("{key:?}").contains("hush"));
        let other = json.replace("service_account", "authorized_user");
        assert!(ServiceAccountKey::parse(&other).unwrap_err().contains("authorized_user"));
        let broken = ServiceAccountKey::parse(r#"{"private_key": "hush""#).unwrap_err();
        assert!(broken.contains("line 1") && !broken.contains("hush"), "{broken}");
    }
}
