//! What calls do to projects, zones, images, instances, disks and operations.

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::call_error::GceError;
use super::catalog::{self, LINK, region_of};
use super::endpoint::GceCall;
use super::instances::{GceDisk, GceInstance, GcePlace, GceStatus};
use super::operations::GceOperation;
use super::page::page;
use super::templates::GceTemplate;
use super::world::{Event, GoogleState};
use crate::delays::later;

/// A call by the name that Google gives it.
pub(super) fn action(method: &Method, path: &[&str]) -> &'static str {
    let is_get = method == Method::GET;
    match path {
        [] => "projects.get",
        ["regions"] => "regions.list",
        ["regions", _] => "regions.get",
        ["zones"] => "zones.list",
        ["zones", _] => "zones.get",
        ["zones", _, "machineTypes"] => "machineTypes.list",
        ["zones", _, "machineTypes", _] => "machineTypes.get",
        ["global", "instanceTemplates"] => "instanceTemplates.list",
        ["global", "instanceTemplates", _] => "instanceTemplates.get",
        ["regions", _, "instanceTemplates"] => "regionInstanceTemplates.list",
        ["regions", _, "instanceTemplates", _] => "regionInstanceTemplates.get",
        ["global", "images", _, "testIamPermissions"] => "images.testIamPermissions",
        ["global", "images", "family", _] => "images.getFromFamily",
        ["global", "images", _] => "images.get",
        ["global", "networks", _] => "networks.get",
        ["regions", _, "subnetworks", _] => "subnetworks.get",
        ["aggregated", "instances"] => "instances.aggregatedList",
        ["zones", _, "instances"] => "instances.list",
        ["zones", _, "instances", "bulkInsert"] => "instances.bulkInsert",
        ["zones", _, "instances", _] if is_get => "instances.get",
        ["zones", _, "instances", _] => "instances.delete",
        ["zones", _, "disks"] => "disks.list",
        ["zones", _, "disks", _] if is_get => "disks.get",
        ["zones", _, "disks", _] => "disks.delete",
        ["zones", _, "operations"] => "zoneOperations.list",
        ["zones", _, "operations", _] => "zoneOperations.get",
        ["zones", _, "operations", _, "wait"] => "zoneOperations.wait",
        _ => "unknown",
    }
}

/// The permission that a call needs in its project, where it is checked.
fn permission(action: &str) -> Option<&'static str> {
    Some(match action {
        "instances.bulkInsert" => "compute.instances.create",
        "instances.delete" => "compute.instances.delete",
        "instances.get" => "compute.instances.get",
        "instances.list" | "instances.aggregatedList" => "compute.instances.list",
        "disks.delete" => "compute.disks.delete",
        "disks.list" => "compute.disks.list",
        "zoneOperations.list" => "compute.zoneOperations.list",
        "zoneOperations.get" | "zoneOperations.wait" => "compute.zoneOperations.get",
        _ => return None,
    })
}

