//! The second page: which account, which region, which instances and how many.

use crate::api::wire::{Source, SourceList, Template as Named, TemplateList, UploadInfo};
use crate::model::catalog::TypeCatalog;
use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use cloud::ProviderKind;

use super::super::LAUNCH;
use super::draft::Draft;
use super::go::current;
use super::types::Types;
use super::wizard::Wizard;
use console::{ApiClient, ConsoleState, CsrfToken, Fields, PageError, SignedIn, html, path};

/// What can be named as the region of a launch, as far as this program knows them.
pub(crate) fn regions(cloud: ProviderKind) -> Vec<&'static str> {
    TypeCatalog::shipped().regions_or_zones(cloud)
}

/// What the page offers.
pub(crate) struct RegionChoices {
    pub(crate) sources: Vec<Source>,
    pub(crate) regions: Vec<&'static str>,
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
    choices: RegionChoices,
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
        let choices = RegionChoices::find(&mut wizard, api).await?;
        Ok(RegionPage { csrf, wizard, choices })
    }
}

impl RegionChoices {
    pub(crate) async fn find(wizard: &mut Wizard, api: &ApiClient) -> Result<RegionChoices, PageError> {
        let search = wizard.typed.text("type_search").to_owned();
        let cloud = wizard.draft.provider();
        let sources: SourceList = api.get(&format!("{LAUNCH}/sources?provider={cloud}")).await?;
        let sources = sources.data;
        if let [only] = sources.as_slice() {
            wizard.draft.set("source_id", &only.id);
        }
        if let Some(region) = image_region(api, &wizard.draft).await {
            wizard.draft.set("region", &region);
        }
        let said = wizard.said("instance_type");
        let types = Types::find(api, &wizard.draft, &search).await.with_field_errors(said);
        let templates = Templates::find(api, &wizard.draft).await;
        let again = "/console/launch/where".to_owned();
        Ok(RegionChoices { sources, regions: regions(cloud), types, templates, search, again })
    }

    /// A user looked already, and it did not let us in.
    pub(crate) fn warning(&self, draft: &Draft) -> Option<String> {
        let chosen = self.sources.iter().find(|source| source.id == draft.get("source_id"))?;
        let is_fine = ["", "available"].contains(&chosen.status.as_str());
        (!is_fine)
            .then(|| format!("{} is {}. You can go on, and it may be refused.", chosen.name, chosen.status))
    }
}

/// Where the image is, or will be, if only the cloud knows that and no other region was named. A cloud that does not
/// answer is asked again when the launch is sent.
async fn image_region(api: &ApiClient, draft: &Draft) -> Option<String> {
    let is_open = draft.spec().region_of_image && draft.given("region").is_none();
    let source = draft.given("source_id").filter(|_| is_open && !draft.is("image", "ready"))?;
    let query = match draft.given("image_id").filter(|_| draft.is("image", "cloud")) {
        Some(image) => path::query([("image_id", image)]),
        None => String::new(),
    };
    let path = format!("{LAUNCH}/sources/{}/upload_info{query}", path::part(source));
    api.get::<UploadInfo>(&path).await.ok()?.region
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
        let has_templates = draft.spec().names.launch_template.is_some();
        let Some(source) = draft.given("source_id").filter(|_| has_templates) else {
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
