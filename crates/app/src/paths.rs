//! The data directory: the files in it, and the lock that keeps a second engine out of it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The directory in which one engine keeps everything that is its own.
#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
}

impl DataDir {
    pub fn new(path: impl Into<PathBuf>) -> DataDir {
        DataDir { path: path.into() }
    }

    /// Makes the directory, open to no other user, if it is not there. One that is there stays as it is.
    pub fn create(&self) -> Result<(), DataDirError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(|source| DataDirError::Unusable { dir: self.path.clone(), source })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn pid_file(&self) -> PathBuf {
        self.path.join("provision-engine.pid")
    }

    /// What a background engine prints, which is its log unless the log goes elsewhere.
    pub fn output_file(&self) -> PathBuf {
        self.path.join("provision-engine.out")
    }

    /// The token that the first start writes, for the owner of the directory.
    pub fn admin_token(&self) -> PathBuf {
        self.path.join("admin.token")
    }

    /// User and password of a platform, which the first start writes.
    pub fn broker_credentials(&self) -> PathBuf {
        self.path.join("broker.credentials")
    }

    /// User and password of the first user, which the first start writes.
    pub fn console_password(&self) -> PathBuf {
        self.path.join("console-password")
    }

    /// The id of the last node that worked here.
    pub fn node_file(&self) -> PathBuf {
        self.path.join("node")
    }

    fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("cannot use the data directory {}", dir.display())]
    Unusable { dir: PathBuf, source: io::Error },
    #[error(
        "another provision-engine{} already uses {}: stop it or choose another --data-dir",
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(),
        dir.display()
    )]
    InUse { dir: PathBuf, pid: Option<u32> },
}

/// The right to use a data directory. It ends with this value or with the process, however that ends.
#[derive(Debug)]
pub struct DataDirLock {
    dir: DataDir,
    // The lock belongs to the open file. The file itself stays: removing it would let two engines hold two
    // different files of the same name.
    _file: File,
}

impl DataDirLock {
    /// Makes the directory if need be and takes the lock, or says who has it.
    pub fn acquire(dir: &DataDir) -> Result<DataDirLock, DataDirError> {
        dir.create()?;
        let unusable = |source| DataDirError::Unusable { dir: dir.path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(dir.lock_file()).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DataDirError::InUse { dir: dir.path.clone(), pid: owner(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        write_owner(&mut file).map_err(unusable)?;
        Ok(DataDirLock { dir: dir.clone(), _file: file })
    }

    pub fn dir(&self) -> &DataDir {
        &self.dir
    }
}

/// The pid is for people who are refused; the lock alone decides.
fn write_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Writes a file that only the owner can read, so that it is there as a whole or not at all, even when the
/// power fails.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    // What a killed process left behind may have other permissions.
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_data_directory_is_private() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temporary.path().join("a/b"));
        dir.create().unwrap();
        dir.create().unwrap();
        assert_eq!(std::fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_second_engine_is_refused_until_the_first_is_gone() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temporary.path().join("data"));
        let lock = DataDirLock::acquire(&dir).unwrap();
        let error_response = DataDirLock::acquire(&dir).unwrap_err().to_string();
        assert_eq!(
            error_response,
            format!(
                "another provision-engine (pid {}) already uses {}: stop it or choose another --data-dir",
                std::process::id(),
                dir.path().display(),
            ),
        );
        drop(lock);
        DataDirLock::acquire(&dir).unwrap();
    }

    #[test]
    fn a_lock_file_without_a_pid_still_refuses() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = DataDir::new(temporary.path());
        let _lock = DataDirLock::acquire(&dir).unwrap();
        std::fs::write(dir.lock_file(), b"\xff").unwrap();
        let error_response = DataDirLock::acquire(&dir).unwrap_err().to_string();
        assert!(error_response.starts_with("another provision-engine already uses "), "{error_response}");
    }

    #[test]
    fn a_replaced_file_is_private_whatever_lay_there() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("node");
        fs::write(temporary.path().join("node.new"), "half").unwrap();
        for content in ["one", "two"] {
            replace_file(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = DataDirLock::acquire(&DataDir::new("/dev/null/x")).unwrap_err();
        assert_eq!(error.to_string(), "cannot use the data directory /dev/null/x");
    }
}
