//! `GET /v2/catalog`

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::model::catalog::{Catalog, CatalogPlan, Purpose};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::instance_path::InstancePath;
use super::{BrokerShared, BrokerState, OsbSettings};
use server::operations::get::is_known;
use server::tokens::digest;

/// The answer for the regions of platforms that see the same. Neither the catalog nor the settings change while the
/// program runs.
pub(crate) struct CatalogListing {
    text: String,
    tag: String,
}

/// All answers, each made with its first request: one has hundreds of kilobytes.
pub(crate) struct CatalogListings {
    whole: OnceLock<CatalogListing>,
    of_platforms: BTreeMap<String, OnceLock<CatalogListing>>,
}

impl CatalogListings {
    pub(crate) fn new(catalog: &Catalog) -> CatalogListings {
        let classes = catalog.platforms().map(|(class, _)| (class.to_owned(), OnceLock::new()));
        CatalogListings { whole: OnceLock::new(), of_platforms: classes.collect() }
    }

    fn get(&self, region: Option<&str>, broker: &BrokerShared) -> &CatalogListing {
        let class = region.and_then(|region| broker.catalog.platform_class(region));
        let listing = class.and_then(|class| self.of_platforms.get(&class)).unwrap_or(&self.whole);
        listing.get_or_init(|| CatalogListing::new(broker.catalog.of_platform(region), &broker.settings))
    }
}

impl CatalogListing {
    pub(crate) fn new(catalog: &Catalog, settings: &OsbSettings) -> CatalogListing {
        let text = json!({"services": [service(catalog, settings)]}).to_string();
        let tag = format!("\"{}\"", &digest(&text)[..32]);
        CatalogListing { text, tag }
    }
}

/// What is offered.
#[utoipa::path(
    get, path = "/v2/catalog", tag = "catalog", operation_id = "catalog",
    params(("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer.")),
    responses(
        (status = OK, body = Object, description = "The service and its plans.",
         headers(("etag" = String, description = "Changes whenever the catalog does."))),
        (status = NOT_MODIFIED, description = "It is as the caller knows it."),
    )
)]
pub(crate) async fn show_catalog(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    headers: HeaderMap,
) -> Response {
    let CatalogListing { text, tag } = broker.listings.get(instance_path.region.as_deref(), &broker);
    let caching = [(ETAG, tag.clone()), (CACHE_CONTROL, "private, no-cache".to_owned())];
    if is_known(&headers, tag) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (caching, kind, text.clone()).into_response()
}

