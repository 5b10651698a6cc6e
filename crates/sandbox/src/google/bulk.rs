//! `instances.bulkInsert`: checked at once, and carried out one instance after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::call_error::GceError;
use super::catalog::{self, GceMachineType};
use super::endpoint::GceCall;
use super::instances::default_subnetwork;
use super::operations::{BulkProgress, GceOperation};
use super::templates::merge;
use super::world::{Event, GoogleState, RememberedRequest};
use crate::delays::later;

const COUNT_MAX: u64 = 1000;
const METADATA_BYTES_MAX: usize = 512 * 1024;
const VALUE_BYTES_MAX: usize = 256 * 1024;

/// What all instances of a call have in common.
#[derive(Debug)]
pub(super) struct BulkOrder {
    pub(super) machine_type: &'static GceMachineType,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) disk_labels: BTreeMap<String, String>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) auto_delete: bool,
    pub(super) has_nat: bool,
    pub(super) network: Value,
    pub(super) source_image: String,
    /// The machine type is a link: that ends in an internal error.
    pub(super) is_broken: bool,
}

fn field(name: &str, why: &str) -> GceError {
    GceError::invalid(format!("Invalid value for field 'resource.{name}': {why}"))
}

fn count(body: &Value, name: &str) -> Result<Option<u64>, GceError> {
    let number = match &body[name] {
        Value::Null => return Ok(None),
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    number
        .filter(|number| (1..=COUNT_MAX).contains(number))
        .map(Some)
        .ok_or_else(|| field(name, "out of range"))
}

pub(super) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(fits)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
}

/// From the names that are given, or from a pattern such as `web-###`.
fn names(body: &Value, count: usize) -> Result<Vec<String>, GceError> {
    let given = body["perInstanceProperties"].as_object();
    let mut names: Vec<String> = match (given, body["namePattern"].as_str()) {
        (Some(given), _) if !given.is_empty() => {
            given.iter().map(|(key, one)| one["name"].as_str().unwrap_or(key).to_owned()).collect()
        }
        (_, Some(pattern)) => {
            let prefix = pattern.trim_end_matches('#');
            let width = pattern.len() - prefix.len();
            (1..=count).map(|number| format!("{prefix}{number:0width$}")).collect()
        }
        _ => return Err(field("namePattern", "either names or a pattern must be given")),
    };
    names.truncate(count);
    if names.len() < count || names.iter().any(|name| !is_name(name)) {
        return Err(field(
            "perInstanceProperties",
            "not enough names, or a name that does not match '[a-z]([-a-z0-9]*[a-z0-9])?'",
        ));
    }
    Ok(names)
}

fn labels(value: &Value, name: &str) -> Result<BTreeMap<String, String>, GceError> {
    let fits = |text: &str| {
        text.len() <= 63
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c))
    };
    let mut labels = BTreeMap::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or("?");
        if !fits(key) || !fits(value) || !key.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(field(name, &format!("'{key}={value}' is no label")));
        }
        labels.insert(key.clone(), value.to_owned());
    }
    if labels.len() > 64 { Err(field(name, "more than 64 labels")) } else { Ok(labels) }
}

fn metadata(value: &Value) -> Result<BTreeMap<String, String>, GceError> {
    let mut items = BTreeMap::new();
    let mut bytes = 0;
    for item in value["items"].as_array().into_iter().flatten() {
        let (Some(key), Some(value)) = (item["key"].as_str(), item["value"].as_str()) else {
            return Err(field("instanceProperties.metadata.items", "an item has a key and a value"));
        };
        bytes += key.len() + value.len();
        if key.len() >= 128 || value.len() > VALUE_BYTES_MAX || bytes > METADATA_BYTES_MAX {
            return Err(field("instanceProperties.metadata", "too long"));
        }
        if items.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(field(
                "instanceProperties.metadata.items",
                &format!("the key '{key}' is there twice"),
            ));
        }
    }
    Ok(items)
}

impl GoogleState {
    pub(super) fn bulk_insert(&mut self, call: &GceCall<'_>, zone: &str) -> Result<Value, GceError> {
        let text = call.body.to_string();
        if let Some(operation) = self.remembered(call, &text)? {
            return Ok(operation);
        }
        let most = count(&call.body, "count")?.ok_or_else(|| field("count", "it is missing"))?;
        let least = count(&call.body, "minCount")?.unwrap_or(most);
        if least > most {
            return Err(field("minCount", "it must not be more than count"));
        }
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        let names = names(&call.body, count)?;
        let order = self.order(call, zone)?;
        self.check_at_once(call, zone, &order, least)?;
        let bulk = BulkProgress { names, least, ..BulkProgress::default() };
        let id = self.begin(call, zone, "bulkInsert", "instances".to_owned(), Some(bulk));
        self.remember(call, text, id);
        let (delays, order) = (self.controls.delay_times, Arc::new(order));
        for number in 0..count {
            let nth = u64::try_from(number).unwrap_or_default() + 1;
            let at = later(call.now, delays.create_ms * nth);
            self.schedule(at, Event::Make { operation: id, number, order: Arc::clone(&order) });
        }
        let all_ms = delays.create_ms * most + delays.running_ms * 2 + 1;
        self.schedule(later(call.now, all_ms), Event::EndBulk(id));
        Ok(self.operations[&id].show())
    }

