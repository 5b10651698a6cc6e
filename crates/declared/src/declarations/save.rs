//! Accepting a declaration, and ending one.

use engine::Resource;
use engine::secret::{ExposeSecret, Sealed, Sealer, SecretString};
use engine::store::{Expect, ResourceRow};

use super::{Declarations, DeclareError, Saved};
use crate::declaration::{Declaration, Wrong};
use crate::record::{Head, Source, TENANT, VersionLine, VersionRecord};

/// How often a change is begun anew because another process was faster.
const TRIES_MAX: usize = 20;
/// How many workflows there may be.
const WORKFLOWS_MAX: usize = 1000;

impl Declarations {
    /// Makes a declaration the one that new operations begin with. The same content again changes nothing.
    pub async fn declare(
        &self,
        declaration: &Declaration,
        secret: Option<SecretString>,
        by: &str,
        source: &Source,
    ) -> Result<Saved, DeclareError> {
        let _one_at_a_time = self.saving.lock().await;
        for _ in 0..TRIES_MAX {
            let found = self.head(&declaration.workflow).await?;
            if let Some((_, head)) = &found {
                check_source(head, source)?;
            }
            if let Some(saved) = self.try_declare(declaration, secret.as_ref(), by, source, found).await? {
                drop(self.read_changes().await);
                self.tidy(&saved.workflow).await;
                return Ok(saved);
            }
        }
        Err(DeclareError::Conflict(format!(
            "{} is changed by others at the moment; try again",
            declaration.workflow
        )))
    }

    /// Whether this content was in force, came from the same file, and was replaced or ended.
    pub(crate) async fn check_not_replaced(
        &self,
        declaration: &Declaration,
        source: &Source,
    ) -> Result<(), DeclareError> {
        let head = self.head(&declaration.workflow).await?.map(|(_, head)| head);
        let Some(head) = head.filter(|head| head.source == *source) else { return Ok(()) };
        if head.current().is_some_and(|line| line.digest == declaration.digest) {
            return Ok(());
        }
        let same = head.versions.iter().rev().find(|line| line.digest == declaration.digest);
        let Some((version, at)) = same.and_then(|line| Some((line.version, line.replaced_at?))) else {
            return Ok(());
        };
        Err(DeclareError::Conflict(format!(
            "this is version {version}, which was replaced at {at}; a start does not bring it back, because another \
             replica may have the newer file. Change the file while the server runs, or count up revision in it"
        )))
    }

    /// Nothing when another process was faster.
    async fn try_declare(
        &self,
        declaration: &Declaration,
        secret: Option<&SecretString>,
        by: &str,
        source: &Source,
        found: Option<(ResourceRow, Head)>,
    ) -> Result<Option<Saved>, DeclareError> {
        let (workflow, now) = (&declaration.workflow, self.engine.now());
        let name = Head::name(workflow);
        let sealer = self.engine.sealer(TENANT, &name);
        let (expect, mut head) = if let Some((row, head)) = found {
            (Expect::Version(row.version), head)
        } else {
            let missing = || Wrong::nowhere("secret is missing: services check with it that a call is ours");
            let secret = sealer.seal(secret.ok_or_else(missing)?);
            // Another process may still have the versions of one that has ended: their numbers are not used again.
            let row = self.engine.resource(&name).await?;
            let ended = row.as_ref().and_then(|row| serde_json::from_str::<Head>(&row.record).ok());
            let last = ended.map_or(0, |head| head.last);
            let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
            (expect, Head { last, ..self.new_head(workflow, source, secret)? })
        };
        let mut is_changed = take_secret(&mut head, secret, &sealer);
        let is_same = head.current().is_some_and(|line| line.digest == declaration.digest);
        if !is_same {
            is_changed = true;
            head.last += 1;
            let version = head.last;
            for line in head.versions.iter_mut().filter(|line| line.replaced_at.is_none()) {
                line.replaced_at = Some(now);
            }
            let (by, digest) = (by.to_owned(), declaration.digest.clone());
            head.versions.push(VersionLine {
                version,
                digest: digest.clone(),
                by,
                at: now,
                replaced_at: None,
            });
            head.offered = Some(version);
            (head.source, head.deleted_by) = (source.clone(), None);
            let (workflow, text) = (workflow.clone(), declaration.text.clone());
            let record = VersionRecord { workflow, version, digest, text, gone_at: None };
            // What a process left here that died before the next write has no meaning.
            let place = VersionRecord::name(&record.workflow, version, &record.digest);
            if !self.write(&place, &record).await? {
                return Ok(None);
            }
        }
        let saved = Saved { workflow: workflow.clone(), version: head.last, is_new: !is_same };
        if !is_changed {
            return Ok(Some(saved));
        }
        let written = self.engine.write_resource(&name, TENANT, expect, Some(record_update(&head)?)).await?;
        Ok(written.then_some(saved))
    }

