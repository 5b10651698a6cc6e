//! One log file of a component: begun anew with every start and at a certain size, while a few older ones stay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Clock;
use tracing::warn;

use super::component_line::{LogTime, header};
use super::outputs::whole_line;

/// More seconds than these are not tried for the name of a file that is put aside.
const NAMES_MAX: i64 = 1_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct FileLimits {
    /// The size at which a file is put aside.
    pub(super) bytes: u64,
    /// How many of those put aside stay.
    pub(super) keep: usize,
}

pub(super) struct ComponentFile {
    path: PathBuf,
    limits: FileLimits,
    has_header: bool,
    clock: Arc<dyn Clock>,
    reopen: Arc<AtomicBool>,
    file: File,
    length: u64,
    is_torn: bool,
    /// Whether the log already says that this file cannot be written.
    has_complained: bool,
}

impl ComponentFile {
    /// Puts an older file aside and begins a new one.
    pub(super) fn open(
        path: PathBuf,
        limits: FileLimits,
        has_header: bool,
        clock: Arc<dyn Clock>,
        reopen: Arc<AtomicBool>,
    ) -> io::Result<ComponentFile> {
        let now = LogTime::of(clock.now());
        if has_header && fs::metadata(&path).is_ok_and(|file| file.len() == header(now).len() as u64) {
            // Starts that fail at once must not push out the logs of those that did something.
            File::options().write(true).truncate(true).open(&path)?;
        }
        set_aside(&path, limits.keep, now.epoch())?;
        let (file, length) = append(&path)?;
        let mut file = ComponentFile {
            path,
            limits,
            has_header,
            clock,
            reopen,
            file,
            length,
            is_torn: false,
            has_complained: false,
        };
        file.begin();
        Ok(file)
    }

    /// The first line of an empty file. A disk that has no room for it has none for other lines either.
    fn begin(&mut self) {
        if self.has_header && self.length == 0 {
            let first = header(LogTime::of(self.clock.now()));
            self.put(first.as_bytes());
        }
    }

    fn put(&mut self, line: &[u8]) {
        match whole_line(&mut self.file, &mut self.is_torn, line) {
            Ok(written) => self.length += written as u64,
            Err(error) if self.has_complained => drop(error),
            Err(error) => {
                self.has_complained = true;
                let (file, error) = (self.path.display(), &error as &dyn std::error::Error);
                warn!(%file, error, "writing a log file failed; lines are lost until it succeeds");
            }
        }
    }

    fn anew(&mut self) -> io::Result<()> {
        (self.file, self.length) = append(&self.path)?;
        (self.is_torn, self.has_complained) = (false, false);
        self.begin();
        Ok(())
    }

    fn rotate(&mut self) {
        let now = LogTime::of(self.clock.now()).epoch();
        let turned = set_aside(&self.path, self.limits.keep, now).and_then(|()| self.anew());
        if turned.is_err() {
            // Where nothing can be renamed the file goes on, and the next try is one size later.
            self.length = 0;
        }
    }
}

impl Write for ComponentFile {
    /// Never fails: the thread that writes cannot report an error, and the next line must have its chance.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.reopen.swap(false, Ordering::Relaxed) {
            // The file that is open stays in use where no other one can be opened.
            let _ = self.anew();
        }
        if self.length > 0 && self.length + line.len() as u64 > self.limits.bytes {
            self.rotate();
        }
        self.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Moves `engine.log` to `engine.log.1693269110` and removes those that are too many.
fn set_aside(path: &Path, keep: usize, now: i64) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        // Only plain files are moved: a pipe or a device was put there on purpose, and stays.
        Ok(metadata) if !metadata.is_file() || metadata.len() == 0 => return Ok(()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let name = |epoch: i64| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{epoch}"));
        PathBuf::from(name)
    };
    let free = (now..now + NAMES_MAX).map(name).find(|name| fs::symlink_metadata(name).is_err());
    let free = free.ok_or_else(|| io::Error::other("too many logs were put aside in the last minutes"))?;
    fs::rename(path, free)?;
    prune(path, keep)
}

fn prune(path: &Path, keep: usize) -> io::Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let epoch = |name: &Path| {
        let name = name.file_name()?.to_str()?;
        let rest = name.strip_prefix(path.file_name()?.to_str()?)?.strip_prefix('.')?;
        rest.parse::<i64>().ok()
    };
    let entries = fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut older: Vec<(i64, PathBuf)> = entries.filter_map(|path| Some((epoch(&path)?, path))).collect();
    older.sort();
    let too_many = older.len().saturating_sub(keep);
    for (_, path) in older.drain(..too_many) {
        // One that cannot be removed now is tried again with the next rotation.
        let _ = fs::remove_file(path);
    }
    Ok(())
}