    fn check_at_once(
        &self,
        call: &GceCall<'_>,
        zone: &str,
        order: &BulkOrder,
        least: usize,
    ) -> Result<(), GceError> {
        let is_bulk =
            |one: &&GceOperation| one.project == call.project && one.kind == "bulkInsert" && !one.is_done();
        let limits = &self.controls.limits;
        if self.operations.values().filter(is_bulk).count() >= limits.rate.bulks {
            let message = "Rate Limit Exceeded: too many concurrent bulk instance creations";
            return Err(GceError::new(403, "rateLimitExceeded", message));
        }
        let name = order.machine_type.name;
        let near = limits.capacities.iter().filter(|one| one.at_once && one.covers(zone, name));
        for capacity in near {
            if self.living_in(capacity) + least > capacity.instances.unwrap_or(usize::MAX) {
                let message =
                    format!("The zone '{zone}' does not have enough resources available for {name}.");
                return Err(GceError::new(503, "insufficientCapacity", message));
            }
        }
        Ok(())
    }

    fn order(&self, call: &GceCall<'_>, zone: &str) -> Result<BulkOrder, GceError> {
        let mut properties = json!({});
        if let Some(link) = call.body["sourceInstanceTemplate"].as_str() {
            properties = self.template_at(call.project, link)?.properties.clone();
        }
        merge(&mut properties, &call.body["instanceProperties"]);
        let wanted = properties["machineType"].as_str().unwrap_or_default();
        let bare = wanted.rsplit('/').next().unwrap_or_default();
        let machine_type = catalog::find(bare).ok_or_else(|| {
            field(
                "instanceProperties.machineType",
                &format!("'{wanted}'. Machine type does not exist in zone '{zone}'."),
            )
        })?;
        let boot = &properties["disks"][0];
        let image = boot["initializeParams"]["sourceImage"].as_str().unwrap_or_default();
        let image = image.rsplit_once("projects/").map_or(image, |(_, rest)| rest);
        let Some((owner, name)) = image.split_once("/global/images/") else {
            return Err(field("instanceProperties.disks[0]", "no source image or boot disk is given"));
        };
        self.images.usable(owner, name, call.email)?;
        let interface = &properties["networkInterfaces"][0];
        let project = self.projects.get(call.project);
        let is_there = match (interface["subnetwork"].as_str(), interface["network"].as_str()) {
            (Some(subnetwork), _) => self.subnetwork_at(subnetwork)?,
            (None, Some(network)) => {
                let name = network.rsplit('/').next().unwrap_or_default();
                project.is_some_and(|project| project.has_network(name))
            }
            (None, None) => project.is_some_and(|project| project.has_network("default")),
        };
        if !is_there {
            return Err(field(
                "instanceProperties.networkInterfaces[0]",
                "the referenced network cannot be found",
            ));
        }
        Ok(BulkOrder {
            machine_type,
            labels: labels(&properties["labels"], "instanceProperties.labels")?,
            disk_labels: labels(&boot["initializeParams"]["labels"], "instanceProperties.disks[0].labels")?,
            metadata: metadata(&properties["metadata"])?,
            auto_delete: boot["autoDelete"].as_bool().unwrap_or(false),
            has_nat: interface["accessConfigs"].as_array().is_some_and(|all| !all.is_empty()),
            network: default_subnetwork(call.project, zone),
            source_image: format!("projects/{image}"),
            is_broken: wanted.contains('/'),
        })
    }

    /// The operation that a request id stands for, if it is still remembered.
    pub(super) fn remembered(&self, call: &GceCall<'_>, body: &str) -> Result<Option<Value>, GceError> {
        let Some(request_id) = call.query.get("requestId") else { return Ok(None) };
        let wrong = |why: &str| {
            GceError::invalid(format!("Invalid value for field 'requestId': '{request_id}'. {why}"))
        };
        let uuid: uuid::Uuid = request_id.parse().map_err(|_| wrong("Must be a valid UUID."))?;
        if uuid.is_nil() {
            return Err(wrong("The zero UUID is not supported."));
        }
        let known = self.requests.get(&(call.project.to_owned(), request_id.to_owned()));
        let kept_ms = self.controls.delay_times.request_id_ms;
        let Some(known) = known.filter(|known| later(known.at, kept_ms) > call.now) else { return Ok(None) };
        if known.body != body {
            return Err(wrong("It was used before, for another request."));
        }
        Ok(self.operations.get(&known.operation).map(GceOperation::show))
    }

    pub(super) fn remember(&mut self, call: &GceCall<'_>, body: String, operation: u64) {
        if let Some(request_id) = call.query.get("requestId") {
            let key = (call.project.to_owned(), request_id.to_owned());
            self.requests.insert(key, RememberedRequest { at: call.now, body, operation });
        }
    }

    pub(super) fn begin(
        &mut self,
        call: &GceCall<'_>,
        zone: &str,
        kind: &'static str,
        target: String,
        bulk: Option<BulkProgress>,
    ) -> u64 {
        let id = self.next_id();
        let group = bulk.is_some().then(|| uuid::Uuid::now_v7().to_string());
        let operation = GceOperation {
            id,
            name: format!("operation-{id}"),
            project: call.project.to_owned(),
            zone: zone.to_owned(),
            kind,
            target,
            user: call.email.to_owned(),
            request_id: call.query.get("requestId").map(str::to_owned),
            group,
            begun_at: call.now,
            done_at: None,
            errors: Vec::new(),
            bulk,
        };
        self.operations.insert(id, operation);
        id
    }
}