    fn new_head(&self, workflow: &str, source: &Source, secret: Sealed) -> Result<Head, DeclareError> {
        if self.all().len() >= WORKFLOWS_MAX {
            let message = format!("there are {WORKFLOWS_MAX} declared workflows; delete one first");
            return Err(DeclareError::Conflict(message));
        }
        Ok(Head {
            workflow: workflow.to_owned(),
            offered: None,
            last: 0,
            source: source.clone(),
            secret,
            versions: Vec::new(),
            deleted_by: None,
            gone_at: None,
        })
    }

    /// Ends a workflow for new operations. Those under way go on with their versions.
    pub async fn withdraw(&self, workflow: &str, by: &str, source: &Source) -> Result<(), DeclareError> {
        let _one_at_a_time = self.saving.lock().await;
        for _ in 0..TRIES_MAX {
            let found = self.head(workflow).await?.filter(|(_, head)| head.offered.is_some());
            let (row, mut head) = found.ok_or_else(|| DeclareError::Missing(workflow.to_owned()))?;
            check_source(&head, source)?;
            let now = self.engine.now();
            for line in head.versions.iter_mut().filter(|line| line.replaced_at.is_none()) {
                line.replaced_at = Some(now);
            }
            (head.offered, head.deleted_by) = (None, Some(by.to_owned()));
            let expect = Expect::Version(row.version);
            if self.engine.write_resource(&row.name, TENANT, expect, Some(record_update(&head)?)).await? {
                drop(self.read_changes().await);
                self.tidy(workflow).await;
                return Ok(());
            }
        }
        Err(DeclareError::Conflict(format!("{workflow} is changed by others at the moment; try again")))
    }

    pub(super) async fn head(&self, workflow: &str) -> Result<Option<(ResourceRow, Head)>, DeclareError> {
        let row = self.engine.resource(&Head::name(workflow)).await?;
        let Some(row) = row.filter(|row| row.kind == Head::KIND && row.gone_at.is_none()) else {
            return Ok(None);
        };
        let unreadable =
            |_| DeclareError::Conflict(format!("the record of {workflow} is of a newer release"));
        let head = serde_json::from_str(&row.record).map_err(unreadable)?;
        Ok(Some((row, head)))
    }

    /// Writes a record whatever was there. `false` when another process was faster.
    pub(super) async fn write<R: Resource>(&self, name: &str, record: &R) -> Result<bool, DeclareError> {
        let expect = self.expect_of(name).await?;
        Ok(self.engine.write_resource(name, TENANT, expect, Some(record_update(record)?)).await?)
    }

    async fn expect_of(&self, name: &str) -> Result<Expect, DeclareError> {
        let row = self.engine.resource(name).await?;
        Ok(row.map_or(Expect::Absent, |row| Expect::Version(row.version)))
    }
}

/// Whether the head has another secret now.
fn take_secret(head: &mut Head, secret: Option<&SecretString>, sealer: &Sealer) -> bool {
    let Some(secret) = secret else { return false };
    let before = sealer.open(&head.secret);
    if before.is_ok_and(|before| before.expose_secret() == secret.expose_secret()) {
        return false;
    }
    head.secret = sealer.seal(secret);
    true
}

pub(super) fn record_update<R: Resource>(record: &R) -> Result<engine::store::RecordUpdate, DeclareError> {
    record.record_update().map_err(DeclareError::Conflict)
}

/// A file and the API do not change each other's workflows: the next start would undo it.
fn check_source(head: &Head, source: &Source) -> Result<(), DeclareError> {
    let name = &head.workflow;
    match (&head.source, source) {
        _ if head.offered.is_none() => Ok(()),
        (Source::File(file), Source::Api) => {
            Err(DeclareError::Conflict(format!("{name} comes from the file {file}; change or remove that")))
        }
        (Source::Api, Source::File(_)) => Err(DeclareError::Conflict(format!(
            "{name} was declared through the API; delete it there, or choose another name"
        ))),
        (Source::File(before), Source::File(now)) if before != now => {
            Err(DeclareError::Conflict(format!("{name} comes from the file {before} already")))
        }
        _ => Ok(()),
    }
}
