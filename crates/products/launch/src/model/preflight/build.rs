//! What can be told about a request to the Image Builder before it is sent. The Image Builder checks everything
//! again, and more; a build takes long, so that what is surely wrong is refused here.

use cloud::{Architecture, ProviderKind};
use serde_json::{Map, Value};

use crate::model::api_error::Flaw;

/// What a launch needs to know of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFacts {
    pub distribution: Option<String>,
    pub image_name: Option<String>,
    pub architecture: Architecture,
    pub image_type: String,
    pub share_with_accounts: Vec<String>,
    pub share_with_sources: Vec<String>,
}

/// Long lists of packages and files fit.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
const IMAGE_NAME_CHARS_MAX: usize = 100;
const IMAGE_DESCRIPTION_CHARS_MAX: usize = 250;
const DISTRIBUTION_CHARS_MAX: usize = 64;
const REFERENCE_CHARS_MAX: usize = 512;
/// The most accounts that one image is shared with.
const SHARES_MAX: usize = 100;
const SOURCE_ID_CHARS_MAX: usize = 64;
const GIB: u64 = 1024 * 1024 * 1024;

/// Reads a request, or tells everything that is wrong with it.
pub fn read(provider: ProviderKind, request: &Value) -> Result<BuildFacts, Vec<Flaw>> {
    let Some(members) = request.as_object() else {
        return Err(vec![Flaw::new("build", "must be an object: a request to the Image Builder")]);
    };
    if request.to_string().len() > REQUEST_BYTES_MAX {
        let message = format!("must have at most {REQUEST_BYTES_MAX} bytes");
        return Err(vec![Flaw::new("build", message).hint("move large files into a repository or an image")]);
    }
    let mut reader = BuildReader { provider, field_errors: Vec::new() };
    match reader.request(members) {
        Some(facts) if reader.field_errors.is_empty() => Ok(facts),
        _ => Err(reader.field_errors),
    }
}

struct BuildReader {
    provider: ProviderKind,
    field_errors: Vec<Flaw>,
}

impl BuildReader {
    fn field_error(&mut self, path: &str, message: impl Into<String>) {
        self.field_errors.push(Flaw::new(format!("build.{path}"), message));
    }

    fn request(&mut self, request: &Map<String, Value>) -> Option<BuildFacts> {
        let distribution = self.text(request, "distribution", "distribution", DISTRIBUTION_CHARS_MAX);
        self.system(request, distribution.as_deref());
        let image_name = self.text(request, "image_name", "image_name", IMAGE_NAME_CHARS_MAX);
        self.text(request, "image_description", "image_description", IMAGE_DESCRIPTION_CHARS_MAX);
        if request.get("customizations").is_some_and(|value| !value.is_object() && !value.is_null()) {
            self.field_error("customizations", "must be an object");
        }
        let images = request.get("image_requests").and_then(Value::as_array);
        let Some([Value::Object(image)]) = images.map(Vec::as_slice) else {
            self.field_error("image_requests", "must have exactly one entry: the image that is launched");
            return None;
        };
        let architecture = self.architecture(image);
        let image_type = self.image_type(image);
        self.size(image);
        let (share_with_accounts, share_with_sources) = self.upload(image)?;
        Some(BuildFacts {
            distribution,
            image_name,
            architecture: architecture?,
            image_type: image_type?,
            share_with_accounts,
            share_with_sources,
        })
    }

    /// An image is made of a distribution or of a container, and of one of them only.
    fn system(&mut self, request: &Map<String, Value>, distribution: Option<&str>) {
        let bootc = request.get("bootc").filter(|value| !value.is_null());
        match (distribution, bootc) {
            (Some(_), Some(_)) => {
                self.field_error("bootc", "cannot be given beside distribution; leave one out");
            }
            (None, None) => {
                if request.get("distribution").is_none_or(Value::is_null) {
                    self.field_error(
                        "distribution",
                        "is missing; name one such as rhel-9, or give bootc.reference",
                    );
                }
            }
            (None, Some(bootc)) => {
                let reference = bootc.get("reference").and_then(Value::as_str).unwrap_or_default();
                if reference.is_empty() || reference.len() > REFERENCE_CHARS_MAX {
                    let message =
                        format!("must name a container image in at most {REFERENCE_CHARS_MAX} characters");
                    self.field_error("bootc.reference", message);
                }
            }
            (Some(_), None) => {}
        }
    }

