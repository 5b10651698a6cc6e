//! Where the key ring comes from. It is a file; servers that share a `PostgreSQL` database and were told nothing
//! about keys hand each other the ring through that database, sealed with a key made from its password.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use engine::secret::{
    ExposeSecret, KeyRing, Sealed, SealedCount, Sealer, SecretString, SharedRing, count_sealed, reseal,
};
use engine::store::{SealedStore, StoreError};
use engine::{AccessStore, Clock, Timestamp, WallClock};
use store::PostgresStore;
use tracing::{info, warn};

use super::database::DatabaseReader;
use crate::config::{Config, Database, Origin};
use crate::key_file::KeyFile;

/// The name of the shared value, and what it is sealed for.
const NAME: &str = "key-ring";
/// How often a running server looks whether the keys have changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often a running server looks through the database for values of a retiring key.
const RESEAL_EVERY: Duration = Duration::from_secs(60);
/// How often to begin anew when others change the ring at the same time.
const TRIES: usize = 20;

/// What becomes of a shared ring that does not open with this password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unopened {
    /// A start after a change of the password: the ring of the file takes its place.
    ShareOurs,
    /// A running server may be the one with the old password: the shared ring stays as it is.
    Keep,
}

/// The keys of a server: the file, and the ring of all servers where there is one.
#[derive(Clone)]
pub struct LoadedKeys {
    file: KeyFile,
    access: Arc<dyn AccessStore>,
    sealed: Arc<dyn SealedStore>,
    /// The database URL, when the ring is shared through that database.
    shared_by: Option<SecretString>,
}

impl LoadedKeys {
    pub fn new(config: &Config, access: &Arc<dyn AccessStore>, sealed: &Arc<dyn SealedStore>) -> LoadedKeys {
        LoadedKeys {
            file: KeyFile::new(&config.secrets.key_ring),
            access: Arc::clone(access),
            sealed: Arc::clone(sealed),
            shared_by: shared_by(config),
        }
    }

