//! Declarations in a folder: read at start, and again when a file has changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use engine::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::declaration::{DECLARATION_BYTES_MAX, Declaration, SecretSource, Wrong};
use crate::declarations::{Declarations, DeclareError, Saved};
use crate::record::Source;

const LOOK_EVERY: Duration = Duration::from_secs(1);
const FILES_MAX: usize = 1000;

/// What is wrong with a file. The version before it stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    pub file: String,
    /// Zero where the error has no place.
    pub line: u64,
    pub column: u64,
    pub message: String,
    pub at: Timestamp,
}

/// The folder, and what was last read of it.
pub struct Folder {
    path: PathBuf,
    /// Other processes may have other folders.
    has_replicas: bool,
    has_looked: bool,
    seen: BTreeMap<PathBuf, WatchedFile>,
}

struct WatchedFile {
    mark: Mark,
    /// It was there when the process started, and was not read yet. What changes later was changed by a person.
    is_from_start: bool,
    secret: Option<(PathBuf, Mark)>,
    /// What the file declares, once it was accepted.
    workflow: Option<String>,
}

/// Tells whether a file is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark(Option<(SystemTime, u64)>);

impl Mark {
    fn of(path: &Path) -> Mark {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        Mark(found.and_then(|found| Some((found.modified().ok()?, found.len()))))
    }
}

impl Folder {
    pub fn new(path: PathBuf) -> Folder {
        Folder { path, has_replicas: false, has_looked: false, seen: BTreeMap::new() }
    }

    /// The folder of one of several replicas. When it starts, a file does not bring back content that another version has
    /// replaced: another replica may have the newer file.
    #[must_use]
    pub fn of_replica(self) -> Folder {
        Folder { has_replicas: true, ..self }
    }

    /// Looks at the folder until the token is cancelled. `again` makes it read every file at once.
    pub async fn watch(
        mut self,
        declarations: Arc<Declarations>,
        again: Arc<Notify>,
        closing: CancellationToken,
    ) {
        loop {
            self.look(&declarations).await;
            tokio::select! {
                () = closing.cancelled() => return,
                () = again.notified() => self.seen.values_mut().for_each(|seen| seen.mark = Mark(None)),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Reads what has changed.
    pub async fn look(&mut self, declarations: &Declarations) {
        let files = match list(&self.path) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                warn!(folder = %self.path.display(), %error, "cannot read the folder of workflows, retrying");
                return;
            }
        };
        for path in &files {
            let mark = Mark::of(path);
            let is_same = self.seen.get(path).is_some_and(|seen| {
                seen.mark == mark && seen.secret.as_ref().is_none_or(|(path, mark)| Mark::of(path) == *mark)
            });
            if !is_same {
                self.read(declarations, path, mark).await;
            }
        }
        self.has_looked = true;
        let gone: Vec<PathBuf> = self.seen.keys().filter(|path| !files.contains(path)).cloned().collect();
        for path in gone {
            self.remove(declarations, &path).await;
        }
    }

    async fn read(&mut self, declarations: &Declarations, path: &Path, mark: Mark) {
        let file = name(path);
        let is_from_start = self.has_replicas && !self.has_looked;
        let new = WatchedFile { mark, is_from_start, secret: None, workflow: None };
        let mut seen = self.seen.remove(path).unwrap_or(new);
        seen.mark = mark;
        let declared = declare(declarations, path, &file, &mut seen).await;
        seen.is_from_start &= matches!(declared, Err(DeclareError::Store(_)));
        match declared {
            Ok(saved) => {
                if let Some(before) = seen.workflow.replace(saved.workflow.clone())
                    && before != saved.workflow
                {
                    self.end(declarations, &before, &file).await;
                }
                if saved.is_new {
                    info!(file, workflow = saved.workflow, version = saved.version, "workflow file read");
                }
                declarations.note_file(&file, None);
            }
            Err(DeclareError::Store(error)) => {
                warn!(file, %error, "cannot save a workflow, retrying");
                seen.mark = Mark(None);
            }
            Err(error) => {
                let wrong = match error {
                    DeclareError::Wrong(wrong) => wrong,
                    other => Wrong::nowhere(other.to_string()),
                };
                warn!(file, %wrong, "workflow file rejected; the version before it stays in force");
                let Wrong { line, column, message } = wrong;
                let at = declarations.now();
                declarations
                    .note_file(&file, Some(FileError { file: file.clone(), line, column, message, at }));
            }
        }
        self.seen.insert(path.to_owned(), seen);
    }

    async fn remove(&mut self, declarations: &Declarations, path: &Path) {
        let file = name(path);
        declarations.note_file(&file, None);
        if let Some(workflow) = self.seen.remove(path).and_then(|seen| seen.workflow) {
            self.end(declarations, &workflow, &file).await;
        }
    }

    async fn end(&self, declarations: &Declarations, workflow: &str, file: &str) {
        let source = Source::File(file.to_owned());
        if declarations.source_of(workflow).as_ref() != Some(&source) {
            return;
        }
        match declarations.withdraw(workflow, &format!("file {file}"), &source).await {
            Ok(()) => info!(file, workflow, "workflow file removed; the workflow takes no new operations"),
            Err(DeclareError::Missing(_)) => {}
            Err(error) => warn!(file, workflow, %error, "withdrawing the workflow of a removed file failed"),
        }
    }
}

async fn declare(
    declarations: &Declarations,
    path: &Path,
    file: &str,
    seen: &mut WatchedFile,
) -> Result<Saved, DeclareError> {
    let wrong = |why: String| DeclareError::Wrong(Wrong::nowhere(why));
    if fs::metadata(path).is_ok_and(|found| found.len() > DECLARATION_BYTES_MAX as u64) {
        return Err(wrong(format!("the file has more than {DECLARATION_BYTES_MAX} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let declaration: Declaration = declarations.check(&text)?;
    let dir = path.parent().unwrap_or(Path::new(""));
    seen.secret = match &declaration.secret {
        Some(SecretSource::File(secret)) => {
            let path = dir.join(secret);
            let mark = Mark::of(&path);
            Some((path, mark))
        }
        _ => None,
    };
    let secret = declaration.secret.as_ref().map(|place| place.read(dir)).transpose().map_err(wrong)?;
    let source = Source::File(file.to_owned());
    if seen.is_from_start {
        declarations.check_not_replaced(&declaration, &source).await?;
    }
    declarations.declare(&declaration, secret, &format!("file {file}"), &source).await
}

fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let is_hidden = name(&path).starts_with('.');
        if is_yaml && !is_hidden && files.len() < FILES_MAX {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
