//! Which image: one that is there, or one that is built first.

use std::fmt;

use crate::api::types::NewImage;
use crate::model::cloud::ProviderKind;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::client::LaunchClient;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "The image")]
pub(super) struct ImageArgs {
    /// An image of the cloud, such as ami-0123456789abcdef0
    #[arg(long, value_name = "ID", conflicts_with_all = ["compose", "build", "distribution"])]
    image: Option<String>,
    /// An image of the Image Builder, which may still be building
    #[arg(long, value_name = "UUID", conflicts_with_all = ["build", "distribution"])]
    compose: Option<Uuid>,
    /// Build it: a file with a request to the Image Builder in JSON or YAML, - for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "distribution")]
    build: Option<String>,
    /// Build it: the distribution, such as rhel-9
    #[arg(long, value_name = "NAME")]
    distribution: Option<String>,
    /// With --distribution: the architecture [default: `x86_64`]
    #[arg(long, value_enum, value_name = "ARCH", requires = "distribution")]
    arch: Option<Arch>,
    /// With --distribution: a package to install; may be repeated
    #[arg(long = "package", value_name = "NAME", requires = "distribution")]
    packages: Vec<String>,
    /// With --distribution: what to call the image
    #[arg(long, value_name = "NAME", requires = "distribution")]
    image_name: Option<String>,
    /// With --distribution: an account that may start the image [default: what --source needs]
    #[arg(long = "share-with", value_name = "ACCOUNT", requires = "distribution")]
    share_with: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Arch {
    #[default]
    #[value(name = "x86_64")]
    X86,
    #[value(name = "aarch64", alias = "arm64")]
    Arm,
}

impl Arch {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Arch::X86 => "x86_64",
            Arch::Arm => "aarch64",
        }
    }
}

/// An image as far as it has been said.
#[derive(Clone, PartialEq)]
pub(super) enum ImageDraft {
    /// As it is sent.
    Ready(NewImage),
    Build(BuildDraft),
}

/// A request may hold passwords and activation keys.
impl fmt::Debug for ImageDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words())
    }
}

/// A request to the Image Builder that is not written yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BuildDraft {
    pub(super) distribution: String,
    pub(super) arch: Arch,
    pub(super) packages: Vec<String>,
    pub(super) image_name: Option<String>,
    pub(super) share_with: Vec<String>,
}

impl ImageArgs {
    pub(super) fn read(&self) -> Result<Option<ImageDraft>> {
        if let Some(id) = &self.image {
            return Ok(Some(ImageDraft::of_cloud(id)));
        }
        if let Some(id) = self.compose {
            return Ok(Some(ImageDraft::composed(id)));
        }
        if let Some(path) = &self.build {
            let build = Some(app::given::object("--build", path)?.into());
            return Ok(Some(ImageDraft::Ready(NewImage { build, ..NewImage::default() })));
        }
        Ok(self.distribution.as_ref().map(|distribution| {
            ImageDraft::Build(BuildDraft {
                distribution: distribution.clone(),
                arch: self.arch.unwrap_or_default(),
                packages: self.packages.clone(),
                image_name: self.image_name.clone(),
                share_with: self.share_with.clone(),
            })
        }))
    }
}

impl ImageDraft {
    pub(super) fn of_cloud(id: &str) -> ImageDraft {
        ImageDraft::Ready(NewImage { id: Some(id.to_owned()), ..NewImage::default() })
    }

    pub(super) fn composed(id: Uuid) -> ImageDraft {
        ImageDraft::Ready(NewImage { compose_id: Some(id.to_string()), ..NewImage::default() })
    }

