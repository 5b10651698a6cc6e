//! Overrides from a directory of YAML files. Changes are noticed when the files are used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use http_client::DriverError;
use tracing::warn;

use super::labelled::{Labelled, in_order};
use super::{OverrideSet, OverrideSource, document};

/// The same as the limit of an object in Kubernetes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const FILES_MAX: usize = 1000;
const ENTRIES_MAX: usize = 10_000;
const SYSTEM: &str = "the directory of overrides";

/// A directory, and what is known of its files.
#[derive(Debug, Clone)]
pub struct OverrideFiles {
    dir: PathBuf,
    known: Arc<Mutex<FileCache>>,
}

/// By the name of the file, which is also the order in which they apply.
type FileCache = BTreeMap<String, FilePage>;

#[derive(Debug, Default)]
struct FilePage {
    /// What the objects were read from. `None` when it could not be read, so that it is tried again.
    stamp: Option<Stamp>,
    /// As of the last time that all was well.
    objects: Vec<Labelled>,
    /// What is wrong with the file as it is now.
    page_error: Option<String>,
}

/// Differs when a file has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    /// A mount of Kubernetes is renewed by pointing its links elsewhere.
    target: PathBuf,
    changed_at: Option<SystemTime>,
    bytes: u64,
}

impl OverrideFiles {
    /// Reads everything once. Here a wrong file is an error; later it would be a warning, and the file would apply as
    /// it was before.
    pub fn open(dir: &Path) -> Result<OverrideFiles, String> {
        let mut known = FileCache::new();
        refresh(dir, &mut known).map_err(|error| format!("{}: {error}", dir.display()))?;
        if let Some((name, page_error)) =
            known.iter().find_map(|(name, page)| Some((name, page.page_error.as_ref()?)))
        {
            return Err(format!("{}: {page_error}", dir.join(name).display()));
        }
        Ok(OverrideFiles { dir: dir.to_owned(), known: Arc::new(Mutex::new(known)) })
    }
}

#[async_trait]
impl OverrideSource for OverrideFiles {
    fn name(&self) -> &'static str {
        "overrides_from_files"
    }

    fn title(&self) -> &'static str {
        "Reading overrides from files"
    }

    async fn overrides(&self, plan: &str, version: &str) -> Result<Vec<OverrideSet>, DriverError> {
        let (this, plan, version) = (self.clone(), plan.to_owned(), version.to_owned());
        let read = move || {
            let mut known = this.known.lock().unwrap_or_else(PoisonError::into_inner);
            refresh(&this.dir, &mut known)?;
            let objects = known.values().flat_map(|page| &page.objects);
            Ok(in_order(objects.filter(|object| object.applies(&plan, &version))))
        };
        let done = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()));
        done.map_err(|cause| DriverError::Broken { system: SYSTEM, cause })
    }
}

/// Reads what has changed, and forgets what is gone. A wrong file keeps its last good objects.
fn refresh(dir: &Path, known: &mut FileCache) -> Result<(), String> {
    let root = dir.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    let names = names(&root)?;
    known.retain(|name, _| names.contains(name));
    for name in names {
        let page = known.entry(name.clone()).or_default();
        let page_error = match page.renew(&root, &name) {
            Ok(()) => continue,
            Err(page_error) => page_error,
        };
        if page.page_error.as_ref() != Some(&page_error) {
            warn!(file = %root.join(&name).display(), %page_error, "reading overrides failed, keeping the previous ones");
            page.page_error = Some(page_error);
        }
    }
    let entries: usize =
        known.values().flat_map(|page| &page.objects).map(|object| object.entries.len()).sum();
    if entries > ENTRIES_MAX {
        return Err(format!("has {entries} overrides; at most {ENTRIES_MAX} are allowed"));
    }
    Ok(())
}

/// Names that begin with a dot are the machinery of Kubernetes, or of an editor.
fn names(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(|error| format!("cannot be read: {error}"))? {
        let entry = entry.map_err(|error| format!("cannot be read: {error}"))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_yaml = Path::new(&name).extension().is_some_and(|end| end == "yaml" || end == "yml");
        if is_yaml && !name.starts_with('.') {
            names.push(name);
        }
        if names.len() > FILES_MAX {
            return Err(format!("has more than {FILES_MAX} files"));
        }
    }
    Ok(names)
}

impl FilePage {
    /// `Err` says what is wrong with the file now.
    fn renew(&mut self, root: &Path, name: &str) -> Result<(), String> {
        let stamp = stamp(root, name).inspect_err(|_| self.stamp = None)?;
        if self.stamp.as_ref() == Some(&stamp) {
            return self.page_error.clone().map_or(Ok(()), Err);
        }
        let text = text(&stamp.target).inspect_err(|_| self.stamp = None)?;
        self.stamp = Some(stamp);
        self.page_error = None;
        self.objects = document::read(name, &text)?;
        Ok(())
    }
}

fn stamp(root: &Path, name: &str) -> Result<Stamp, String> {
    let target = root.join(name).canonicalize().map_err(|error| format!("cannot be found: {error}"))?;
    if !target.starts_with(root) {
        return Err("is a link that leads out of the directory".into());
    }
    let meta = fs::metadata(&target).map_err(|error| format!("cannot be found: {error}"))?;
    if !meta.is_file() {
        return Err("is not a file".into());
    }
    Ok(Stamp { target, changed_at: meta.modified().ok(), bytes: meta.len() })
}

fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let mut limited = file.take(FILE_BYTES_MAX + 1);
    limited.read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    if limited.limit() == 0 {
        return Err(format!("is longer than {FILE_BYTES_MAX} bytes"));
    }
    Ok(text)
}
