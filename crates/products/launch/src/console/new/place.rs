//! The second page: which account, which region, which instances and how many.

use crate::api::wire::{Source, SourceList, Template as Named, TemplateList};
use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::LAUNCH;
use super::draft::Draft;
use super::go::current;
use super::types::Types;
use super::wizard::Wizard;
use console::{ApiClient, ConsoleState, CsrfToken, Fields, PageError, SignedIn, html, path};

pub(crate) const REGIONS: &[&str] = &[
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
    "ca-central-1",
    "ca-west-1",
    "sa-east-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "af-south-1",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "ap-east-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
];

/// What the page offers.
pub(crate) struct RegionChoices {
    pub(crate) sources: Vec<Source>,
    pub(crate) types: Types,
    pub(crate) templates: Templates,
    pub(crate) search: String,
    /// Where a search without a script is sent.
    pub(crate) again: String,
}

#[derive(Template)]
#[template(path = "new/where.html")]
pub(crate) struct RegionPage {
    csrf: CsrfToken,
    wizard: Wizard,
    place: RegionChoices,
}

/// The launch templates of an account.
#[derive(Default, Template)]
#[template(path = "new/templates.html")]
pub(crate) struct Templates {
    rows: Vec<Named>,
    chosen: String,
    /// Why they are not known.
    problem: Option<String>,
}

impl HtmlSafe for Templates {}

impl RegionPage {
    pub(crate) async fn draw(
        csrf: CsrfToken,
        mut wizard: Wizard,
        api: &ApiClient,
    ) -> Result<RegionPage, PageError> {
        let place = RegionChoices::find(&mut wizard, api).await?;
        Ok(RegionPage { csrf, wizard, place })
    }
}

impl RegionChoices {
    pub(crate) async fn find(wizard: &mut Wizard, api: &ApiClient) -> Result<RegionChoices, PageError> {
        let search = wizard.typed.text("type_search").to_owned();
        let sources: SourceList = api.get(&format!("{LAUNCH}/sources?provider=aws")).await?;
        let sources = sources.data;
        if let [only] = sources.as_slice() {
            wizard.draft.set("source_id", &only.id);
        }
        let said = wizard.said("instance_type");
        let types = Types::find(api, &wizard.draft, &search).await.with_field_errors(said);
        let templates = Templates::find(api, &wizard.draft).await;
        Ok(RegionChoices { sources, types, templates, search, again: "/console/launch/where".to_owned() })
    }

    /// A user looked already, and it did not let us in.
    pub(crate) fn warning(&self, draft: &Draft) -> Option<String> {
        let chosen = self.sources.iter().find(|source| source.id == draft.get("source_id"))?;
        let is_fine = ["", "available"].contains(&chosen.status.as_str());
        (!is_fine)
            .then(|| format!("{} is {}. You can go on, and it may be refused.", chosen.name, chosen.status))
    }
}

/// `POST /console/launch/templates`
pub(super) async fn templates(
    State(_): State<ConsoleState>,
    signed_in: SignedIn,
    fields: Fields,
) -> Response {
    match current(&signed_in, &fields).await {
        Ok(draft) => html(StatusCode::OK, &Templates::find(&signed_in.api, &draft).await),
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Templates {
    async fn find(api: &ApiClient, draft: &Draft) -> Templates {
        let chosen = draft.get("launch_template_id").to_owned();
        let Some(source) = draft.given("source_id") else {
            return Templates { chosen, ..Templates::default() };
        };
        let query = path::query([("region", draft.get("region")), ("limit", "200")]);
        let path = format!("{LAUNCH}/sources/{}/launch_templates{query}", path::part(source));
        match api.get::<TemplateList>(&path).await {
            Ok(found) => {
                let mut rows = found.data;
                if !chosen.is_empty() && !rows.iter().any(|one| one.id == chosen) {
                    rows.push(Named { id: chosen.clone(), name: "not in this region".to_owned() });
                }
                Templates { rows, chosen, problem: None }
            }
            Err(page_error) => Templates { chosen, problem: Some(page_error.line()), ..Templates::default() },
        }
    }
}
