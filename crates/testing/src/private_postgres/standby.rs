//! A standby that copies a primary, and the failover from one to the other.

use std::fs;
use std::net::Ipv4Addr;
use std::thread;

use super::{DYING_PAUSE, DYING_TRIES, PrivatePostgres, PrivatePostgresOptions, Result, io};

const SYNCHRONOUS: &str = "synchronous_standby_names";
/// Fails until the standby confirms commits.
const EXPECT_SYNCHRONOUS_STANDBY: &str = "do $$ begin
    if not exists (select from pg_stat_replication where sync_state in ('sync', 'quorum')) then
        raise exception 'no synchronous standby yet';
    end if;
end $$";

impl PrivatePostgres {
    /// A second server that follows this one, with the settings of this one and a port of its own.
    pub fn start_standby(&self) -> Result<PrivatePostgres> {
        let mut standby = PrivatePostgres::without_data(&PrivatePostgresOptions::default())?;
        standby.copy(self)?;
        standby.start_on_a_free_port()?;
        Ok(standby)
    }

    /// Throws away the data of this server, which does not run, and starts it on the same port as a standby of
    /// `primary`.
    pub fn follow(&self, primary: &PrivatePostgres) -> Result<()> {
        let mut tries = 0;
        // The processes of a killed server end one after the other, and may still write a file.
        while let Err(error) = fs::remove_dir_all(self.data_dir()) {
            tries += 1;
            if tries == DYING_TRIES {
                return Err(io("remove the data of the old primary")(error));
            }
            thread::sleep(DYING_PAUSE);
        }
        self.copy(primary)?;
        self.append_settings(&[("port".into(), self.port.to_string())])?;
        self.start_again()
    }

    /// From now on this primary answers a commit after a standby has it on its disk too. Returns when a standby
    /// does that.
    pub fn wait_for_standby_at_commit(&self) -> Result<()> {
        self.append_settings(&[(SYNCHRONOUS.into(), "*".into())])?;
        self.control("reload", &[])?;
        let mut tries = 0;
        while let Err(error) = self.execute(EXPECT_SYNCHRONOUS_STANDBY) {
            tries += 1;
            if tries == DYING_TRIES {
                return Err(error);
            }
            thread::sleep(DYING_PAUSE);
        }
        // The checkpointer switches the wait on when it reads the new settings, which it does before this.
        self.execute("checkpoint")
    }

    /// From now on this primary answers a commit that it has on its own disk, and no standby.
    pub fn wait_for_no_standby_at_commit(&self) -> Result<()> {
        self.append_settings(&[(SYNCHRONOUS.into(), String::new())])?;
        self.control("reload", &[])
    }

    /// Makes a primary of a standby. Returns when it accepts writes.
    pub fn promote(&self) -> Result<()> {
        self.control("promote", &[])
    }

    /// A copy of the data of `primary`, set up to follow it. It waits for no standby of its own, so that it
    /// accepts writes as soon as it is promoted.
    fn copy(&self, primary: &PrivatePostgres) -> Result<()> {
        let source = format!("host={} port={} user=postgres", Ipv4Addr::LOCALHOST, primary.port);
        let data = self.data_dir().display().to_string();
        let plain = ["--checkpoint=fast", "--wal-method=stream", "--no-sync", "--write-recovery-conf"];
        self.run("pg_basebackup", &[["--dbname", &source, "--pgdata", &data].as_slice(), &plain].concat())?;
        self.append_settings(&[(SYNCHRONOUS.into(), String::new())])
    }
}