    fn architecture(&mut self, image: &Map<String, Value>) -> Option<Architecture> {
        let architecture = match image.get("architecture").and_then(Value::as_str) {
            Some("x86_64") => Some(Architecture::X86_64),
            Some("aarch64") => Some(Architecture::Arm64),
            _ => None,
        };
        let fitting = self.provider.spec().build.architectures;
        let architecture = architecture.filter(|architecture| fitting.contains(architecture));
        if architecture.is_none() {
            let fitting: Vec<&str> = fitting.iter().map(|one| one.of_builder()).collect();
            let message = format!("must be {} to be launched at {}", fitting.join(" or "), self.provider);
            self.field_error("image_requests[0].architecture", message);
        }
        architecture
    }

    fn image_type(&mut self, image: &Map<String, Value>) -> Option<String> {
        let fitting = self.provider.spec().build.image_types;
        let asked = image.get("image_type").and_then(Value::as_str).filter(|kind| fitting.contains(kind));
        if asked.is_none() {
            let message = format!("must be {} to be launched at {}", fitting.join(" or "), self.provider);
            self.field_error("image_requests[0].image_type", message);
        }
        asked.map(str::to_owned)
    }

    fn size(&mut self, image: &Map<String, Value>) {
        let Some(size) = image.get("size").filter(|size| !size.is_null()) else { return };
        let max = self.provider.spec().build.bytes_max;
        if !size.as_u64().is_some_and(|size| size > 0 && max.is_none_or(|max| size <= max)) {
            let most = max.map(|max| format!(" of at most {} GiB", max / GIB)).unwrap_or_default();
            self.field_error("image_requests[0].size", format!("must be a number of bytes{most}"));
        }
    }

    /// Where the image goes, and who may use it.
    fn upload(&mut self, image: &Map<String, Value>) -> Option<(Vec<String>, Vec<String>)> {
        const PATH: &str = "image_requests[0].upload_request";
        let Some(upload) = image.get("upload_request").and_then(Value::as_object) else {
            self.field_error(PATH, "is missing; it says where the image goes");
            return None;
        };
        if upload.get("type").and_then(Value::as_str) != Some(self.provider.as_str()) {
            let message = format!("must be {}, where the image is launched", self.provider);
            self.field_error(&format!("{PATH}.type"), message);
        }
        let Some(options) = upload.get("options").and_then(Value::as_object) else {
            self.field_error(&format!("{PATH}.options"), "is missing; it says who may use the image");
            return None;
        };
        let before = self.field_errors.len();
        let accounts = self.texts(options, "share_with_accounts");
        let sources = self.texts(options, "share_with_sources");
        let spec = &self.provider.spec().build;
        if let Some(rule) = &spec.shared_account {
            if let Some(message) = accounts.iter().find_map(|account| rule.broken_by(account)) {
                self.field_error(&format!("{PATH}.options.share_with_accounts"), message);
            } else if accounts.is_empty() && sources.is_empty() && self.field_errors.len() == before {
                let message = "needs share_with_sources or share_with_accounts with at least one entry";
                self.field_error(&format!("{PATH}.options"), message);
            }
        }
        for key in spec.upload_options {
            if options.get(*key).and_then(Value::as_str).is_none_or(str::is_empty) {
                self.field_error(&format!("{PATH}.options.{key}"), "is missing");
            }
        }
        Some((accounts, sources))
    }

