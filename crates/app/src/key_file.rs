//! The file of the key ring: read by servers, changed by one command at a time, never half written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use engine::secret::KeyRing;
use zeroize::Zeroizing;

use crate::paths::replace_file;

#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

/// What is different whenever the file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    inode: u64,
    changed_at: (i64, i64),
    length: u64,
}

impl KeyFile {
    pub fn new(path: impl Into<PathBuf>) -> KeyFile {
        KeyFile { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ring, or nothing when there is no such file.
    pub fn read(&self) -> Result<Option<KeyRing>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read the key ring {}", self.path.display()));
            }
        };
        let ring = KeyRing::parse(&text).with_context(|| format!("in {}", self.path.display()))?;
        Ok(Some(ring))
    }

    /// Changes the ring under a lock, so that no other process does. `None` when there is no file yet.
    pub fn change<T>(&self, change: impl FnOnce(Option<KeyRing>) -> Result<(KeyRing, T)>) -> Result<T> {
        let lock =
            self.lock().with_context(|| format!("cannot lock the key ring {}", self.path.display()))?;
        let before = self.read()?;
        let text = before.as_ref().map(KeyRing::to_text);
        let (ring, answer) = change(before)?;
        if text.is_none_or(|text| *text != *ring.to_text()) {
            self.write(&ring)
                .with_context(|| format!("cannot write the key ring {}", self.path.display()))?;
        }
        drop(lock);
        Ok(answer)
    }

    /// The lock has a file of its own, because the ring's file is replaced and not written over.
    fn lock(&self) -> io::Result<File> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, ring: &KeyRing) -> io::Result<()> {
        replace_file(&self.path, ring.to_text().as_bytes())
    }

    pub fn changed_at(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).ok()?.modified().ok()
    }

    pub fn version(&self) -> Option<FileVersion> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some(FileVersion {
            inode: metadata.ino(),
            changed_at: (metadata.mtime(), metadata.mtime_nsec()),
            length: metadata.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use engine::Timestamp;

    use super::*;

    fn key_file(dir: &tempfile::TempDir) -> KeyFile {
        KeyFile::new(dir.path().join("keys.json"))
    }

    fn rotate(file: &KeyFile) -> String {
        let rotated = file.change(|ring| {
            let Some(mut ring) = ring else { return Ok((KeyRing::generate(), "new".to_owned())) };
            let id = ring.rotate(Timestamp(1)).to_owned();
            Ok((ring, id))
        });
        rotated.unwrap()
    }

    #[test]
    fn a_changed_ring_is_private_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(&dir);
        assert!(file.read().unwrap().is_none());
        assert_eq!(rotate(&file), "new");
        let before = file.version();
        let active = rotate(&file);
        assert_ne!(file.version(), before);
        let ring = file.read().unwrap().unwrap();
        assert_eq!((ring.active(), ring.ids().count()), (active.as_str(), 2));
        let before = file.version();
        file.change(|ring| Ok((ring.unwrap(), ()))).unwrap();
        assert_eq!(file.version(), before, "a ring that did not change is not written");
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn many_at_once_lose_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(&dir);
        rotate(&file);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| rotate(&file));
            }
        });
        assert_eq!(file.read().unwrap().unwrap().ids().count(), 9);
    }

    #[test]
    fn a_damaged_ring_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = key_file(&dir);
        rotate(&file);
        fs::write(file.path(), "{").unwrap();
        assert!(file.change(|_| Ok((KeyRing::generate(), ()))).is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "{");
    }
}
