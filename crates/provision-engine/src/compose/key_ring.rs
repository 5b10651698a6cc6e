//! Where the key ring comes from. It is a file; servers that share a `PostgreSQL` database and were told nothing
//! about keys hand each other the ring through that database, sealed with a key made from its password.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use engine::secret::{ExposeSecret, KeyRing, Sealed, Sealer, SecretString, SharedRing};
use engine::{AccessStore, Clock, WallClock};
use store::PostgresStore;
use tracing::{info, warn};

use crate::config::{Config, Database, Origin};
use crate::key_file::KeyFile;

/// The name of the shared value, and what it is sealed for.
const NAME: &str = "key-ring";
/// How often a running server looks whether the keys have changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often to begin anew when others change the ring at the same time.
const TRIES: usize = 20;

/// The keys of a server: the file, and the ring of all servers where there is one.
#[derive(Clone)]
pub(crate) struct Keys {
    file: KeyFile,
    access: Arc<dyn AccessStore>,
    /// The database URL, when the ring is shared through that database.
    shared_by: Option<SecretString>,
}

impl Keys {
    pub(crate) fn new(config: &Config, access: &Arc<dyn AccessStore>) -> Keys {
        let is_default =
            config.origins().of("secrets.key_ring").is_none_or(|origin| *origin == Origin::Default);
        let shared_by = match &config.store.database {
            Database::Postgres(url) if is_default => Some(url.clone()),
            _ => None,
        };
        let file = KeyFile::new(&config.secrets.key_ring);
        Keys { file, access: Arc::clone(access), shared_by }
    }

    /// The ring to begin with. A new one is only for a new database: with the wrong keys nothing that was
    /// sealed before opens again.
    pub(crate) async fn open(&self) -> Result<KeyRing> {
        let Some(sealer) = self.sealer().await? else { return self.open_file().await };
        for _ in 0..TRIES {
            let shared = self.access.shared(NAME).await.context("cannot read the database")?;
            let ring = match &shared {
                Some(shared) => self.agree(&sealer, shared)?,
                None => match self.file.read()? {
                    Some(ring) => ring,
                    None => self.make().await?,
                },
            };
            if self.publish(&sealer, shared.as_deref(), &ring).await? {
                return self.write(ring);
            }
        }
        bail!("other servers keep changing the key ring; start again")
    }

    async fn open_file(&self) -> Result<KeyRing> {
        match self.file.read()? {
            Some(ring) => Ok(ring),
            None => self.write(self.make().await?),
        }
    }

    async fn make(&self) -> Result<KeyRing> {
        let tokens = self.access.tokens().await.context("cannot read the database")?;
        if !tokens.is_empty() {
            bail!(
                "the database is in use, but its key ring {} is missing: copy the file from the server that \
                 has it, or let `secrets.key_ring` point to it; if it is lost for ever, `provision-engine \
                 keys rotate` makes a new one, and what was sealed before stays sealed",
                self.file.path().display()
            );
        }
        Ok(KeyRing::generate())
    }

    /// What the file and the shared ring say together.
    fn agree(&self, sealer: &Sealer, shared: &str) -> Result<KeyRing> {
        let local = self.file.read()?;
        match (unseal(sealer, shared), local) {
            (Ok(ring), None) => Ok(ring),
            (Ok(mut ring), Some(local)) => {
                ring.merge(&local).with_context(|| format!("in {}", self.file.path().display()))?;
                Ok(ring)
            }
            (Err(_), Some(local)) => {
                warn!("the shared key ring does not open, as after a change of the password; sharing ours");
                Ok(local)
            }
            (Err(error), None) => Err(error).with_context(|| {
                format!(
                    "the key ring in the database does not open with this password: copy {} from a server \
                     that has it, or let `secrets.key_ring` point to it",
                    self.file.path().display()
                )
            }),
        }
    }

    /// Puts the ring into the database unless it is there; `false` when somebody else was faster.
    async fn publish(&self, sealer: &Sealer, before: Option<&str>, ring: &KeyRing) -> Result<bool> {
        let text = ring.to_text();
        let is_there = before
            .is_some_and(|before| unseal(sealer, before).is_ok_and(|shared| *shared.to_text() == *text));
        if is_there {
            return Ok(true);
        }
        let sealed = sealer.seal(&SecretString::from(text.as_str().to_owned()));
        self.access.share(NAME, before, sealed.as_str()).await.context("cannot share the key ring")
    }

    fn write(&self, ring: KeyRing) -> Result<KeyRing> {
        let text = ring.to_text();
        if self.file.read()?.is_none_or(|local| *local.to_text() != *text) {
            self.file.change(|_| Ok((KeyRing::parse(&text)?, ())))?;
        }
        Ok(ring)
    }