/// A field, and the minor version of the specification that brought it.
type VersionedField = (u8, &'static str, Value);

fn fields(level: (u8, u8), fields: impl IntoIterator<Item = VersionedField>) -> Map<String, Value> {
    let is_wanted = |(since, _, value): &VersionedField| (2, *since) <= level && !value.is_null();
    fields.into_iter().filter(is_wanted).map(|(_, name, value)| (name.to_owned(), value)).collect()
}

fn service(catalog: &Catalog, settings: &OsbSettings) -> Value {
    let offered = &catalog.service;
    // A plan whose back end cannot make its clusters is offered to no one.
    let is_possible = |plan: &&CatalogPlan| plan.backend.has(plan.provider);
    let mut plans: Vec<&CatalogPlan> = catalog.plans.iter().filter(is_possible).collect();
    plans.sort_by_key(|plan| plan.name.as_str());
    let bindable = !settings.compat_keb && plans.iter().any(|plan| plan.bindable);
    let can_change = plans.iter().any(|plan| plan.can_change());
    let plans: Vec<Value> = plans.into_iter().map(|plan| self::plan(plan, settings)).collect();
    let shown = fields(
        settings.catalog_level,
        [
            (0, "id", json!(offered.id)),
            (0, "name", json!(offered.name)),
            (0, "description", json!(offered.description)),
            (0, "tags", json!(offered.tags)),
            (0, "bindable", json!(bindable)),
            (0, "plan_updateable", json!(can_change)),
            (0, "metadata", json!(offered.metadata)),
            (14, "instances_retrievable", json!(true)),
            (14, "bindings_retrievable", json!(true)),
            (16, "allow_context_updates", json!(true)),
            (0, "plans", json!(plans)),
        ],
    );
    Value::Object(shown)
}

fn plan(plan: &CatalogPlan, settings: &OsbSettings) -> Value {
    let maintenance = plan.maintenance.as_ref().map(|maintenance| {
        let description = maintenance.description.as_ref();
        Value::Object(fields(
            settings.catalog_level,
            [(0, "version", json!(maintenance.version)), (0, "description", json!(description))],
        ))
    });
    let shown = fields(
        settings.catalog_level,
        [
            (0, "id", json!(plan.id)),
            (0, "name", json!(plan.name)),
            (0, "description", json!(plan.description)),
            (0, "free", json!(plan.free)),
            (0, "bindable", json!(plan.bindable)),
            (0, "metadata", json!(plan.metadata)),
            (13, "schemas", schemas(plan)),
            (15, "plan_updateable", json!(plan.can_change())),
            (15, "maximum_polling_duration", json!(settings.polling_max.as_secs())),
            (15, "maintenance_info", maintenance.unwrap_or_default()),
            (17, "binding_rotatable", json!(plan.bindable)),
        ],
    );
    Value::Object(shown)
}

fn schemas(plan: &CatalogPlan) -> Value {
    let parameters = |purpose| json!({"parameters": plan.schema(purpose)});
    let mut shown = json!({
        "service_instance": {"create": parameters(Purpose::Create), "update": parameters(Purpose::Update)},
    });
    if plan.bindable {
        shown["service_binding"] = json!({"create": parameters(Purpose::Bind)});
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(settings: OsbSettings) -> Value {
        let listing = CatalogListing::new(&Catalog::built_in(), &settings);
        serde_json::from_str::<Value>(&listing.text).unwrap()["services"][0].clone()
    }

    #[test]
    fn plans_come_in_the_order_of_their_names() {
        let service = listing(OsbSettings::default());
        let names: Vec<&str> =
            service["plans"].as_array().unwrap().iter().map(|plan| plan["name"].as_str().unwrap()).collect();
        assert!(names.len() >= 8 && names.is_sorted(), "{names:?}");
    }

    #[test]
    fn fields_appear_with_the_version_that_brought_them() {
        let new = [
            ((2, 13), "/plans/0/schemas"),
            ((2, 14), "/instances_retrievable"),
            ((2, 14), "/bindings_retrievable"),
            ((2, 15), "/plans/0/maximum_polling_duration"),
            ((2, 15), "/plans/0/plan_updateable"),
            ((2, 16), "/allow_context_updates"),
            ((2, 17), "/plans/0/binding_rotatable"),
        ];
        for minor in 11..=17 {
            let shown = listing(OsbSettings { catalog_level: (2, minor), ..OsbSettings::default() });
            for (since, pointer) in new {
                let is_there = shown.pointer(pointer).is_some();
                assert_eq!(is_there, (2, minor) >= since, "{pointer} at 2.{minor}");
            }
            assert!(shown.pointer("/plans/0/bindable").is_some() && shown["id"].is_string());
        }
    }

    #[test]
    fn the_service_is_not_bindable_where_the_old_broker_said_so() {
        assert_eq!(listing(OsbSettings::default())["bindable"], true);
        let old = listing(OsbSettings { compat_keb: true, ..OsbSettings::default() });
        assert_eq!((&old["bindable"], &old["plans"][0]["bindable"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn the_same_catalog_has_the_same_tag() {
        let tag = |settings| CatalogListing::new(&Catalog::built_in(), &settings).tag;
        assert_eq!(tag(OsbSettings::default()), tag(OsbSettings::default()));
        assert_ne!(
            tag(OsbSettings::default()),
            tag(OsbSettings { catalog_level: (2, 13), ..OsbSettings::default() })
        );
    }
}
