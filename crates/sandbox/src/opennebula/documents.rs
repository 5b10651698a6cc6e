//! The document pool: runtimes, services and service templates, under numbers of one sequence.

use std::collections::BTreeMap;

use super::call_error::{ACTION, INTERNAL, NebulaError};
use super::template::TemplateText;
use super::users::{AuthenticatedUser, NebulaRight, Owned, Permissions};
use super::xml::{self, write, write_head, write_permissions, write_template};

pub(crate) const SERVICE: i32 = 100;
pub(crate) const SERVICE_TEMPLATE: i32 = 101;

const NAME_CHARS_MAX: usize = 128;
const UNSAVABLE: &str = "Error transforming the Document to XML.";
const REFUSED_IN_NAMES: &str = "&|:\\\";/'#{}$<>";

#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) id: i32,
    pub(crate) owner: AuthenticatedUser,
    pub(crate) permissions: Permissions,
    pub(crate) name: String,
    pub(crate) kind: i32,
    pub(crate) template: TemplateText,
    pub(super) lock: Option<Lock>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Lock {
    pub(super) level: i32,
    pub(super) uid: i32,
    pub(super) time: i64,
    /// The number of the call that asked for it.
    pub(super) request: i32,
}

impl Document {
    pub(crate) fn body(&self) -> &str {
        self.template.get("BODY").unwrap_or_default()
    }

    pub(crate) fn set_body(&mut self, body: impl Into<String>) {
        self.template.set("BODY", body);
    }

    /// `<DOCUMENT>` as `one.document.info` answers it.
    pub(crate) fn to_xml(&self) -> String {
        let mut out = String::from("<DOCUMENT>");
        write_head(&mut out, self.id, &self.owner, &self.name);
        write(&mut out, "TYPE", self.kind);
        write_permissions(&mut out, self.permissions);
        if let Some(Lock { level, uid, time, request }) = self.lock {
            let mut lock = String::new();
            write(&mut lock, "LOCKED", level);
            write(&mut lock, "OWNER", uid);
            write(&mut lock, "TIME", time);
            write(&mut lock, "REQ_ID", request);
            write(&mut out, "LOCK", lock);
        }
        write_template(&mut out, "TEMPLATE", &self.template);
        out += "</DOCUMENT>";
        out
    }

    /// oned saves a document as XML, and refuses what is none then.
    fn can_be_saved(&self) -> bool {
        xml::read(&self.to_xml()).is_some()
    }

    fn is_locked_by_another(&self, caller: &AuthenticatedUser) -> bool {
        self.lock.is_some_and(|lock| lock.uid != caller.uid) && !caller.is_admin()
    }

    /// Administrators alone pass a lock. The user who set it does not, and all may still read the document.
    fn require_unlocked(&self, caller: &AuthenticatedUser, right: NebulaRight) -> Result<(), NebulaError> {
        let is_covered = match (self.lock, right) {
            (None, _) | (_, NebulaRight::Use) => false,
            (Some(lock), NebulaRight::Manage) => lock.level <= 2,
            (Some(_), NebulaRight::Admin) => true,
        };
        if !is_covered || caller.is_admin() {
            return Ok(());
        }
        Err(NebulaError::unauthorized(caller, right, Document::OBJECT, Some(self.id)))
    }
}

impl Owned for Document {
    const OBJECT: &'static str = "DOCUMENT";

    fn id(&self) -> i32 {
        self.id
    }

    fn owner(&self) -> &AuthenticatedUser {
        &self.owner
    }

    fn permissions(&self) -> Permissions {
        self.permissions
    }
}

#[derive(Debug, Default)]
pub(crate) struct Documents {
    by_id: BTreeMap<i32, Document>,
    next_id: i32,
}

impl Documents {
    /// Adds a document under the next number. Names are taken as they are, and need not be the only one.
    pub(crate) fn add(
        &mut self,
        owner: AuthenticatedUser,
        permissions: Permissions,
        name: Option<&str>,
        kind: i32,
        mut template: TemplateText,
    ) -> Result<i32, NebulaError> {
        template.drop_empty_vectors();
        let id = self.next_id;
        let name =
            name.filter(|name| !name.is_empty()).map_or_else(|| format!("document-{id}"), str::to_owned);
        if name.chars().count() > NAME_CHARS_MAX {
            let why = format!("NAME is too long; max length is {NAME_CHARS_MAX} chars.");
            return Err(NebulaError::new(INTERNAL, why));
        }
        let document = Document { id, owner, permissions, name, kind, template, lock: None };
        if !document.can_be_saved() {
            return Err(NebulaError::new(INTERNAL, UNSAVABLE));
        }
        self.next_id += 1;
        self.by_id.insert(id, document);
        Ok(id)
    }