impl GoogleState {
    pub(super) fn carry_out(&mut self, call: &GceCall<'_>, action: &str) -> Result<Value, GceError> {
        let not_found = || GceError::not_found(&format!("projects/{}/{}", call.project, call.path.join("/")));
        // An image may be of a project that is not known here.
        if let ["global", "images", rest @ ..] = call.path.as_slice() {
            return self.image(call, rest);
        }
        let project = self.projects.get(call.project).ok_or_else(not_found)?;
        project.require(call.project, call.email, "compute.projects.get")?;
        if let Some(permission) = permission(action) {
            project.require(call.project, call.email, permission)?;
        }
        if let ["zones", zone, ..] = call.path.as_slice()
            && !catalog::is_zone(zone)
        {
            return Err(not_found());
        }
        let method = call.method.as_str();
        match (method, call.path.as_slice()) {
            ("GET", []) => {
                Ok(project.show(call.project, &project.quotas(&self.of(call.project, None), true)))
            }
            ("GET", ["zones"]) => self.list("compute#zoneList", catalog::zones(call.project), call),
            ("GET", ["zones", zone]) => Ok(catalog::show_zone(call.project, zone)),
            ("GET", ["regions"]) => {
                let regions =
                    catalog::regions().into_iter().filter_map(|region| self.region(call.project, region));
                self.list("compute#regionList", regions.collect(), call)
            }
            ("GET", ["regions", region]) => self.region(call.project, region).ok_or_else(not_found),
            ("GET", ["zones", zone, "machineTypes", rest @ ..]) => self.machine_types(call, zone, rest),
            ("GET", ["global", "instanceTemplates", rest @ ..]) => self.templates(call, None, rest),
            ("GET", ["regions", region, "instanceTemplates", rest @ ..]) => {
                self.templates(call, Some(region), rest)
            }
            ("GET", ["global", "networks", name]) if project.has_network(name) => {
                let link = format!("{LINK}/projects/{}/global/networks/{name}", call.project);
                Ok(json!({"kind": "compute#network", "id": "1", "name": name, "selfLink": link}))
            }
            ("GET", ["regions", region, "subnetworks", name]) if project.has_subnetwork(region, name) => {
                let link = format!("{LINK}/projects/{}/regions/{region}/subnetworks/{name}", call.project);
                Ok(
                    json!({"kind": "compute#subnetwork", "id": "1", "name": name, "region": region, "selfLink": link}),
                )
            }
            ("GET", ["aggregated", "instances"]) => self.aggregated(call),
            (_, ["zones", zone, "instances", rest @ ..]) => self.instance(call, zone, rest),
            (_, ["zones", zone, "disks", rest @ ..]) => self.disk(call, zone, rest),
            (_, ["zones", zone, "operations", rest @ ..]) => self.operation(call, zone, rest),
            _ => Err(not_found()),
        }
    }

    /// The instances of a project, in a region or in all of them.
    fn of(&self, project: &str, region: Option<&str>) -> impl Iterator<Item = &GceInstance> + Clone {
        self.instances.values().filter(move |one| {
            one.place.project == project && region.is_none_or(|region| region_of(&one.place.zone) == region)
        })
    }

    fn region(&self, project: &str, region: &str) -> Option<Value> {
        let quotas = self.projects.get(project)?.quotas(&self.of(project, Some(region)), false);
        catalog::is_region(region).then(|| catalog::show_region(project, region, &quotas))
    }

    fn list(&self, kind: &str, items: Vec<Value>, call: &GceCall<'_>) -> Result<Value, GceError> {
        let path = format!("projects/{}/{}", call.project, call.path.join("/"));
        page((kind, &path), items, &call.query, self.controls.pages)
    }

    fn machine_types(&self, call: &GceCall<'_>, zone: &str, rest: &[&str]) -> Result<Value, GceError> {
        let all = catalog::machine_types(call.project, zone);
        match rest {
            [] => self.list("compute#machineTypeList", all, call),
            [name] => all.into_iter().find(|one| one["name"] == *name).ok_or_else(|| {
                GceError::not_found(&format!("projects/{}/zones/{zone}/machineTypes/{name}", call.project))
            }),
            _ => Err(GceError::not_found(zone)),
        }
    }

    fn templates(&self, call: &GceCall<'_>, region: Option<&str>, rest: &[&str]) -> Result<Value, GceError> {
        let mut here = self.templates.iter().filter(|one| one.is_at(call.project, region));
        match rest {
            [] => self.list("compute#instanceTemplateList", here.map(GceTemplate::show).collect(), call),
            [wanted] => here.find(|one| one.is(wanted)).map(GceTemplate::show).ok_or_else(|| {
                GceError::not_found(&format!("projects/{}/instanceTemplates/{wanted}", call.project))
            }),
            _ => Err(GceError::not_found("instanceTemplates")),
        }
    }

