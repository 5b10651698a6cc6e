//! Things of ours that no operation looks after any longer: an operation was given up, or OpenNebula forgot what it
//! was told. Only what carries our mark is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::secret::{ExposeSecret, Sealed, SecretString};
use engine::store::Summary;
use engine::{Inspection, Timestamp};
use opennebula::{
    DocumentFilter, FlowService, NebulaCredentials, NebulaDocument, NebulaError, NebulaErrorKind as Kind,
    OpenNebula, RUNTIME_DOCUMENT,
};
use serde_json::Value;

use super::CREATE;
use super::caller_credentials::CallerCredentials;
use super::labels;
use super::removal::{self, Removal, RemovalProgress};
use super::runtime::ServerlessRuntime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub kind: OrphanKind,
    /// The document or the service, by its kind.
    pub id: i32,
    pub name: String,
    /// Since the operation that made it began.
    pub age: Duration,
    /// For people.
    pub why: String,
    /// The operation that made it: nothing is an orphan while that goes on.
    pub operation: String,
    /// The resource of operations on its document: nothing is an orphan while one goes on.
    pub resource: String,
    /// Why it is reported and never cleaned. So it is until [`Orphan::check`] has found who made it.
    pub doubt: Option<String>,
    document: i32,
    services: BTreeSet<i32>,
    machines: BTreeSet<i32>,
    /// Whose document it is, or whose service where there is no document.
    owner: i32,
    /// The tenant of the operations of that user.
    tenant: String,
    token: String,
    seal: Option<Sealed>,
}

/// The operation that made something, as the engine knows it.
#[derive(Debug, Clone)]
pub struct Maker {
    pub workflow: String,
    pub tenant: String,
    pub resource: Option<String>,
    pub state: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanKind {
    /// A service whose document does not know it.
    Service,
    /// A document whose runtime was never made to the end.
    Document,
    /// A document whose runtime was never removed to the end.
    Deleting,
    /// A document whose service is gone.
    Deserted,
}

impl OrphanKind {
    pub fn as_str(self) -> &'static str {
        match self {
            OrphanKind::Service => "service",
            OrphanKind::Document | OrphanKind::Deleting | OrphanKind::Deserted => "document",
        }
    }
}

impl Maker {
    pub fn of(found: Inspection) -> Maker {
        let Summary { workflow, tenant, resource, .. } = found.shown.summary;
        Maker { workflow, tenant, resource, state: found.memory.state }
    }
}

/// Everything that was made longer ago than that, oldest first. `is_held` says whether an operation still works on it.
pub async fn find(
    nebula: &OpenNebula,
    admin: &NebulaCredentials,
    (older_than, now): (Duration, Timestamp),
    is_held: impl Fn(&Orphan) -> bool,
) -> Result<Vec<Orphan>, NebulaError> {
    // The services first: one that is made in between has a document that is read later.
    let services = nebula.services(admin, DocumentFilter::All, None).await?;
    let documents = nebula.documents(admin, DocumentFilter::All, RUNTIME_DOCUMENT, None).await?;
    let documents: BTreeMap<i32, NebulaDocument> =
        documents.into_iter().map(|document| (document.id, document)).collect();
    let of_services = services.iter().filter_map(|service| of_service(service, &documents, now));
    let of_documents = documents.values().filter_map(|document| of_document(document, &services, now));
    let mut orphans = Vec::new();
    for orphan in of_services.chain(of_documents) {
        let is_old = orphan.age >= older_than && !is_held(&orphan);
        if is_old && is_alone(nebula, admin, &orphan, &documents).await? {
            orphans.push(orphan);
        }
    }
    orphans.sort_by_key(|orphan| std::cmp::Reverse(orphan.age));
    Ok(orphans)
}

/// What is not in a list is asked for by its id: a list may leave out what the admin cannot see.
async fn is_alone(
    nebula: &OpenNebula,
    admin: &NebulaCredentials,
    orphan: &Orphan,
    seen: &BTreeMap<i32, NebulaDocument>,
) -> Result<bool, NebulaError> {
    let asked = match (orphan.kind, orphan.services.first()) {
        (OrphanKind::Deserted, Some(service)) => nebula.service(admin, *service).await.map(drop),
        _ if seen.contains_key(&orphan.document) => return Ok(true),
        _ => nebula.document(admin, orphan.document).await.map(drop),
    };
    match asked {
        Err(error) if error.is(Kind::NotFound) => Ok(true),
        Err(error) if error.may_heal() => Err(error),
        _ => Ok(false),
    }
}

