//! The first page: an image that is there, or one that is built.

use crate::api::distributions::DistributionList;
use crate::api::images::{Image, ImageList};
use askama::Template;
use cloud::ProviderKind;

use super::super::LAUNCH;
use super::draft::{DISTRIBUTION as PRESET, ImageUser};
use super::field::FormField;
use super::wizard::Wizard;
use console::{ApiClient, CsrfToken, PageError};

const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "new/image.html")]
pub(crate) struct ImagePage {
    csrf: CsrfToken,
    wizard: Wizard,
    images: Vec<Image>,
    /// Why there are none to choose from.
    missing: Option<String>,
    /// What can be built, as far as the Image Builder says so.
    distributions: Vec<String>,
    /// Those that are there, and room for one more.
    users: Vec<ImageUser>,
}

impl ImagePage {
    pub(crate) async fn draw(
        csrf: CsrfToken,
        mut wizard: Wizard,
        api: &ApiClient,
    ) -> Result<ImagePage, PageError> {
        // Without an Image Builder there is nothing to choose from, and images of the cloud are launched all the same.
        let (images, missing) = match fitting(api, wizard.draft.provider()).await {
            Ok(images) => (images, None),
            Err(page_error) => (Vec::new(), Some(page_error.line())),
        };
        if wizard.draft.get("image").is_empty() {
            wizard.draft.set("image", if images.is_empty() { "build" } else { "ready" });
        }
        let distributions = buildable(api).await;
        let is_preset = wizard.draft.is("distribution", PRESET);
        let is_offered = distributions.iter().any(|name| name == PRESET);
        if let Some(first) = distributions.first().filter(|_| is_preset && !is_offered) {
            wizard.draft.set("distribution", first);
        }
        let mut users = wizard.draft.users.clone();
        users.push(ImageUser::default());
        Ok(ImagePage { csrf, wizard, images, missing, distributions, users })
    }

    fn distribution(&self) -> FormField {
        self.wizard.field("distribution", "Distribution").list(&self.distributions).live()
    }
}

/// Without an answer any name can be typed, and the launch itself is checked.
async fn buildable(api: &ApiClient) -> Vec<String> {
    let all: Result<DistributionList, PageError> = api.get(&format!("{LAUNCH}/distributions")).await;
    all.map(|all| all.data.into_iter().map(|one| one.name).collect()).unwrap_or_default()
}

/// Images that can be launched in this cloud: those that are finished, and those that will be.
pub(crate) async fn fitting(api: &ApiClient, cloud: ProviderKind) -> Result<Vec<Image>, PageError> {
    let all = all(api).await?;
    Ok(all.into_iter().filter(|image| cloud_of(image) == Some(cloud)).collect())
}

/// The cloud in which the image of this id can be launched.
pub(crate) async fn cloud_of_id(api: &ApiClient, id: &str) -> Option<ProviderKind> {
    let all = all(api).await.ok()?;
    all.iter().find(|image| image.id.to_string() == id).and_then(cloud_of)
}

async fn all(api: &ApiClient) -> Result<Vec<Image>, PageError> {
    let all: ImageList = api.get(&format!("{LAUNCH}/images?limit={SHOWN}")).await?;
    Ok(all.data)
}

/// The cloud in which an image can be launched, unless its build failed.
pub(crate) fn cloud_of(image: &Image) -> Option<ProviderKind> {
    image.status.as_deref().filter(|status| *status != "failure")?;
    ProviderKind::of_image_type(image.image_type.as_deref()?)
}

/// What the list calls it.
pub(crate) fn title(image: &Image) -> String {
    let name = image.name.clone().filter(|name| !name.is_empty());
    // Ids of one hour begin alike.
    name.unwrap_or_else(|| format!("image …{}", &image.id.simple().to_string()[24..]))
}
