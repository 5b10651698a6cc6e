//! What is known of an image before it is launched.

use cloud::{Architecture, ProviderKind};
use image_builder::{BuildStatus, Compose};
use serde_json::Value;

use super::build::BuildFacts;
use crate::model::api_error::Flaw;
use crate::model::params::ImageChoice;
use crate::model::state::ResolvedImage;

/// Where a request to the Image Builder says where the image goes.
const UPLOAD_OPTIONS: &str = "/image_requests/0/upload_request/options";

/// Nothing means that it is unknown yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFacts {
    pub architecture: Option<Architecture>,
    pub region: Option<String>,
    pub shares: Option<Shares>,
    /// Whom the image is shared with, where that must be us.
    pub members: Option<Vec<String>>,
    /// What an instance type must support, where types differ in that.
    pub generation: Option<String>,
    /// By which the cloud knows it, or will know it once it is built.
    pub cloud_id: Option<String>,
}

/// Who may use an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    pub accounts: Vec<String>,
    pub sources: Vec<String>,
}

impl Shares {
    /// Whether the account is surely not among them. Behind the id of another source may be the same account, so
    /// that sources alone exclude only who is not named at all.
    pub fn excludes(&self, source: &str, account: Option<&str>) -> bool {
        if self.sources.iter().any(|shared| shared == source) {
            return false;
        }
        account
            .map_or(self.accounts.is_empty(), |account| !self.accounts.iter().any(|shared| shared == account))
    }
}

/// Whether an image is shared with the accounts that start it, and not with us.
fn shares_with_accounts(provider: ProviderKind) -> bool {
    let build = &provider.spec().build;
    build.shared_account.is_some() && !build.shares_with_us
}

impl ImageFacts {
    pub fn of(provider: ProviderKind, image: &ImageChoice) -> ImageFacts {
        match image {
            ImageChoice::Build(build) => ImageFacts::of_request(provider, &build.facts()),
            ImageChoice::Cloud { id } => ImageFacts::of_cloud(id),
            ImageChoice::None | ImageChoice::Compose { .. } => ImageFacts::default(),
        }
    }

    /// Of an image of the cloud, which has not been asked.
    pub fn of_cloud(id: &str) -> ImageFacts {
        ImageFacts { cloud_id: Some(id.to_owned()), ..ImageFacts::default() }
    }

    /// The same with the id that the image will have, as its request tells it.
    #[must_use]
    pub fn built_by(self, provider: ProviderKind, request: &Value) -> ImageFacts {
        ImageFacts { cloud_id: future_id(provider, request).or(self.cloud_id), ..self }
    }

    /// Of an image that is still to be built. AWS shares images with accounts; elsewhere that is another matter.
    pub fn of_request(provider: ProviderKind, request: &BuildFacts) -> ImageFacts {
        let BuildFacts { architecture, share_with_accounts, share_with_sources, .. } = request.clone();
        let members = provider.spec().build.shares_with_us.then(|| share_with_accounts.clone());
        let shares = Shares { accounts: share_with_accounts, sources: share_with_sources };
        ImageFacts {
            architecture: Some(architecture),
            region: provider.spec().is_regional.then(|| provider.spec().home.to_owned()),
            shares: shares_with_accounts(provider).then_some(shares),
            members,
            ..ImageFacts::default()
        }
    }

    /// What the Image Builder says about an image that a client had built. It need not be ready.
    pub fn of_compose(provider: ProviderKind, compose: &Compose) -> Result<ImageFacts, Flaw> {
        if compose.status == BuildStatus::Failure {
            let why = compose.error.as_deref().unwrap_or("no reason is given");
            return Err(
                Flaw::new("image_id", format!("this image could not be built: {why}")).hint("build it again")
            );
        }
        let fitting = provider.spec().build.image_types;
        if let Some(kind) = compose.image_type.as_deref().filter(|kind| !fitting.contains(kind)) {
            let message = format!("this image is of type {kind} and cannot be launched at {provider}");
            return Err(
                Flaw::new("image_id", message).hint(format!("build one of type {}", fitting.join(" or ")))
            );
        }
        let region = compose.upload.as_ref().and_then(|upload| upload.region.clone());
        let region = region.filter(|region| !region.is_empty());
        Ok(ImageFacts {
            architecture: compose.architecture,
            region: provider
                .spec()
                .is_regional
                .then(|| region.unwrap_or_else(|| provider.spec().home.to_owned())),
            shares: shares_with_accounts(provider).then(|| shares(&compose.request)).flatten(),
            ..ImageFacts::default()
        }
        .built_by(provider, &compose.request))
    }

    /// The same once the image has a name in the cloud.
    #[must_use]
    pub fn known_as(mut self, image: &ResolvedImage) -> ImageFacts {
        self.architecture = image.architecture.or(self.architecture);
        self.region = image.region.clone().or(self.region);
        self.generation = image.generation.clone().or(self.generation);
        self.cloud_id = Some(image.id.clone());
        self
    }
}

/// Its name is known only once it is built, and where it starts does not depend on that.
fn future_id(provider: ProviderKind, request: &Value) -> Option<String> {
    let options = request.pointer(UPLOAD_OPTIONS)?;
    let text = |name: &str| options.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    (provider.spec().build.image_id)(&|name| {
        text(name).or((name == "image_name").then_some("image")).map(str::to_owned)
    })
}

fn shares(request: &Value) -> Option<Shares> {
    let options = request.pointer(UPLOAD_OPTIONS)?;
    let texts = |key: &str| -> Vec<String> {
        let list = options.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let shares = Shares { accounts: texts("share_with_accounts"), sources: texts("share_with_sources") };
    (shares != Shares::default()).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_excluded_only_when_that_is_certain() {
        let shares = |accounts: &[&str], sources: &[&str]| Shares {
            accounts: accounts.iter().map(|&text| text.to_owned()).collect(),
            sources: sources.iter().map(|&text| text.to_owned()).collect(),
        };
        let (ours, other) = ("111111111111", "222222222222");
        for (shared, account, excluded) in [
            (shares(&[], &["7"]), Some(ours), false),
            (shares(&[], &["8"]), Some(ours), true),
            (shares(&[ours], &[]), Some(ours), false),
            (shares(&[other], &[]), Some(ours), true),
            (shares(&[other], &["7"]), Some(ours), false),
            (shares(&[other], &["8"]), None, false),
            (shares(&[], &["8"]), None, true),
        ] {
            assert_eq!(shared.excludes("7", account), excluded, "{shared:?} {account:?}");
        }
    }
}