    /// As it is sent. An image that is built goes where the account that launches it can start it: it is shared with it,
    /// or put into a resource group, the named one or the first of the account.
    pub(super) async fn finish(
        &self,
        client: &LaunchClient,
        provider: &str,
        source: Option<&str>,
        group: Option<&str>,
    ) -> Result<NewImage> {
        let build = match self {
            ImageDraft::Ready(image) => return Ok(image.clone()),
            ImageDraft::Build(build) => build,
        };
        let kind: ProviderKind = provider.parse().map_err(anyhow::Error::msg)?;
        let spec = &kind.spec().build;
        let Some(image_type) = spec.image_types.first() else {
            bail!("no image can be built for {provider}: name one with --image ID");
        };
        let options = match source {
            _ if !build.share_with.is_empty() && spec.upload_options.is_empty() => {
                Map::from_iter([("share_with_accounts".to_owned(), build.share_with.clone().into())])
            }
            None => bail!("who may start the image? Give --source ID or --share-with ACCOUNT"),
            Some(source) => {
                let mut options = client.upload_info(source, None).await?.upload_options;
                let group = group.filter(|_| spec.upload_options.contains(&"resource_group"));
                options.extend(group.map(|group| ("resource_group".to_owned(), group.into())));
                if let Some(missing) = spec.upload_options.iter().find(|name| !options.contains_key(**name)) {
                    bail!("source {source} names no {missing} for the image: make one, or give --build FILE");
                }
                options
            }
        };
        let build = serde_json::to_value(build.request(image_type, provider, &options));
        let build = build.context("cannot write the request")?;
        Ok(NewImage { build: Some(build), ..NewImage::default() })
    }

    /// In a few words.
    pub(super) fn in_words(&self) -> String {
        match self {
            ImageDraft::Build(build) => {
                format!("{} for {}, built first", build.distribution, build.arch.as_str())
            }
            ImageDraft::Ready(image) => {
                let named = image.id.as_ref().or(image.compose_id.as_ref());
                named.cloned().unwrap_or_else(|| "built first".to_owned())
            }
        }
    }

    /// Whether it takes a while until it is there, so that the parameters may come later.
    pub(super) fn may_be_awaited(&self) -> bool {
        match self {
            ImageDraft::Build(_) => true,
            ImageDraft::Ready(image) => image.compose_id.is_some() || image.build.is_some(),
        }
    }
}

impl BuildDraft {
    fn request<'a>(
        &'a self,
        image_type: &'a str,
        kind: &'a str,
        options: &'a Map<String, Value>,
    ) -> ComposeRequest<'a> {
        ComposeRequest {
            distribution: &self.distribution,
            image_name: self.image_name.as_deref(),
            image_requests: [ImageRequest {
                architecture: self.arch.as_str(),
                image_type,
                upload_request: UploadRequest { kind, options },
            }],
            customizations: Some(Customizations { packages: &self.packages })
                .filter(|_| !self.packages.is_empty()),
        }
    }
}

/// A request to the Image Builder, in its words.
#[derive(Serialize)]
struct ComposeRequest<'a> {
    distribution: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_name: Option<&'a str>,
    image_requests: [ImageRequest<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    customizations: Option<Customizations<'a>>,
}

#[derive(Serialize)]
struct ImageRequest<'a> {
    architecture: &'a str,
    image_type: &'a str,
    upload_request: UploadRequest<'a>,
}

#[derive(Serialize)]
struct UploadRequest<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    options: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Customizations<'a> {
    packages: &'a [String],
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_has_what_was_named_and_nothing_else() {
        let build = BuildDraft { distribution: "rhel-9".into(), ..BuildDraft::default() };
        let shared = Map::from_iter([("share_with_accounts".to_owned(), json!(["1"]))]);
        let bare = serde_json::to_value(build.request("aws", "aws", &shared)).unwrap();
        let expected = json!({"distribution": "rhel-9", "image_requests": [{
            "architecture": "x86_64", "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": ["1"]}},
        }]});
        assert_eq!(bare, expected);
        let build = BuildDraft {
            arch: Arch::Arm,
            packages: vec!["vim".into()],
            image_name: Some("web".into()),
            ..build
        };
        let full = serde_json::to_value(build.request("gcp", "gcp", &Map::new())).unwrap();
        assert_eq!(full["image_requests"][0]["architecture"], "aarch64");
        assert_eq!(
            full["image_requests"][0]["upload_request"],
            json!({"type": "gcp", "options": {}}),
            "no account to share it with"
        );
        assert_eq!(
            (&full["image_name"], &full["customizations"]["packages"][0]),
            (&json!("web"), &json!("vim"))
        );
    }

    #[test]
    fn only_an_image_that_is_not_there_yet_is_waited_for() {
        let built = NewImage { build: Some(json!({})), ..NewImage::default() };
        for (image, expected) in [
            (ImageDraft::of_cloud("ami-1"), false),
            (ImageDraft::composed(Uuid::nil()), true),
            (ImageDraft::Ready(built), true),
            (ImageDraft::Build(BuildDraft::default()), true),
        ] {
            assert_eq!(image.may_be_awaited(), expected, "{image:?}");
        }
    }
}
