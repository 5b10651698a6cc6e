//! `GET /console/launch`: a new draft, or one with the values of something that is there.

use crate::api::types::{Launch, LaunchImage, LaunchProfile};
use crate::model::profile::{ImageSource, Surface};
use axum::extract::Query;
use axum::response::Response;
use cloud::ProviderKind;
use serde::{Deserialize, Serialize};

use super::super::{LAUNCH, may_launch};
use super::draft::Draft;
use super::go::{kept, sent};
use super::step::WizardStep;
use super::wizard::step_path;
use super::{image, preset};
use console::{ApiClient, Flash, PageError, SignedIn, path, see_other};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StartQuery {
    /// An image of the Image Builder.
    compose: Option<String>,
    /// `build` for an image that is not there yet.
    image: Option<String>,
    /// A launch, to do the same again.
    from: Option<String>,
}

pub(super) async fn begin(signed_in: SignedIn, Query(asked): Query<StartQuery>) -> Response {
    if let Err(page_error) = may(&signed_in) {
        return page_error.page(&signed_in);
    }
    let begun = async {
        let NewDraft { mut draft, step, note } = start(&signed_in, asked).await?;
        preset::fill(&mut draft, &signed_in).await;
        signed_in.save_draft(draft.id(), &draft.pairs()).await?;
        Ok::<_, PageError>((step_path(step, &draft), note))
    };
    match begun.await {
        Ok((at, Some(note))) => Flash::good(note).at(&at),
        Ok((at, None)) => see_other(&at),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) fn may(signed_in: &SignedIn) -> Result<(), PageError> {
    if may_launch(signed_in) {
        return Ok(());
    }
    let detail = "Your role is read-only: you can see launches, but not start one.";
    Err(PageError::new(axum::http::StatusCode::FORBIDDEN, "You don't have permission", detail)
        .hint("An administrator can give you the role launcher."))
}

struct NewDraft {
    draft: Draft,
    step: WizardStep,
    note: Option<String>,
}

async fn start(signed_in: &SignedIn, asked: StartQuery) -> Result<NewDraft, PageError> {
    let mut draft = Draft::new();
    let api = &signed_in.api;
    if let Some(id) = asked.from {
        let launch: Launch = api.get(&format!("{LAUNCH}/launches/{}", path::part(&id))).await?;
        // What is sealed in the launch is still in the draft, if it was sent in this session.
        if let Some(mut draft) = kept(signed_in, &sent(&launch.id)).await? {
            draft.renew();
            return Ok(NewDraft { draft, step: WizardStep::Image, note: None });
        }
        let note = again(&mut draft, &launch);
        return Ok(NewDraft { draft, step: WizardStep::Image, note });
    }
    if let Some(id) = asked.compose {
        if let Some(cloud) = image::cloud_of_id(api, &id).await {
            draft.choose_cloud(cloud);
        }
        draft.set("image", "ready");
        draft.set("compose_id", &id);
        learn(&mut draft, api).await;
        return Ok(NewDraft { draft, step: WizardStep::Where, note: None });
    }
    if asked.image.as_deref() == Some("build") {
        draft.set("image", "build");
    }
    Ok(NewDraft { draft, step: WizardStep::Image, note: None })
}

/// What an image that was chosen is made for.
pub(super) async fn learn(draft: &mut Draft, api: &ApiClient) {
    if !draft.is("image", "ready") {
        return;
    }
    let images = image::fitting(api, draft.provider()).await.unwrap_or_default();
    let found = images.into_iter().find(|image| image.id.to_string() == draft.get("compose_id"));
    draft.set("architecture", found.and_then(|image| image.architecture).as_deref().unwrap_or_default());
}

/// The values of a launch. What is sealed cannot be shown, and the note says so.
fn again(draft: &mut Draft, launch: &Launch) -> Option<String> {
    let built = launch.build.as_ref().filter(|build| build.status == "success");
    let mut note = None;
    if let Ok(cloud) = launch.provider.parse() {
        draft.choose_cloud(cloud);
    }
    match (&launch.image, built) {
        (LaunchImage::None, _) => {}
        (LaunchImage::Cloud { id }, _) => {
            draft.set("image", "cloud");
            draft.set("image_id", id);
        }
        (LaunchImage::Compose { id }, _) => {
            draft.set("image", "ready");
            draft.set("compose_id", &id.to_string());
        }
        // What it was asked for is there: there is no need to build it twice.
        (LaunchImage::Build { .. }, Some(build)) => {
            draft.set("image", "ready");
            draft.set("compose_id", &build.compose.to_string());
        }
        (LaunchImage::Build { distribution, image_name, architecture, .. }, None) => {
            draft.set("image", "build");
            draft.set("distribution", distribution.as_deref().unwrap_or_default());
            draft.set("image_name", image_name.as_deref().unwrap_or_default());
            draft.set("architecture", if architecture == "arm64" { "aarch64" } else { architecture });
            note = Some(
                "Packages and users of an image are sealed. If there were some, say them again.".to_owned(),
            );
        }
    }
    for name in ["source_id", "region", "instance_type", "launch_template_id", "amount", "name"] {
        if let Some(value) = launch.parameter(name) {
            draft.set(name, &value);
        }
    }
    if let Some(given) = &launch.parameters {
        for name in ProviderKind::parameter_names() {
            draft.set(name, &given.values(name).join(" "));
        }
        if let Some(key) = &given.key {
            draft.set("key", "kept");
            draft.set("pubkey_id", &key.pubkey_id.to_string());
        }
    }
    draft.set("detach", &word(&launch.profile.detach));
    draft.set("partial", &word(&launch.profile.partial));
    draft.set("profile", profile(&launch.profile));
    note
}

/// A choice as the API writes it.
fn word(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

/// The name of the profile that a launch was made with, as far as it can be told.
fn profile(of: &LaunchProfile) -> &'static str {
    match of.image_source {
        ImageSource::Callback => "images",
        ImageSource::Event => "events",
        ImageSource::Poll if of.surface.contains(&Surface::Inventory) => "inventory",
        ImageSource::Poll => "wizard",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const COMPOSE: &str = "01a1e3e8-1cb7-727d-8e65-c6824062041e";

    fn launch(image: &Value, build: &Value) -> Launch {
        serde_json::from_value(json!({
            "id": "01a1e3e8-1cb7-727d-8e65-c6824062041d", "reservation_id": 1, "operation_id": null,
            "provider": "aws", "state": "failed", "is_over": true, "created_at": "2026-01-01T00:00:00Z",
            "finished_at": null, "image": image, "build": build, "steps": [], "instances": [], "warnings": [],
            "leftovers": [], "error": null,
            "profile": {"image_source": "event", "surface": ["inventory"], "detach": "cancel", "partial": "keep",
                "image_deadline_s": 1, "parameters_ttl_s": 1, "on_launch_failure": "keep_image",
                "after_pivot": "forward"},
            "parameters": {"source_id": "s", "region": "eu-west-1", "instance_type": "t3.small", "amount": 3,
                "name": "web", "key": {"pubkey_id": 7, "name": "k"}, "security_groups": ["sg-1", "sg-2"]},
        }))
        .unwrap()
    }

    #[test]
    fn the_values_of_a_launch_fill_the_draft() {
        let mut draft = Draft::new();
        assert_eq!(again(&mut draft, &launch(&json!({"kind": "cloud", "id": "ami-1"}), &Value::Null)), None);
        for (name, value) in [
            ("image", "cloud"),
            ("image_id", "ami-1"),
            ("region", "eu-west-1"),
            ("amount", "3"),
            ("key", "kept"),
            ("pubkey_id", "7"),
            ("profile", "events"),
            ("detach", "cancel"),
            ("partial", "keep"),
            ("security_groups", "sg-1 sg-2"),
        ] {
            assert_eq!(draft.get(name), value, "{name}");
        }
    }

    #[test]
    fn an_image_that_was_built_is_not_built_again() {
        let asked =
            json!({"kind": "build", "distribution": "rhel-9", "architecture": "arm64", "image_type": "aws"});
        let mut draft = Draft::new();
        let note = again(&mut draft, &launch(&asked, &json!({"compose": COMPOSE, "status": "failure"})));
        assert!(note.is_some() && draft.is("architecture", "aarch64") && draft.builds());
        let note = again(&mut draft, &launch(&asked, &json!({"compose": COMPOSE, "status": "success"})));
        assert!(note.is_none() && draft.is("image", "ready") && draft.is("compose_id", COMPOSE));
    }
}