fn of_service(
    service: &FlowService,
    documents: &BTreeMap<i32, NebulaDocument>,
    now: Timestamp,
) -> Option<Orphan> {
    let (id, token) = labels::read_service_name(&service.name)?;
    let is_ours = |document: &&NebulaDocument| {
        document.uid == service.uid && labels::token(document).is_none_or(|own| own == token)
    };
    let document = documents.get(&id).filter(is_ours);
    let why = match document
        .map(|document| ServerlessRuntime::stored(document).ok().and_then(|own| own.service_id()))
    {
        // What has no service yet, or is being removed, is found by its document.
        Some(None) => return None,
        Some(Some(own)) if own == service.id => return None,
        Some(Some(own)) => format!("document {id} has service {own}"),
        None => format!("there is no document {id} for it"),
    };
    let machines = service.roles.iter().flat_map(|role| role.nodes.iter().copied()).collect();
    Some(Orphan {
        kind: OrphanKind::Service,
        id: service.id,
        name: service.name.clone(),
        why,
        services: BTreeSet::from([service.id]),
        machines,
        owner: service.uid,
        tenant: CallerCredentials::tenant(&service.uname),
        ..bare(id, token, now)?
    })
}

fn of_document(document: &NebulaDocument, services: &[FlowService], now: Timestamp) -> Option<Orphan> {
    let token = labels::token(document)?;
    let stored = ServerlessRuntime::stored(document).ok();
    let service = stored.as_ref().and_then(ServerlessRuntime::service_id);
    let (kind, why) = match service {
        _ if labels::is_deleting(document) => {
            (OrphanKind::Deleting, "its removal was begun and did not end".to_owned())
        }
        None => (OrphanKind::Document, "its runtime was never made to the end".to_owned()),
        Some(service) if !services.iter().any(|known| known.id == service) => {
            (OrphanKind::Deserted, format!("its service {service} is gone"))
        }
        Some(_) => return None,
    };
    let name = labels::service_name(document.id, token);
    let named = services.iter().filter(|service| service.uid == document.uid && service.name == name);
    let machines = stored.iter().flat_map(|stored| stored.roles().filter_map(|role| stored.vm_id(role)));
    Some(Orphan {
        kind,
        id: document.id,
        name: document.name.clone(),
        why,
        services: service.into_iter().chain(named.map(|service| service.id)).collect(),
        machines: machines.collect(),
        owner: document.uid,
        tenant: CallerCredentials::tenant(&document.uname),
        seal: labels::seal(document),
        ..bare(document.id, token, now)?
    })
}

fn bare(document: i32, token: &str, now: Timestamp) -> Option<Orphan> {
    let made_at = Timestamp(labels::made_at_ms(token)?.saturating_mul(1000));
    Some(Orphan {
        kind: OrphanKind::Document,
        id: document,
        name: String::new(),
        age: now.since(made_at),
        why: String::new(),
        operation: labels::operation(token)?.to_owned(),
        resource: CallerCredentials::resource(document),
        document,
        services: BTreeSet::new(),
        machines: BTreeSet::new(),
        doubt: Some("its operation was not looked up".to_owned()),
        owner: -1,
        tenant: String::new(),
        token: token.to_owned(),
        seal: None,
    })
}

impl Orphan {
    /// Clears the doubt where the operation that made it is known and says the same. Users write documents and the names
    /// of services: without this, one of them could have the engine remove what it never made.
    pub fn check(&mut self, maker: Option<&Maker>, opened: impl FnOnce(&Sealed) -> Option<SecretString>) {
        self.doubt = self.doubt_about(maker, opened).map(str::to_owned);
    }

    fn doubt_about(
        &self,
        maker: Option<&Maker>,
        opened: impl FnOnce(&Sealed) -> Option<SecretString>,
    ) -> Option<&'static str> {
        let Some(maker) = maker.filter(|maker| maker.workflow == CREATE) else {
            return Some("its operation is not known here");
        };
        let document = &maker.state["document"];
        if !document.is_null() && document.as_i64() != Some(self.document.into()) {
            return Some("its operation made another document");
        }
        if self.tenant != maker.tenant {
            return Some("its operation was of another user");
        }
        if self.kind == OrphanKind::Service {
            // A service has no seal. It is made only once the operation knows its document, and more than once where
            // OneFlow carried out a call so late that it was made again.
            return document.is_null().then_some("its operation made no service");
        }
        let token = self.seal.as_ref().and_then(opened);
        let is_sealed = token.is_some_and(|token| token.expose_secret() == self.token);
        (!is_sealed).then_some("its label is not one that this engine sealed")
    }
}

/// What came of cleaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    Gone,
    /// It was asked for, and takes time: clean again later.
    Waits(String),
    Failed(String),
    /// It is not certain that the engine made it: an operator has to look.
    Reported(String),
}

