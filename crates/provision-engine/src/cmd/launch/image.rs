//! Which image: one that is there, or one that is built first.

use std::fmt;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use uuid::Uuid;

use super::file;
use crate::launching::LaunchClient;

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
    /// With --distribution: an account in AWS that may start the image [default: the one of --source]
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
    Ready(Value),
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
        let ready = |image: Value| Ok(Some(ImageDraft::Ready(image)));
        if let Some(id) = &self.image {
            return ready(json!({"id": id}));
        }
        if let Some(id) = self.compose {
            return ready(json!({"compose_id": id}));
        }
        if let Some(path) = &self.build {
            return ready(json!({"build": file::object("--build", path)?}));
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
    /// As it is sent. An image that is built is shared with the account that launches it.
    pub(super) async fn finish(
        &self,
        client: &LaunchClient,
        provider: &str,
        source: Option<&str>,
    ) -> Result<Value> {
        let build = match self {
            ImageDraft::Ready(image) => return Ok(image.clone()),
            ImageDraft::Build(build) => build,
        };
        if provider != "aws" {
            bail!("--distribution makes images for aws alone: give the whole request with --build FILE");
        }
        let accounts =
            match source {
                _ if !build.share_with.is_empty() => build.share_with.clone(),
                None => bail!("who may start the image? Give --source ID or --share-with ACCOUNT"),
                Some(source) => {
                    let info = client.upload_info(source).await?;
                    let account = info.aws.map(|aws| aws.account_id).filter(|id| !id.is_empty());
                    vec![account.with_context(|| {
                        format!("source {source} has no account: give --share-with ACCOUNT")
                    })?]
                }
            };
        Ok(json!({"build": build.request(&accounts)}))
    }

    /// In a few words.
    pub(super) fn in_words(&self) -> String {
        match self {
            ImageDraft::Build(build) => {
                format!("{} for {}, built first", build.distribution, build.arch.as_str())
            }
            ImageDraft::Ready(image) => {
                let named = |key: &str| image.get(key).and_then(Value::as_str).map(str::to_owned);
                named("id").or_else(|| named("compose_id")).unwrap_or_else(|| "built first".to_owned())
            }
        }
    }

    /// Whether it takes a while until it is there, so that the parameters may come later.
    pub(super) fn may_be_awaited(&self) -> bool {
        match self {
            ImageDraft::Build(_) => true,
            ImageDraft::Ready(image) => image.get("compose_id").is_some() || image.get("build").is_some(),
        }
    }
}

impl BuildDraft {
    fn request(&self, accounts: &[String]) -> Value {
        let mut request = json!({
            "distribution": self.distribution,
            "image_requests": [{
                "architecture": self.arch.as_str(),
                "image_type": "aws",
                "upload_request": {"type": "aws", "options": {"share_with_accounts": accounts}},
            }],
        });
        if let Some(name) = &self.image_name {
            request["image_name"] = name.as_str().into();
        }
        if !self.packages.is_empty() {
            request["customizations"] = json!({"packages": self.packages});
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_what_was_named_and_nothing_else() {
        let build = BuildDraft { distribution: "rhel-9".into(), ..BuildDraft::default() };
        let bare = build.request(&["1".into()]);
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
        let full = build.request(&[]);
        assert_eq!(full["image_requests"][0]["architecture"], "aarch64");
        assert_eq!(
            (&full["image_name"], &full["customizations"]["packages"][0]),
            (&json!("web"), &json!("vim"))
        );
    }

    #[test]
    fn only_an_image_that_is_not_there_yet_is_waited_for() {
        for (image, expected) in [
            (ImageDraft::Ready(json!({"id": "ami-1"})), false),
            (ImageDraft::Ready(json!({"compose_id": "u"})), true),
            (ImageDraft::Ready(json!({"build": {}})), true),
            (ImageDraft::Build(BuildDraft::default()), true),
        ] {
            assert_eq!(image.may_be_awaited(), expected, "{image:?}");
        }
    }
}
