//! All builds, of all organisations, and what happens when one of them ends.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::admission::Admitted;
use super::build::{Build, BuildHold, REGION, Status};
use super::delay_times::BuildDelays;
use super::faults::{BuildFault, BuildFaultKind};
use crate::identity_header::IdentityError;
use crate::script::Script;

/// What is older counts for nothing and is not listed.
const REMEMBERED: Duration = Duration::from_hours(14 * 24);
const QUOTA: u32 = 100;
const BUILDS_MAX: usize = 200_000;
/// Of all requests together.
const REQUEST_BYTES_MAX: usize = 512 * 1024 * 1024;

/// All that is guarded by the lock of Image Builder.
#[derive(Debug)]
pub(super) struct Builds {
    pub(super) delay_times: BuildDelays,
    /// How many builds an organisation may have in fourteen days.
    pub(super) quota: u32,
    /// Where new images are made in AWS.
    pub(super) region: String,
    pub(super) faults: Arc<Script<BuildFault>>,
    pub(super) by_id: BTreeMap<Uuid, Build>,
    by_org: HashMap<String, Vec<Uuid>>,
    /// Those that are not over, by their end where that is known.
    ending: BTreeSet<(OffsetDateTime, Uuid)>,
    request_bytes: usize,
}

impl Default for Builds {
    fn default() -> Self {
        Builds {
            delay_times: BuildDelays::default(),
            quota: QUOTA,
            region: REGION.to_owned(),
            faults: Arc::default(),
            by_id: BTreeMap::new(),
            by_org: HashMap::new(),
            ending: BTreeSet::new(),
            request_bytes: 0,
        }
    }
}

impl Builds {
    /// Everything is as at the beginning, except the builds.
    pub(super) fn reset(&mut self) {
        let Builds { delay_times, quota, region, .. } = Builds::default();
        (self.delay_times, self.quota, self.region) = (delay_times, quota, region);
        self.faults.clear(None);
    }

    pub(super) fn check_quota(&self, org: &str, now: OffsetDateTime) -> Result<(), IdentityError> {
        let ids = self.by_org.get(org).map(Vec::as_slice).unwrap_or_default();
        let is_recent = |id: &&Uuid| self.by_id[*id].created_at + REMEMBERED > now;
        let recent = ids.iter().rev().take_while(is_recent).count();
        if recent >= self.quota as usize {
            let quota = self.quota;
            let why = format!("the quota of {quota} builds in 14 days is used up for this organisation");
            return Err(IdentityError::new(StatusCode::FORBIDDEN, why));
        }
        Ok(())
    }

    /// Begins a build.
    pub(super) fn add(
        &mut self,
        org: &str,
        request: &Map<String, Value>,
        admitted: Admitted,
        now: OffsetDateTime,
    ) -> Result<&Build, IdentityError> {
        let request = without_passwords(request);
        if self.by_id.len() >= BUILDS_MAX || self.request_bytes + request.len() > REQUEST_BYTES_MAX {
            let why = "the sandbox is full and makes no more builds";
            return Err(IdentityError::new(StatusCode::INTERNAL_SERVER_ERROR, why));
        }
        self.request_bytes += request.len();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (name, description) = (text(&admitted.image_name), text(&admitted.description));
        let texts = [name.as_str(), description.as_str(), org];
        let id = Uuid::now_v7();
        let build = Build {
            id,
            org: org.to_owned(),
            request,
            created_at: now,
            region: self.region.clone(),
            delay_times: self.delay_times,
            failure: self.faults.failure(&texts),
            hold: if self.faults.hits(BuildFaultKind::Hold, &texts) {
                BuildHold::Held
            } else {
                BuildHold::No
            },
            hides_upload: self.faults.hits(BuildFaultKind::NoUpload, &texts),
            is_hidden: false,
            is_forgotten: false,
            admitted,
        };
        self.by_org.entry(org.to_owned()).or_default().push(id);
        self.ending.extend(build.ends_at().map(|ends_at| (ends_at, id)));
        Ok(self.by_id.entry(id).or_insert(build))
    }

    /// The builds whose time has come, in the order of their ends. Each is told once.
    pub(super) fn end(&mut self, now: OffsetDateTime) -> Vec<Uuid> {
        let mut ended = Vec::new();
        while self.ending.first().is_some_and(|(ends_at, _)| *ends_at <= now) {
            let Some((_, id)) = self.ending.pop_first() else { break };
            ended.push(id);
        }
        ended
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ending.is_empty()
    }

    /// Answers false where nothing was held.
    pub(super) fn release(&mut self, id: Uuid, now: OffsetDateTime) -> bool {
        let Some(build) = self.by_id.get_mut(&id) else { return false };
        if build.hold != BuildHold::Held {
            return false;
        }
        // One that fails before it is built has had its end from the beginning.
        let had_end = build.ends_at().is_some();
        build.hold = BuildHold::Released(now);
        if !had_end {
            self.ending.extend(build.ends_at().map(|ends_at| (ends_at, id)));
        }
        true
    }

    /// A build of this organisation that Image Builder still knows.
    pub(super) fn owned(&mut self, id: &str, org: &str) -> Result<&mut Build, IdentityError> {
        let id = Uuid::parse_str(id).map_err(|_| IdentityError::bad_request("the id is not a UUID"))?;
        self.by_id
            .get_mut(&id)
            .filter(|build| build.org == org && !build.is_forgotten && !build.is_hidden)
            .ok_or_else(|| IdentityError::not_found("there is no compose with this id"))
    }

    /// Newest first.
    pub(super) fn listed<'a>(
        &'a self,
        org: &str,
        ignored: &'a [&'a str],
        now: OffsetDateTime,
    ) -> impl Iterator<Item = &'a Build> {
        let ids = self.by_org.get(org).map(Vec::as_slice).unwrap_or_default();
        let builds = ids.iter().rev().map(|id| &self.by_id[id]);
        builds
            .take_while(move |build| build.created_at + REMEMBERED > now)
            .filter(|build| !build.is_hidden && !build.is_forgotten)
            .filter(|build| !ignored.contains(&build.admitted.image_type.as_str()))
    }

    /// For people who look from outside, newest first.
    pub(super) fn show(&self, now: OffsetDateTime, most: usize) -> Value {
        let one = |build: &Build| {
            let status = build.status(now);
            json!({
                "id": build.id,
                "org": build.org,
                "image_name": build.admitted.image_name,
                "image_description": build.admitted.description,
                "status": status,
                "ami": (status == Status::Success).then(|| build.ami()),
                "is_held": build.hold == BuildHold::Held,
                "is_hidden": build.is_hidden,
                "is_forgotten": build.is_forgotten,
            })
        };
        self.by_id.values().rev().take(most).map(one).collect()
    }
}

/// As Image Builder keeps it: a password is never answered.
fn without_passwords(request: &Map<String, Value>) -> String {
    let mut request = request.clone();
    let users = request.get_mut("customizations").and_then(|all| all.get_mut("users"));
    for user in users.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(user) = user.as_object_mut() {
            user.remove("password");
        }
    }
    Value::Object(request).to_string()
}