    /// The ring to begin with. A new one is only for a new database: with the wrong keys nothing that was
    /// sealed before opens again.
    pub async fn open(&self) -> Result<KeyRing> {
        if self.shared_by.is_none() && self.file.read()?.is_none() {
            return self.write(self.make().await?);
        }
        self.change(Unopened::ShareOurs, |_| {}).await
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

    /// The ring of the file and the ring in the database, merged and then changed. It is in the database before
    /// it is in the file and before this server seals with it. Two servers that do this at the same moment lose
    /// no key: the row changes only if it still is what was read.
    async fn change(&self, unopened: Unopened, change: impl Fn(&mut KeyRing)) -> Result<KeyRing> {
        let Some(sealer) = sealer(self.shared_by.as_ref()).await? else {
            return self.file.change(|ring| {
                let mut ring = ring.context("the key ring is gone")?;
                change(&mut ring);
                Ok((ring.clone(), ring))
            });
        };
        for _ in 0..TRIES {
            let shared = self.access.shared(NAME).await.context("cannot read the database")?;
            let mut ring = match &shared {
                Some(shared) => merged(&self.file, &sealer, shared, unopened)?,
                None => match self.file.read()? {
                    Some(ring) => ring,
                    None => self.make().await?,
                },
            };
            change(&mut ring);
            if self.publish(&sealer, shared.as_deref(), &ring).await? {
                return self.write(ring);
            }
        }
        bail!("other servers keep changing the key ring; try again")
    }

    /// Puts the ring into the database unless it is there; `false` when another server was faster.
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

    /// A command may have changed the file since it was read: nothing of that is lost either.
    fn write(&self, ring: KeyRing) -> Result<KeyRing> {
        self.file.change(|local| {
            let mut ring = ring;
            if let Some(local) = &local {
                ring.merge(local);
            }
            Ok((ring.clone(), ring))
        })
    }

    /// Keeps the ring of a running server like the file and like the ring of the others, and seals again what
    /// retiring keys sealed, until dropped.
    pub async fn follow(&self, ring: &SharedRing) -> Infallible {
        tokio::join!(self.follow_ring(ring), self.follow_retiring(ring)).0
    }

    async fn follow_ring(&self, ring: &SharedRing) -> Infallible {
        let mut seen = (self.file.version(), None);
        loop {
            WallClock.sleep(LOOK_EVERY).await;
            let found = (self.file.version(), self.shared().await);
            if found != seen && self.reload(ring).await {
                seen = found;
            }
        }
    }

    /// Takes the file and the shared ring as they are now. A ring that cannot be read leaves the server with the
    /// keys that it has, and is read again with the next look.
    pub async fn reload(&self, ring: &SharedRing) -> bool {
        match self.change(Unopened::Keep, |_| {}).await {
            Ok(keys) => {
                let active = keys.active().to_owned();
                if ring.replace(keys) {
                    info!(active, "read the key ring again");
                }
                true
            }
            Err(error) => {
                warn!(
                    error = format!("{error:#}"),
                    "reading the key ring failed, keeping the keys in memory"
                );
                false
            }
        }
    }

    async fn follow_retiring(&self, ring: &SharedRing) -> Infallible {
        let mut looked: BTreeMap<String, Timestamp> = BTreeMap::new();
        loop {
            for key in ring.retiring() {
                let now = WallClock.now();
                if looked.get(&key).is_none_or(|at| now.since(*at) >= RESEAL_EVERY) {
                    self.reseal(ring, &key).await;
                    looked.insert(key, now);
                }
            }
            WallClock.sleep(LOOK_EVERY).await;
        }
    }

    pub async fn count_sealed(&self, ring: &SharedRing, key: &str) -> Result<SealedCount, StoreError> {
        count_sealed(&*self.sealed, ring, key).await
    }

    async fn reseal(&self, ring: &SharedRing, key: &str) {
        match reseal(&*self.sealed, ring, key).await {
            Ok((sealed, left)) if sealed.total() + left.total() > 0 => {
                let (sealed, left) = (sealed.total(), left.total());
                info!(key, sealed, left, "resealed values with the active key");
            }
            Ok(_) => {}
            Err(error) => warn!(key, %error, "resealing values with the active key failed, retrying"),
        }
    }

    /// The ring in the file, and when that was last changed.
    pub(super) fn list(&self) -> Result<(KeyRing, Option<SystemTime>)> {
        let ring = self.file.read()?.context("the key ring is gone")?;
        Ok((ring, self.file.changed_at()))
    }

    /// Adds a key that seals from now on, here and on every server that shares the ring.
    pub(super) async fn rotate(&self, ring: &SharedRing) -> Result<(KeyRing, Option<SystemTime>)> {
        let keys = self
            .change(Unopened::Keep, |ring| {
                ring.rotate(WallClock.now());
            })
            .await?;
        ring.replace(keys.clone());
        Ok((keys, self.file.changed_at()))
    }

    /// The shared ring as the database has it.
    async fn shared(&self) -> Option<String> {
        self.shared_by.as_ref()?;
        self.access.shared(NAME).await.ok()?
    }
}

/// The ring of the file and of the database, for a command that changes nothing in the database.
pub async fn known_ring(config: &Config, database: &DatabaseReader) -> Result<KeyRing> {
    let file = KeyFile::new(&config.secrets.key_ring);
    let shared_by = shared_by(config);
    if let Some(sealer) = sealer(shared_by.as_ref()).await?
        && let Some(shared) = database.shared(NAME).await?
    {
        return merged(&file, &sealer, &shared, Unopened::Keep);
    }
    file.read()?.with_context(|| format!("there is no key ring at {}", file.path().display()))
}

/// The address of the database, where servers share the ring through it.
fn shared_by(config: &Config) -> Option<SecretString> {
    let is_default = config.origins().of("secrets.key_ring").is_none_or(|origin| *origin == Origin::Default);
    match &config.store.database {
        Database::Postgres(url) if is_default => Some(url.clone()),
        _ => None,
    }
}

/// What the file and the shared ring say together.
fn merged(file: &KeyFile, sealer: &Sealer, shared: &str, unopened: Unopened) -> Result<KeyRing> {
    let local = file.read()?;
    match (unseal(sealer, shared), local) {
        (Ok(ring), None) => Ok(ring),
        (Ok(mut ring), Some(local)) => {
            ring.merge(&local);
            Ok(ring)
        }
        (Err(_), Some(local)) if unopened == Unopened::ShareOurs => {
            warn!(
                "the shared key ring cannot be opened (was the database password changed?); publishing ours"
            );
            Ok(local)
        }
        (Err(error), _) => Err(error).with_context(|| {
            format!(
                "the key ring in the database does not open with this password: copy {} from a server \
                 that has it, or let `secrets.key_ring` point to it",
                file.path().display()
            )
        }),
    }
}

/// Seals with a key made from the password of the database, which every server of it knows.
async fn sealer(shared_by: Option<&SecretString>) -> Result<Option<Sealer>> {
    let Some(url) = shared_by else { return Ok(None) };
    let password = PostgresStore::password(url.expose_secret()).context("the database URL cannot be read")?;
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
    fn server(access: &Arc<MemoryStore>, url: Option<&str>) -> (LoadedKeys, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::new(dir.path().join("keys.json"));
        let shared_by = url.map(SecretString::from);
        let (access, sealed) = (Arc::clone(access) as Arc<_>, Arc::clone(access) as Arc<_>);
        (LoadedKeys { file, access, sealed, shared_by }, dir)
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

    /// What `keys rotate`, `keys forget --reseal` and `keys forget` do to the file of a server.
    fn command(keys: &LoadedKeys, change: impl FnOnce(&mut KeyRing)) {
        let changed = keys.file.change(|ring| {
            let mut ring = ring.unwrap();
            change(&mut ring);
            Ok((ring, ()))
        });
        changed.unwrap();
    }

    fn rotated(ring: &mut KeyRing) {
        ring.rotate(WallClock.now());
    }

    #[tokio::test]
    async fn a_rotated_ring_reaches_the_others() {
        let access = Arc::new(MemoryStore::new());
        let ((one, _one), (two, _two)) = (server(&access, Some(URL)), server(&access, Some(URL)));
        let (first, second) =
            (SharedRing::new(one.open().await.unwrap()), SharedRing::new(two.open().await.unwrap()));
        command(&one, rotated);
        assert!(one.reload(&first).await && two.reload(&second).await);
        assert!(first.active().starts_with("k2-"), "{}", first.active());
        assert_eq!(second.active(), first.active());
        assert_eq!(two.file.read().unwrap().unwrap().active(), first.active(), "also after a restart");
    }

    const NO_PASSWORD: &str = "postgres://engine@db/engine";

    /// One replica: its keys, the ring that it seals with, and what it sealed.
    struct Replica {
        keys: LoadedKeys,
        ring: SharedRing,
        sealed: std::sync::Mutex<Vec<Sealed>>,
        _dir: TempDir,
    }

    impl Replica {
        async fn start(access: &Arc<MemoryStore>) -> Replica {
            let (keys, dir) = server(access, Some(NO_PASSWORD));
            let ring = SharedRing::new(keys.open().await.unwrap());
            Replica { keys, ring, sealed: std::sync::Mutex::default(), _dir: dir }
        }

        fn seal(&self) {
            let sealed = Sealer::new(&self.ring, "a").seal(&"secret".into());
            self.sealed.lock().unwrap().push(sealed);
        }

        /// Everything that an operator or the server itself may do to a ring, in an order that the seed says.
        async fn operate(&self, seed: usize) {
            for turn in 0..6 {
                self.seal();
                match (seed / 7_usize.pow(turn)) % 7 {
                    0 => drop(self.keys.rotate(&self.ring).await.unwrap()),
                    1 => command(&self.keys, rotated),
                    2 => drop(self.keys.reload(&self.ring).await),
                    3 => drop(self.keys.open().await.unwrap()),
                    4 => command(&self.keys, |ring| {
                        let older = ring.ids().find(|id| *id != ring.active()).map(str::to_owned);
                        if let Some(id) = older {
                            ring.retire(&id).unwrap();
                        }
                    }),
                    5 => fs::remove_file(self.keys.file.path()).unwrap_or_default(),
                    _ => tokio::task::yield_now().await,
                }
                if self.keys.file.read().unwrap().is_none() {
                    self.keys.open().await.unwrap();
                }
                self.seal();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_command_at_once_on_two_replicas_and_everything_sealed_before_opens() {
        for seed in 0..60 {
            let access = Arc::new(MemoryStore::new());
            let (one, two) = (Replica::start(&access).await, Replica::start(&access).await);
            let (one, two) = (Arc::new(one), Arc::new(two));
            let work = [(&one, seed * 7919), (&two, seed * 104_729 + 13)].map(|(replica, seed)| {
                let replica = Arc::clone(replica);
                tokio::spawn(async move { replica.operate(seed).await })
            });
            for task in work {
                task.await.unwrap();
            }
            for replica in [&one, &two, &one] {
                assert!(replica.keys.reload(&replica.ring).await);
            }
            let sealed = [&one, &two].map(|replica| replica.sealed.lock().unwrap().clone()).concat();
            for replica in [&one, &two] {
                let sealer = Sealer::new(&replica.ring, "a");
                for value in &sealed {
                    assert!(sealer.open(value).is_ok(), "seed {seed}: {value:?} does not open");
                }
            }
            assert_eq!(one.ring.active(), two.ring.active(), "seed {seed}");
        }
    }

    #[tokio::test]
    async fn a_forgotten_key_is_forgotten_by_all_also_by_a_server_that_was_stopped() {
        let access = Arc::new(MemoryStore::new());
        let ((one, _one), (two, _two)) =
            (server(&access, Some(NO_PASSWORD)), server(&access, Some(NO_PASSWORD)));
        let ring = SharedRing::new(one.open().await.unwrap());
        let old = two.open().await.unwrap().active().to_owned();
        command(&one, rotated);
        command(&one, |ring| ring.forget(&old).unwrap());
        assert!(one.reload(&ring).await);
        let started = two.open().await.unwrap();
        assert_eq!((started.ids().count(), started.active()), (1, ring.active().as_str()));
    }

    #[tokio::test]
    async fn a_running_server_never_overwrites_a_ring_that_it_cannot_open() {
        let access = Arc::new(MemoryStore::new());
        let (old, _dir) = server(&access, Some(URL));
        let ring = SharedRing::new(old.open().await.unwrap());
        let changed =
            LoadedKeys { shared_by: Some("postgres://engine:other@db/engine".into()), ..old.clone() };
        changed.open().await.unwrap();
        let shared = access.shared(NAME).await.unwrap();
        assert!(!old.reload(&ring).await);
        assert_eq!(access.shared(NAME).await.unwrap(), shared);
        assert!(old.rotate(&ring).await.is_err());
    }

    #[tokio::test]
    async fn another_password_opens_nothing_but_who_has_the_file_goes_on() {
        let access = Arc::new(MemoryStore::new());
        let (old, dir) = server(&access, Some(URL));
        let ring = old.open().await.unwrap();
        let changed = "postgres://engine:other@db/engine";
        let (outsider, _dir) = server(&access, Some(changed));
        let error = format!("{:#}", outsider.open().await.unwrap_err());
        assert!(error.contains("does not open with this password"), "{error}");
        let same = LoadedKeys { shared_by: Some(changed.into()), ..old.clone() };
        assert_eq!(*same.open().await.unwrap().to_text(), *ring.to_text());
        assert_eq!(*outsider.open().await.unwrap().to_text(), *ring.to_text(), "and shares it anew");
        drop(dir);
    }

    #[tokio::test]
    async fn a_file_of_its_own_never_goes_into_the_database() {
        let access = Arc::new(MemoryStore::new());
        let (keys, _dir) = server(&access, None);
        let ring = SharedRing::new(keys.open().await.unwrap());
        assert_eq!(access.shared(NAME).await.unwrap(), None);
        let active = ring.active();
        fs::write(keys.file.path(), "{").unwrap();
        keys.reload(&ring).await;
        assert_eq!(ring.active(), active, "a damaged file leaves the server with the keys that it has");
        fs::remove_file(keys.file.path()).unwrap();
        keys.reload(&ring).await;
        assert_eq!(ring.active(), active);
    }
}