/// Removes what was found, as far as that goes at once. What one orphan answers does not keep the others.
pub async fn clean(nebula: &OpenNebula, admin: &NebulaCredentials, orphans: &[Orphan]) -> Vec<Cleaned> {
    let mut cleaned = Vec::with_capacity(orphans.len());
    for orphan in orphans {
        if let Some(doubt) = &orphan.doubt {
            cleaned.push(Cleaned::Reported(doubt.clone()));
            continue;
        }
        let removal =
            Removal { nebula, credentials: admin, whose: removal::RemovalScope::OwnedBy(orphan.owner) };
        cleaned.push(match clean_one(&removal, orphan).await {
            Ok(RemovalProgress::Gone) => Cleaned::Gone,
            Ok(RemovalProgress::Waits(reason)) => Cleaned::Waits(reason),
            Err(error) => Cleaned::Failed(error.to_string()),
        });
    }
    cleaned
}

async fn clean_one(removal: &Removal<'_>, orphan: &Orphan) -> Result<RemovalProgress, NebulaError> {
    if orphan.kind == OrphanKind::Document && is_complete(removal, orphan.document).await? {
        return Ok(RemovalProgress::Waits("it was made to the end in the meantime".to_owned()));
    }
    let mut machines = orphan.machines.clone();
    machines.extend(removal.machines(&orphan.services).await?);
    let progress = removal.press(&orphan.services, &mut machines, false).await?;
    if orphan.kind == OrphanKind::Service || progress != RemovalProgress::Gone {
        return Ok(progress);
    }
    match removal.nebula.delete_document(removal.credentials, orphan.document).await {
        Err(error) if !error.is(Kind::NotFound) => Err(error),
        _ => Ok(RemovalProgress::Gone),
    }
}

/// Whether an operation that was slow has made the runtime after all.
async fn is_complete(removal: &Removal<'_>, document: i32) -> Result<bool, NebulaError> {
    match removal.nebula.document(removal.credentials, document).await {
        Ok(document) => {
            Ok(ServerlessRuntime::stored(&document).is_ok_and(|stored| stored.service_id().is_some()))
        }
        Err(error) if error.is(Kind::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use engine::secret::{KeyRing, Sealer, SharedRing};
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "0199f0c1d2e37a4b8c5d6e7f80919293-00112233445566ff";

    fn orphan(kind: OrphanKind, seal: Option<Sealed>) -> Orphan {
        let bare = bare(5, TOKEN, Timestamp(0)).unwrap();
        Orphan { kind, tenant: "one:ann".to_owned(), seal, ..bare }
    }

    fn maker(workflow: &str, tenant: &str, state: Value) -> Maker {
        Maker { workflow: workflow.to_owned(), tenant: tenant.to_owned(), resource: None, state }
    }

    /// Each check alone keeps what a user wrote from being taken for what the engine made.
    #[test]
    fn only_what_a_known_operation_made_and_sealed_is_without_doubt() {
        let sealer = Sealer::new(&SharedRing::new(KeyRing::generate()), "test");
        let [ours, other] = [TOKEN, "another token"].map(|token| sealer.seal(&SecretString::from(token)));
        let made = || maker(CREATE, "one:ann", json!({"document": 5}));
        let began = || maker(CREATE, "one:ann", Value::Null);
        let document = |seal: Option<&Sealed>| orphan(OrphanKind::Document, seal.cloned());
        let service = || orphan(OrphanKind::Service, None);
        for (orphan, maker, doubt) in [
            (document(Some(&ours)), Some(made()), ""),
            (document(Some(&ours)), Some(began()), ""),
            (service(), Some(made()), ""),
            (document(Some(&ours)), None, "not known"),
            (document(Some(&ours)), Some(maker("serverless.update", "one:ann", Value::Null)), "not known"),
            (
                document(Some(&ours)),
                Some(maker(CREATE, "one:ann", json!({"document": 6}))),
                "another document",
            ),
            (document(Some(&ours)), Some(maker(CREATE, "one:bob", json!({"document": 5}))), "another user"),
            (document(None), Some(began()), "sealed"),
            (document(Some(&other)), Some(began()), "sealed"),
            (service(), Some(began()), "no service"),
            (service(), Some(maker(CREATE, "one:bob", json!({"document": 5}))), "another user"),
        ] {
            let mut checked = orphan.clone();
            checked.check(maker.as_ref(), |sealed| sealer.open(sealed).ok());
            match &checked.doubt {
                Some(found) => assert!(!doubt.is_empty() && found.contains(doubt), "{found}: {maker:?}"),
                None => assert_eq!(doubt, "", "{orphan:?} {maker:?}"),
            }
        }
    }
}