    /// An optional text.
    fn text(&mut self, of: &Map<String, Value>, key: &str, path: &str, chars_max: usize) -> Option<String> {
        match of.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if (1..=chars_max).contains(&text.chars().count()) => {
                Some(text.clone())
            }
            // An empty name or description is as good as none.
            Some(Value::String(text)) if text.is_empty() && key.starts_with("image_") => None,
            Some(_) => {
                self.field_error(path, format!("must be a text of 1 to {chars_max} characters"));
                None
            }
        }
    }

    /// An optional list of short texts.
    fn texts(&mut self, of: &Map<String, Value>, key: &str) -> Vec<String> {
        let is_short = |text: &str| (1..=SOURCE_ID_CHARS_MAX).contains(&text.chars().count());
        let list = match of.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) if list.len() <= SHARES_MAX => list.as_slice(),
            Some(_) => &[Value::Null],
        };
        let texts: Option<Vec<String>> = list
            .iter()
            .map(|value| value.as_str().filter(|text| is_short(text)).map(str::to_owned))
            .collect();
        texts.unwrap_or_else(|| {
            let path = format!("image_requests[0].upload_request.options.{key}");
            self.field_error(&path, format!("must be a list of at most {SHARES_MAX} short texts"));
            Vec::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> Value {
        json!({
            "distribution": "rhel-9",
            "image_name": "web",
            "image_requests": [{
                "architecture": "aarch64",
                "image_type": "ami",
                "size": 10 * GIB,
                "upload_request": {"type": "aws", "options": {"share_with_sources": ["7"]}},
            }],
            "customizations": {"packages": ["vim"]},
        })
    }

    #[test]
    fn a_request_tells_what_a_launch_needs_to_know() {
        let facts = read(ProviderKind::Aws, &request()).unwrap();
        assert_eq!((facts.architecture, facts.image_type.as_str()), (Architecture::Arm64, "ami"));
        assert_eq!((facts.share_with_sources, facts.share_with_accounts), (vec!["7".into()], vec![]));
        assert_eq!(
            (facts.distribution.as_deref(), facts.image_name.as_deref()),
            (Some("rhel-9"), Some("web"))
        );
    }

    /// One change to a good request, and the field that is to blame.
    #[test]
    fn every_mistake_is_told_with_its_field() {
        let image = |key: &str, value: Value| {
            let mut request = request();
            request["image_requests"][0][key] = value;
            request
        };
        let top = |key: &str, value: Value| {
            let mut request = request();
            request[key] = value;
            request
        };
        let options = |value: Value| image("upload_request", json!({"type": "aws", "options": value}));
        for (request, field) in [
            (json!("rhel-9"), "build"),
            (top("image_description", json!("x".repeat(REQUEST_BYTES_MAX))), "build"),
            (top("distribution", Value::Null), "build.distribution"),
            (top("distribution", json!(9)), "build.distribution"),
            (top("bootc", json!({"reference": "quay.io/x"})), "build.bootc"),
            (top("image_name", json!("x".repeat(101))), "build.image_name"),
            (top("image_description", json!("x".repeat(251))), "build.image_description"),
            (top("customizations", json!([])), "build.customizations"),
            (top("image_requests", json!([])), "build.image_requests"),
            (top("image_requests", json!([{}, {}])), "build.image_requests"),
            (image("architecture", json!("sparc")), "build.image_requests[0].architecture"),
            (image("image_type", json!("vhd")), "build.image_requests[0].image_type"),
            (image("size", json!(65 * GIB)), "build.image_requests[0].size"),
            (image("upload_request", Value::Null), "build.image_requests[0].upload_request"),
            (
                image("upload_request", json!({"type": "gcp", "options": {"share_with_sources": ["7"]}})),
                "build.image_requests[0].upload_request.type",
            ),
            (options(Value::Null), "build.image_requests[0].upload_request.options"),
            (options(json!({})), "build.image_requests[0].upload_request.options"),
            (
                options(json!({"share_with_accounts": ["12"]})),
                "build.image_requests[0].upload_request.options.share_with_accounts",
            ),
            (
                options(json!({"share_with_sources": "7"})),
                "build.image_requests[0].upload_request.options.share_with_sources",
            ),
        ] {
            let field_errors = read(ProviderKind::Aws, &request).unwrap_err();
            let fields: Vec<&str> =
                field_errors.iter().map(|field_error| field_error.field.as_str()).collect();
            assert_eq!(fields, [field], "{field_errors:?}");
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let request = json!({"image_requests": [{"upload_request": {"type": "aws", "options": {}}}]});
        assert_eq!(read(ProviderKind::Aws, &request).unwrap_err().len(), 4);
    }

    #[test]
    fn a_container_takes_the_place_of_a_distribution() {
        let mut request = request();
        request["distribution"] = Value::Null;
        request["bootc"] = json!({"reference": "quay.io/fedora/bootc"});
        assert_eq!(read(ProviderKind::Aws, &request).unwrap().distribution, None);
        request["bootc"] = json!({"reference": ""});
        assert_eq!(read(ProviderKind::Aws, &request).unwrap_err()[0].field, "build.bootc.reference");
    }
}
