//! Images, and who may use them.
//!
//! Images that the Image Builder made need no registration: in its own project every name that it would give is an
//! image that is shared, until a client says otherwise.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::call_error::GceError;
use super::catalog::LINK;

/// The project in which images are built, and how their names begin.
const BUILT: (&str, &str) = ("sandbox-images", "composer-api-");
const PUBLIC: (&str, &str, &str) = ("rhel-cloud", "rhel-9-v20260101", "rhel-9");
const IMAGES_MAX: usize = 10_000;
const USE: &str = "compute.images.useReadOnly";

/// What a client sends to `POST /gcp/images`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceImage {
    project: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family: Option<String>,
    #[serde(default = "ready")]
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
    /// No service account where the list is empty, and all of them where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_with: Option<Vec<String>>,
    /// It was built so long ago that it has been deleted.
    #[serde(default)]
    expired: bool,
}

fn ready() -> String {
    "READY".to_owned()
}

impl GceImage {
    fn plain(project: &str, name: &str) -> Self {
        GceImage {
            project: project.to_owned(),
            name: name.to_owned(),
            family: None,
            status: ready(),
            architecture: None,
            shared_with: None,
            expired: false,
        }
    }

    fn path(&self) -> String {
        format!("projects/{}/global/images/{}", self.project, self.name)
    }

    fn is_shared_with(&self, email: &str) -> bool {
        self.shared_with.as_ref().is_none_or(|all| all.iter().any(|one| one == email))
    }

    pub(super) fn show(&self) -> Value {
        let mut shown = json!({
            "kind": "compute#image",
            "id": "5006034190819017667",
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
            "name": self.name,
            "status": self.status,
            "sourceType": "RAW",
            "diskSizeGb": "20",
            "archiveSizeBytes": "1073741824",
            "selfLink": format!("{LINK}/{}", self.path()),
        });
        if let Some(architecture) = &self.architecture {
            shown["architecture"] = architecture.as_str().into();
        }
        if let Some(family) = &self.family {
            shown["family"] = family.as_str().into();
        }
        shown
    }

    /// Those of the asked ones that a service account has.
    pub(super) fn granted(&self, email: &str, asked: &Value) -> Value {
        let asks = asked["permissions"].as_array().is_some_and(|asked| asked.iter().any(|one| one == USE));
        if asks && self.is_shared_with(email) { json!({"permissions": [USE]}) } else { json!({}) }
    }
}

#[derive(Debug, Default)]
pub(super) struct GceImages(Vec<GceImage>);

impl GceImages {
    pub(super) fn add(&mut self, image: GceImage) -> Result<(), String> {
        self.0.retain(|other| other.path() != image.path());
        if self.0.len() >= IMAGES_MAX {
            return Err(format!("there can be at most {IMAGES_MAX} images"));
        }
        self.0.push(image);
        Ok(())
    }

    pub(super) fn all(&self) -> &[GceImage] {
        &self.0
    }

    /// `name` may be `family/<family>`.
    pub(super) fn find(&self, project: &str, name: &str) -> Result<GceImage, GceError> {
        let is_it = |image: &&GceImage| {
            let is_of_family =
                name.strip_prefix("family/").is_some_and(|one| image.family.as_deref() == Some(one));
            image.project == project && (image.name == name || is_of_family)
        };
        let found = self.0.iter().find(is_it).cloned().or_else(|| known(project, name));
        let found = found.filter(|image| !image.expired);
        found.ok_or_else(|| GceError::not_found(&format!("projects/{project}/global/images/{name}")))
    }

    /// One that a service account may see, or start instances from.
    pub(super) fn usable(&self, project: &str, name: &str, email: &str) -> Result<GceImage, GceError> {
        let image = self.find(project, name)?;
        if image.is_shared_with(email) { Ok(image) } else { Err(GceError::forbidden(USE, &image.path())) }
    }
}

fn known(project: &str, name: &str) -> Option<GceImage> {
    let (public, public_name, family) = PUBLIC;
    if project == public && (name == public_name || name.strip_prefix("family/") == Some(family)) {
        let architecture = Some("X86_64".to_owned());
        return Some(GceImage {
            architecture,
            family: Some(family.to_owned()),
            ..GceImage::plain(public, public_name)
        });
    }
    let (built, prefix) = BUILT;
    (project == built && name.starts_with(prefix)).then(|| GceImage::plain(project, name))
}
