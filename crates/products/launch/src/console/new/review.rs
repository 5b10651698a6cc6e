//! The last page: everything once more, and the steps that it will take.

use crate::api::wire::{PublicKeyList, SourceList};
use askama::Template;

use super::super::LAUNCH;
use super::check;
use super::draft::Draft;
use super::how::WAYS;
use super::image;
use super::plan::{self, Planned};
use super::step::WizardStep;
use super::types::Types;
use super::wizard::Wizard;
use console::{ApiClient, CsrfToken, PageError, SignedIn};

#[derive(Template)]
#[template(path = "new/review.html")]
pub(crate) struct ReviewPage {
    csrf: CsrfToken,
    wizard: Wizard,
    groups: Vec<Group>,
    steps: Vec<Planned>,
    warnings: Vec<String>,
}

/// What was said on one page.
struct Group {
    title: &'static str,
    slug: &'static str,
    facts: Vec<(&'static str, String)>,
}

/// What is chosen so far, beside the pages before.
#[derive(Template)]
#[template(path = "new/summary.html")]
pub(crate) struct Summary {
    groups: Vec<Group>,
}

impl Summary {
    pub(crate) async fn draw(draft: &Draft, api: &ApiClient) -> Result<Summary, PageError> {
        Ok(Summary { groups: told(draft, api).await? })
    }
}

async fn told(draft: &Draft, api: &ApiClient) -> Result<Vec<Group>, PageError> {
    let sources: SourceList = api.get(&format!("{LAUNCH}/sources?provider={}", draft.provider())).await?;
    let account = sources.data.into_iter().find(|source| source.id == draft.get("source_id"));
    let account = account.map_or_else(|| draft.get("source_id").to_owned(), |source| source.name);
    let image = image_name(draft, api).await;
    Ok(groups(draft, image, account, key(draft, api).await?))
}

impl ReviewPage {
    pub(crate) async fn draw(wizard: Wizard, signed_in: &SignedIn) -> Result<ReviewPage, PageError> {
        let (draft, api) = (&wizard.draft, &signed_in.api);
        let warnings = if draft.is_later() { Vec::new() } else { Types::warnings(api, draft).await };
        let groups = told(draft, api).await?;
        let steps = plan::of(draft, signed_in.workflow("launch"));
        Ok(ReviewPage { csrf: signed_in.csrf.clone(), wizard, groups, steps, warnings })
    }
}

async fn key(draft: &Draft, api: &ApiClient) -> Result<String, PageError> {
    if draft.is("key", "new") {
        return Ok(format!("{} (new)", draft.get("pubkey_name")));
    }
    let keys: PublicKeyList = api.get(&format!("{LAUNCH}/pubkeys?limit=200")).await?;
    let found = keys.data.into_iter().find(|key| key.id.to_string() == draft.get("pubkey_id"));
    Ok(match found {
        Some(key) if draft.is("key", "kept") => format!("{} ({})", key.name, key.kind),
        _ => "none".to_owned(),
    })
}

/// What the list calls the image that was chosen there; without an answer of the Image Builder, its id.
async fn image_name(draft: &Draft, api: &ApiClient) -> String {
    let id = draft.get("compose_id");
    let images = match draft.get("image") {
        "build" | "cloud" => Vec::new(),
        _ => image::fitting(api, draft.provider()).await.unwrap_or_default(),
    };
    images.iter().find(|one| one.id.to_string() == id).map_or_else(|| id.to_owned(), image::title)
}

fn groups(draft: &Draft, image_name: String, account: String, key: String) -> Vec<Group> {
    let fact = |label: &'static str, name: &str| Some((label, draft.given(name)?.to_owned()));
    let (spec, form) = (draft.spec(), &draft.spec().form);
    let mut image = match draft.get("image") {
        "build" => vec![
            Some(("Image", "built first".to_owned())),
            fact("Distribution", "distribution"),
            fact("Architecture", "architecture"),
            fact("Name of the image", "image_name"),
            some("Packages", draft.packages().join(", ")),
            some("Users", draft.users.iter().map(|user| user.name.clone()).collect::<Vec<_>>().join(", ")),
        ],
        "cloud" => vec![fact("Image", "image_id")],
        _ => vec![some("Image", image_name), fact("Architecture", "architecture")],
    };
    image.insert(0, some("Cloud", spec.title.to_owned()));
    let mut region = vec![some("Account", account)];
    let mut keys = vec![some("Public key", key)];
    if draft.is_later() {
        region.push(some("Instances", "chosen later, on the page of the launch".to_owned()));
        keys = vec![some("Public key", "later".to_owned())];
    } else {
        region.extend([
            fact(form.region.label, "region").or_else(|| {
                let text = "where the image is".to_owned();
                spec.region_of_image.then_some((form.region.label, text))
            }),
            fact(form.instance_type.label, "instance_type"),
            fact("Launch template", "launch_template_id"),
            fact("Count", "amount"),
            fact("Name", "name"),
        ]);
        region.extend(spec.parameters.iter().map(|one| some(one.label, draft.values(one).join(", "))));
        region.extend([
            draft.given("user_data").map(|_| ("First start", "with a text of yours".to_owned())),
            draft.is("poweroff", "yes").then(|| ("After the first start", "shut down".to_owned())),
        ]);
    }
    let group = |step: WizardStep, facts: Vec<Option<(&'static str, String)>>| Group {
        title: step.title(),
        slug: step.slug(),
        facts: facts.into_iter().flatten().collect(),
    };
    vec![group(WizardStep::Image, image), group(WizardStep::Where, region), group(WizardStep::Key, keys)]
}

fn some(label: &'static str, text: String) -> Option<(&'static str, String)> {
    Some((label, text)).filter(|(_, text)| !text.is_empty())
}

/// Everything that is wrong on the pages before.
pub(crate) fn field_errors(draft: &Draft, before: WizardStep) -> Vec<console::FormError> {
    WizardStep::ALL
        .into_iter()
        .filter(|step| *step < before)
        .flat_map(|step| check::step(step, draft))
        .collect()
}
