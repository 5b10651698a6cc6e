//! Which of the installed Postgres programs to run, and as which user.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::PrivatePostgresError;

const PROGRAMS: [&str; 5] = ["initdb", "pg_basebackup", "pg_ctl", "postgres", "psql"];

/// The user that the server runs as: we, or `postgres` when we are root, whom Postgres refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) is_another: bool,
}

impl Account {
    pub(super) fn for_server() -> Result<Account, PrivatePostgresError> {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        if !uid.is_root() {
            return Ok(Account { uid: uid.as_raw(), gid: gid.as_raw(), is_another: false });
        }
        let number = |flag| {
            let output = Command::new("id").args([flag, "postgres"]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        match (number("-u"), number("-g")) {
            (Some(uid), Some(gid)) => Ok(Account { uid, gid, is_another: true }),
            _ => Err(PrivatePostgresError::NoAccount),
        }
    }

    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if self.is_another {
            command.uid(self.uid).gid(self.gid);
        }
        // Our directory may be closed to the other user, and settings for some other server must not count
        // here.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

/// The directory with all of Postgres's programs: from `PATH`, or else the newest one where Debian puts
/// them.
pub(super) fn find_programs(account: Account) -> Result<PathBuf, PrivatePostgresError> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Links are followed, because the programs look for each other next to themselves.
    let real = |dir: PathBuf| Some(dir.join("initdb").canonicalize().ok()?.parent()?.to_owned());
    let in_path = env::split_paths(&path).filter_map(real);

    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort_by(|one, other| other.cmp(one));

    let works = |dir: &PathBuf| {
        PROGRAMS.iter().all(|program| {
            let output = account.command(&dir.join(program)).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        })
    };
    let mut candidates = in_path.chain(debian.into_iter().map(|(_, dir)| dir));
    candidates.find(works).ok_or(PrivatePostgresError::NotFound)
}