    /// Seals with a key made from the password of the database, which every server of it knows.
    async fn sealer(&self) -> Result<Option<Sealer>> {
        let Some(url) = &self.shared_by else { return Ok(None) };
        let password =
            PostgresStore::password(url.expose_secret()).context("the database URL cannot be read")?;
        let Some(password) = password else {
            info!("the database has no password, so its key ring is only as safe as the database itself");
            return Ok(Some(sealer_of([0; 32])));
        };
        let key = tokio::task::spawn_blocking(move || {
            let mut key = [0; 32];
            argon2::Argon2::default()
                .hash_password_into(&password, b"provision-engine key ring", &mut key)
                .map(|()| key)
        });
        match key.await.context("cannot derive a key")? {
            Ok(key) => Ok(Some(sealer_of(key))),
            Err(error) => bail!("cannot derive a key from the password of the database: {error}"),
        }
    }

    /// Keeps the ring of a running server like the file and like the ring of the others, until dropped. The
    /// file is what a person changes, so it wins when it has changed.
    pub(crate) async fn follow(&self, ring: &SharedRing) -> Infallible {
        let mut seen_file = self.file.version();
        let mut seen_shared = None;
        loop {
            WallClock.sleep(LOOK_EVERY).await;
            let version = self.file.version();
            if version != seen_file {
                if !self.reload(ring).await {
                    // The others do not know yet: tell them the next time.
                    continue;
                }
            } else if let Some(shared) = self.news(seen_shared.as_deref()).await {
                self.take_over(&shared, ring).await;
                seen_shared = Some(shared);
            }
            seen_file = self.file.version();
        }
    }

    /// Takes the file as it is now and tells the others; `false` when they could not be told. A file that cannot
    /// be read leaves the server with the keys that it has.
    pub(crate) async fn reload(&self, ring: &SharedRing) -> bool {
        match self.file.read() {
            Ok(Some(keys)) => {
                info!(active = keys.active(), "read the key ring again");
                let told = self.tell(&keys).await;
                ring.replace(keys);
                if let Err(error) = told {
                    warn!(error = format!("{error:#}"), "cannot tell the other servers about the keys");
                    return false;
                }
            }
            Ok(None) => {
                warn!(file = %self.file.path().display(), "the key ring is gone; going on with the keys in memory");
            }
            Err(error) => {
                warn!(error = format!("{error:#}"), "cannot read the key ring; going on with the old one");
            }
        }
        true
    }

    /// The ring in the file, and when that was last changed.
    pub(super) fn list(&self) -> Result<(KeyRing, Option<SystemTime>)> {
        let ring = self.file.read()?.context("the key ring is gone")?;
        Ok((ring, self.file.changed_at()))
    }

    /// The same after a new key was added, which seals as soon as the ring is read again.
    pub(super) fn rotate(&self) -> Result<(KeyRing, Option<SystemTime>)> {
        self.file.change(|ring| {
            let mut ring = ring.context("the key ring is gone")?;
            ring.rotate();
            Ok((ring, ()))
        })?;
        self.list()
    }

    /// Adds to the shared ring what the file has, or takes away what a person took out of the file.
    async fn tell(&self, ring: &KeyRing) -> Result<()> {
        let Some(sealer) = self.sealer().await? else { return Ok(()) };
        for _ in 0..TRIES {
            let shared = self.access.shared(NAME).await?;
            let mut all = KeyRing::parse(&ring.to_text())?;
            if let Some(Ok(others)) = shared.as_deref().map(|shared| unseal(&sealer, shared)) {
                let has_news = ring.ids().any(|id| !others.ids().any(|other| other == id));
                if has_news {
                    all.merge(&others).context("two servers were given different keys of the same name")?;
                }
            }
            if self.publish(&sealer, shared.as_deref(), &all).await? {
                return Ok(());
            }
        }
        bail!("other servers keep changing the key ring")
    }

    /// The shared ring, when it is not the one that was seen before.
    async fn news(&self, seen: Option<&str>) -> Option<String> {
        self.shared_by.as_ref()?;
        let shared = self.access.shared(NAME).await.ok()??;
        (Some(shared.as_str()) != seen).then_some(shared)
    }

    async fn take_over(&self, shared: &str, ring: &SharedRing) {
        let taken = async {
            let Some(sealer) = self.sealer().await? else { return anyhow::Ok(()) };
            ring.replace(self.write(unseal(&sealer, shared)?)?);
            Ok(())
        };
        if let Err(error) = taken.await {
            warn!(error = format!("{error:#}"), "cannot take over the keys of the other servers");
        }
    }
}