    /// The template that a link names.
    pub(super) fn template_at(&self, project: &str, link: &str) -> Result<&GceTemplate, GceError> {
        let rest =
            link.rsplit_once("projects/").and_then(|(_, rest)| Some(rest.split_once('/')?.1)).unwrap_or(link);
        let parts: Vec<&str> = rest.split('/').collect();
        let found = match parts.as_slice() {
            ["global", "instanceTemplates", name] => {
                self.templates.iter().find(|one| one.is_at(project, None) && one.is(name))
            }
            ["regions", region, "instanceTemplates", name] => {
                self.templates.iter().find(|one| one.is_at(project, Some(region)) && one.is(name))
            }
            _ => None,
        };
        found.ok_or_else(|| GceError::not_found(link))
    }

    /// Whether there is the subnetwork that a link names.
    pub(super) fn subnetwork_at(&self, link: &str) -> Result<bool, GceError> {
        let rest = link.rsplit_once("projects/").map_or(link, |(_, rest)| rest);
        let parts: Vec<&str> = rest.split('/').collect();
        let [project, "regions", region, "subnetworks", name] = parts.as_slice() else {
            return Err(GceError::invalid(format!("'{link}' is no subnetwork")));
        };
        Ok(self.projects.get(*project).is_some_and(|project| project.has_subnetwork(region, name)))
    }

    fn image(&self, call: &GceCall<'_>, rest: &[&str]) -> Result<Value, GceError> {
        match (call.method.as_str(), rest) {
            ("POST", [name, "testIamPermissions"]) => {
                Ok(self.images.find(call.project, name)?.granted(call.email, &call.body))
            }
            ("GET", ["family", family]) => {
                Ok(self.images.usable(call.project, &format!("family/{family}"), call.email)?.show())
            }
            ("GET", [name]) => Ok(self.images.usable(call.project, name, call.email)?.show()),
            _ => Err(GceError::not_found("images")),
        }
    }

    fn aggregated(&self, call: &GceCall<'_>) -> Result<Value, GceError> {
        let mut shown = self.list("compute#instanceAggregatedList", self.listed(call, None), call)?;
        let items = shown["items"].take();
        let mut zones = Map::new();
        for item in items.as_array().into_iter().flatten() {
            let zone = item["zone"].as_str().and_then(|link| link.rsplit('/').next()).unwrap_or_default();
            let zone = zones.entry(format!("zones/{zone}")).or_insert_with(|| json!({"instances": []}));
            if let Some(all) = zone["instances"].as_array_mut() {
                all.push(item.clone());
            }
        }
        shown["items"] = zones.into();
        Ok(shown)
    }

    fn listed(&self, call: &GceCall<'_>, zone: Option<&str>) -> Vec<Value> {
        let is_here = |one: &&GceInstance| zone.is_none_or(|zone| one.place.zone == zone);
        let is_listed = |one: &&GceInstance| self.is_listed(one.created_at, call.now);
        self.of(call.project, None).filter(is_here).filter(is_listed).map(GceInstance::show).collect()
    }

    fn instance(&mut self, call: &GceCall<'_>, zone: &str, rest: &[&str]) -> Result<Value, GceError> {
        let place = |name: &str| GcePlace {
            project: call.project.to_owned(),
            zone: zone.to_owned(),
            name: name.to_owned(),
        };
        match (call.method.as_str(), rest) {
            ("GET", []) => self.list("compute#instanceList", self.listed(call, Some(zone)), call),
            ("POST", ["bulkInsert"]) => self.bulk_insert(call, zone),
            (method @ ("GET" | "DELETE"), [wanted]) => {
                let by_id = |one: &&GceInstance| one.place.zone == zone && one.id.to_string() == *wanted;
                let numbered = self.of(call.project, None).find(by_id).map(|one| one.place.clone());
                let place = numbered.unwrap_or_else(|| place(wanted));
                let not_found = || GceError::not_found(&place.path("instances"));
                let instance = self.instances.get(&place).ok_or_else(not_found)?;
                if method == "GET" { Ok(instance.show()) } else { self.delete(call, place) }
            }
            _ => Err(GceError::not_found("instances")),
        }
    }