    /// Replaces the attributes, or adds to them.
    pub(super) fn update(
        &mut self,
        id: i32,
        caller: &AuthenticatedUser,
        template: TemplateText,
        appends: bool,
    ) -> Result<(), NebulaError> {
        let document = self.open(id, caller, NebulaRight::Manage)?;
        let mut changed = document.clone();
        if appends {
            changed.template.merge(template);
        } else {
            changed.template = template;
            changed.template.drop_empty_vectors();
        }
        if !changed.can_be_saved() {
            return Err(NebulaError::new(INTERNAL, UNSAVABLE));
        }
        *document = changed;
        Ok(())
    }

    pub(crate) fn get(&self, id: i32) -> Option<&Document> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: i32) -> Option<&mut Document> {
        self.by_id.get_mut(&id)
    }

    /// A document that the caller has this right to, as oned finds it for a call.
    pub(crate) fn open(
        &mut self,
        id: i32,
        caller: &AuthenticatedUser,
        right: NebulaRight,
    ) -> Result<&mut Document, NebulaError> {
        let document = self.open_locked(id, caller, right)?;
        document.require_unlocked(caller, right)?;
        Ok(document)
    }

    /// The same, whether it is locked or not.
    fn open_locked(
        &mut self,
        id: i32,
        caller: &AuthenticatedUser,
        right: NebulaRight,
    ) -> Result<&mut Document, NebulaError> {
        if id < 0 {
            return Err(NebulaError::unauthorized(caller, right, Document::OBJECT, None));
        }
        let document = self.by_id.get_mut(&id).ok_or_else(|| NebulaError::missing("document", id))?;
        document.require(caller, right)?;
        Ok(document)
    }

    /// Newest first, as oned lists them.
    pub(crate) fn of_kind(&self, kind: i32) -> impl Iterator<Item = &Document> {
        self.by_id.values().rev().filter(move |document| document.kind == kind)
    }

    pub(crate) fn remove(&mut self, id: i32) -> Option<Document> {
        self.by_id.remove(&id)
    }

    /// Levels: 1 use, 2 manage, 3 admin; 4 is another word for 1.
    pub(super) fn lock(
        &mut self,
        id: i32,
        caller: &AuthenticatedUser,
        level: i32,
        (time, request): (i64, i32),
    ) -> Result<(), NebulaError> {
        let document = self.open_locked(id, caller, NebulaRight::Manage)?;
        let level = match level {
            1..=3 => level,
            4 => 1,
            _ => return Err(NebulaError::new(ACTION, "Wrong lock level specified")),
        };
        if document.is_locked_by_another(caller) {
            return Err(NebulaError::new(ACTION, "Error trying to lock the resource."));
        }
        document.lock = Some(Lock { level, uid: caller.uid, time, request });
        Ok(())
    }

    pub(super) fn unlock(&mut self, id: i32, caller: &AuthenticatedUser) -> Result<(), NebulaError> {
        let document = self.open_locked(id, caller, NebulaRight::Manage)?;
        if document.is_locked_by_another(caller) {
            return Err(NebulaError::new(ACTION, "Cannot unlock: Lock is owned by another user"));
        }
        document.lock = None;
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        id: i32,
        caller: &AuthenticatedUser,
        name: &str,
    ) -> Result<(), NebulaError> {
        let document = self.open(id, caller, NebulaRight::Manage)?;
        check_new_name(name)?;
        name.clone_into(&mut document.name);
        Ok(())
    }
}

/// Stricter than the first name. The names of machines are checked so too.
pub(super) fn check_new_name(name: &str) -> Result<(), NebulaError> {
    let refuse = |why: String| Err(NebulaError::new(ACTION, why));
    if name.is_empty() {
        return refuse("Invalid NAME, it cannot be empty".into());
    }
    if let Some(refused) = name.chars().find(|c| REFUSED_IN_NAMES.contains(*c)) {
        return refuse(format!("Invalid NAME, char '{refused}' is not allowed"));
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return refuse(format!("Invalid NAME, max length is {NAME_CHARS_MAX} chars"));
    }
    Ok(())
}