fn sealer_of(key: [u8; 32]) -> Sealer {
    Sealer::new(&SharedRing::new(KeyRing::from_key(key)), NAME)
}

fn unseal(sealer: &Sealer, shared: &str) -> Result<KeyRing> {
    let text = sealer.open(&Sealed::parse(shared)?)?;
    Ok(KeyRing::parse(text.expose_secret())?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use engine::store::MemoryStore;
    use tempfile::TempDir;

    use super::*;

    /// A server with a directory of its own, on the database that this URL stands for.
    fn server(access: &Arc<MemoryStore>, url: Option<&str>) -> (Keys, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::new(dir.path().join("keys.json"));
        let shared_by = url.map(SecretString::from);
        (Keys { file, access: Arc::clone(access) as Arc<_>, shared_by }, dir)
    }

    const URL: &str = "postgres://engine:secret@db/engine";

    #[tokio::test]
    async fn servers_of_one_database_agree_on_one_ring_however_they_start() {
        let access = Arc::new(MemoryStore::new());
        let servers: Vec<_> = (0..5).map(|_| server(&access, Some(URL))).collect();
        let rings = futures_util::future::join_all(servers.iter().map(|(keys, _)| keys.open())).await;
        let texts: Vec<String> = rings.into_iter().map(|ring| ring.unwrap().to_text().to_string()).collect();
        assert!(texts.iter().all(|text| *text == texts[0]));
        let shared = access.shared(NAME).await.unwrap().unwrap();
        assert!(shared.starts_with("sealed:"), "the ring is in the database in clear");
    }

    #[tokio::test]
    async fn every_address_of_a_database_opens_the_same_ring() {
        let access = Arc::new(MemoryStore::new());
        let (first, _dir) = server(&access, Some(URL));
        let ring = first.open().await.unwrap();
        for (hosts, parameters) in
            [("one:1,two:2", "target_session_attrs=read-write"), ("db", "sslmode=verify-full")]
        {
            let url = format!("postgres://engine:secret@{hosts}/engine?{parameters}");
            let (other, _dir) = server(&access, Some(&url));
            assert_eq!(*other.open().await.unwrap().to_text(), *ring.to_text(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_rotated_ring_reaches_the_others() {
        let access = Arc::new(MemoryStore::new());
        let ((one, _one), (two, _two)) = (server(&access, Some(URL)), server(&access, Some(URL)));
        let (first, second) =
            (SharedRing::new(one.open().await.unwrap()), SharedRing::new(two.open().await.unwrap()));
        one.file
            .change(|ring| {
                let mut ring = ring.unwrap();
                ring.rotate();
                Ok((ring, ()))
            })
            .unwrap();
        one.reload(&first).await;
        let news = two.news(None).await.unwrap();
        two.take_over(&news, &second).await;
        assert_eq!((first.active(), second.active()), ("k2".into(), "k2".into()));
        assert_eq!(two.file.read().unwrap().unwrap().active(), "k2", "also after a restart");
    }

    #[tokio::test]
    async fn another_password_opens_nothing_but_who_has_the_file_goes_on() {
        let access = Arc::new(MemoryStore::new());
        let (old, dir) = server(&access, Some(URL));
        let ring = old.open().await.unwrap();
        let changed = "postgres://engine:other@db/engine";
        let (stranger, _dir) = server(&access, Some(changed));
        let error = format!("{:#}", stranger.open().await.unwrap_err());
        assert!(error.contains("does not open with this password"), "{error}");
        let same =
            Keys { file: old.file.clone(), access: old.access.clone(), shared_by: Some(changed.into()) };
        assert_eq!(*same.open().await.unwrap().to_text(), *ring.to_text());
        assert_eq!(*stranger.open().await.unwrap().to_text(), *ring.to_text(), "and shares it anew");
        drop(dir);
    }

    #[tokio::test]
    async fn a_file_of_its_own_never_goes_into_the_database() {
        let access = Arc::new(MemoryStore::new());
        let (keys, _dir) = server(&access, None);
        let ring = SharedRing::new(keys.open().await.unwrap());
        assert_eq!(access.shared(NAME).await.unwrap(), None);
        fs::write(keys.file.path(), "{").unwrap();
        keys.reload(&ring).await;
        assert_eq!(ring.active(), "k1", "a damaged file leaves the server with the keys that it has");
        fs::remove_file(keys.file.path()).unwrap();
        keys.reload(&ring).await;
        assert_eq!(ring.active(), "k1");
    }
}
