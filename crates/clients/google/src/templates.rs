//! Instance templates: those of the whole project first, then those of the region.

use cloud::{Category, CloudAccount, CloudError, LaunchTemplate, Page, Templates};
use serde::Deserialize;
use serde_json::Value;

use crate::Google;
use crate::call::{Call, ListPage, PAGE_SIZE};
use crate::error::invalid;
use crate::json::id;
use crate::paths::{Site, is_name_or_id};

/// In front of the token of a page, so that it is known which list goes on.
const OF_PROJECT: &str = "global:";
const OF_REGION: &str = "region:";

#[derive(Deserialize)]
pub(super) struct InstanceTemplate {
    #[serde(deserialize_with = "id")]
    id: String,
    name: String,
    #[serde(default)]
    properties: Value,
}

impl InstanceTemplate {
    /// The metadata of its instances, which ours would replace as a whole.
    pub(super) fn metadata(&self) -> Vec<(String, String)> {
        let items = self.properties["metadata"]["items"].as_array();
        let pair =
            |item: &Value| Some((item["key"].as_str()?.to_owned(), item["value"].as_str()?.to_owned()));
        items.into_iter().flatten().filter_map(pair).collect()
    }
}

fn lists(site: &Site) -> [(&'static str, String); 2] {
    let Site { project, .. } = site;
    [
        (OF_PROJECT, format!("projects/{project}/global/instanceTemplates")),
        (OF_REGION, format!("projects/{project}/regions/{}/instanceTemplates", site.region())),
    ]
}

pub(super) async fn templates(
    google: &Google,
    place: &CloudAccount<'_>,
    page: &Page,
) -> Result<Templates, CloudError> {
    // Our service account reads the projects of all organisations.
    google.prove(place).await?;
    let lists = lists(&Site::of(place)?);
    let token = page.token.as_deref().unwrap_or(OF_PROJECT);
    let Some((number, rest)) =
        lists.iter().enumerate().find_map(|(number, (list, _))| Some((number, token.strip_prefix(*list)?)))
    else {
        return Err(invalid("InvalidPageToken", "there is no such page"));
    };
    let (list, path) = &lists[number];
    let mut call = Call::get(path.as_str()).with("maxResults", page.limit.clamp(1, PAGE_SIZE).to_string());
    if !rest.is_empty() {
        call = call.with("pageToken", rest);
    }
    let found: ListPage<InstanceTemplate> = google.call(place, call).await?;
    let items = found.items.into_iter().map(|item| LaunchTemplate { id: item.id, name: item.name }).collect();
    let next = found.next_page_token.filter(|token| !token.is_empty()).map(|token| format!("{list}{token}"));
    Ok(Templates { items, next: next.or_else(|| lists.get(number + 1).map(|(list, _)| (*list).to_owned())) })
}

/// A template by its number or name, and its path.
pub(super) async fn find(
    google: &Google,
    place: &CloudAccount<'_>,
    wanted: &str,
) -> Result<(InstanceTemplate, String), CloudError> {
    if !is_name_or_id(wanted) {
        return Err(invalid("InvalidTemplate", format!("{wanted:?} is not the id of an instance template")));
    }
    for (_, list) in lists(&Site::of(place)?) {
        let found: Option<InstanceTemplate> =
            google.find_one(place, Call::get(format!("{list}/{wanted}"))).await?;
        if let Some(template) = found {
            let path = format!("{list}/{}", template.name);
            return Ok((template, path));
        }
    }
    let message = format!("the project has no instance template {wanted} in this region");
    Err(CloudError::new(Category::NotFound, "notFound", message))
}