    fn delete(&mut self, call: &GceCall<'_>, place: GcePlace) -> Result<Value, GceError> {
        let text = place.path("instances");
        if let Some(operation) = self.remembered(call, &text)? {
            return Ok(operation);
        }
        let Some(instance) = self.instances.get_mut(&place) else { return Err(GceError::not_found(&text)) };
        if instance.status == GceStatus::Stopping {
            return Err(GceError::new(
                400,
                "resourceNotReady",
                format!("The resource '{text}' is not ready"),
            ));
        }
        instance.status = GceStatus::Stopping;
        let id = instance.id;
        let zone = place.zone.clone();
        let operation = self.begin(call, &zone, "delete", format!("instances/{}", place.name), None);
        self.remember(call, text, operation);
        let at = later(call.now, self.controls.delay_times.terminate_ms);
        self.schedule(at, Event::Remove { place, id, operation });
        Ok(self.operations[&operation].show())
    }

    fn disk(&mut self, call: &GceCall<'_>, zone: &str, rest: &[&str]) -> Result<Value, GceError> {
        let is_here = |one: &&GceDisk| one.place.project == call.project && one.place.zone == zone;
        match (call.method.as_str(), rest) {
            ("GET", []) => {
                let is_listed = |one: &&GceDisk| self.is_listed(one.created_at, call.now);
                let disks =
                    self.disks.values().filter(is_here).filter(is_listed).map(GceDisk::show).collect();
                self.list("compute#diskList", disks, call)
            }
            (method @ ("GET" | "DELETE"), [name]) => {
                let place = GcePlace {
                    project: call.project.to_owned(),
                    zone: zone.to_owned(),
                    name: (*name).to_owned(),
                };
                let path = place.path("disks");
                let disk = self.disks.get_mut(&place).ok_or_else(|| GceError::not_found(&path))?;
                if method == "GET" {
                    return Ok(disk.show());
                }
                if disk.is_attached {
                    let message = format!("The disk resource '{path}' is already being used");
                    return Err(GceError::new(400, "resourceInUseByAnotherResource", message));
                }
                if disk.is_leaving {
                    let message = format!("The resource '{path}' is not ready");
                    return Err(GceError::new(400, "resourceNotReady", message));
                }
                disk.is_leaving = true;
                let operation = self.begin(call, zone, "delete", format!("disks/{name}"), None);
                let at = later(call.now, self.controls.delay_times.terminate_ms);
                self.schedule(at, Event::RemoveDisk { place, operation });
                Ok(self.operations[&operation].show())
            }
            _ => Err(GceError::not_found("disks")),
        }
    }

    fn operation(&self, call: &GceCall<'_>, zone: &str, rest: &[&str]) -> Result<Value, GceError> {
        let is_here = |one: &&GceOperation| one.project == call.project && one.zone == zone;
        match (call.method.as_str(), rest) {
            ("GET", []) => {
                let is_listed = |one: &&GceOperation| self.is_listed(one.begun_at, call.now);
                let operations = self.operations.values().filter(is_here).filter(is_listed);
                self.list("compute#operationList", operations.map(GceOperation::show).collect(), call)
            }
            // It would be held for two minutes at most, and may answer that nothing is done yet.
            ("GET", [wanted]) | ("POST", [wanted, "wait"]) => {
                let is_it = |one: &&GceOperation| one.name == *wanted || one.id.to_string() == *wanted;
                let mut operations = self.operations.values().filter(is_here);
                operations.find(is_it).map(GceOperation::show).ok_or_else(|| GceError::not_found(wanted))
            }
            _ => Err(GceError::not_found("operations")),
        }
    }

    /// The service that knows projects.
    pub(super) fn resource(
        &self,
        project: &str,
        verb: &str,
        method: &Method,
        email: &str,
        asked: &Value,
    ) -> Result<Value, GceError> {
        let denied = || GceError::forbidden("resourcemanager.projects.get", &format!("projects/{project}"));
        let found = self.projects.get(project).ok_or_else(denied)?;
        match (method.as_str(), verb) {
            ("GET", "") if found.trusts(email) => Ok(found.resource(project)),
            ("POST", "testIamPermissions") => Ok(found.granted(email, asked)),
            _ => Err(denied()),
        }
    }
}
