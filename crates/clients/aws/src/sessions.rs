//! Sessions of assumed roles, cached until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest;
use cloud::{Access, Category, CloudAccount, CloudError};
use engine::Timestamp;
use engine::secret::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::form::QueryForm;
use super::query::{AwsQuery, AwsService, CallTarget};
use super::xml::{Element, Parts as _, ResponseXmlError};
use super::{AccessKeys, Options};

/// A session must still be good when a long call arrives.
const MARGIN: Duration = Duration::from_mins(5);
/// What AWS grants without asking, and more than a step needs.
const LIFE: Duration = Duration::from_hours(1);
/// More than there are operations with a call under way.
const KEPT_MAX: usize = 2000;
const NAME_CHARS_MAX: usize = 64;
const NAME_CHARS_MIN: usize = 2;

/// No other caller can use what is kept for a role, a session name and an external id.
type SessionKey = [u8; 32];

pub(super) struct Sessions {
    own: Option<AccessKeys>,
    slots: Lock<Slots>,
}

#[derive(Default)]
struct Slots {
    all: HashMap<SessionKey, Slot>,
    uses: u64,
}

struct Slot {
    used: u64,
    kept: SessionCache,
}

/// Held while a role is taken, so that many calls at once take it once.
type SessionCache = Arc<Mutex<Option<RoleSession>>>;

struct RoleSession {
    keys: Arc<AccessKeys>,
    good_until: Timestamp,
}

impl Sessions {
    pub(super) fn new(options: &Options) -> Sessions {
        Sessions { own: options.credentials.clone(), slots: Lock::default() }
    }

    /// The credentials with which a call for this account is signed.
    pub(super) async fn keys(
        &self,
        query: &AwsQuery,
        place: &CloudAccount<'_>,
    ) -> Result<Arc<AccessKeys>, CloudError> {
        if let Access::Keys { id, secret } = &place.account.access {
            return Ok(Arc::new(AccessKeys { id: id.clone(), secret: secret.clone(), session: None }));
        }
        let Some((arn, external_id)) = place.account.role()? else {
            let message = "an account of AWS is reached by a role or by keys: give the source one of them";
            return Err(CloudError::new(Category::Permission, "NoCredentials", message));
        };
        let name = session_name(place.session);
        let kept = self.slot(key(arn, &name, &external_id));
        let mut kept = kept.lock().await;
        match &*kept {
            Some(session) if query.clock.now() < session.good_until => Ok(Arc::clone(&session.keys)),
            _ => {
                let session = self.assume(query, place, arn, &name, &external_id).await?;
                let keys = Arc::clone(&session.keys);
                *kept = Some(session);
                Ok(keys)
            }
        }
    }

    /// These credentials are no longer good, whatever they said. True when others can be had.
    pub(super) async fn forget(&self, place: &CloudAccount<'_>, turned_down: &Arc<AccessKeys>) -> bool {
        let Ok(Some((arn, external_id))) = place.account.role() else { return false };
        let kept = self.slot(key(arn, &session_name(place.session), &external_id));
        let mut kept = kept.lock().await;
        if kept.as_ref().is_some_and(|session| Arc::ptr_eq(&session.keys, turned_down)) {
            *kept = None;
        }
        true
    }

    async fn assume(
        &self,
        query: &AwsQuery,
        place: &CloudAccount<'_>,
        arn: &str,
        name: &str,
        external_id: &SecretString,
    ) -> Result<RoleSession, CloudError> {
        let own = self.own.as_ref().ok_or_else(no_credentials)?;
        let form = QueryForm::new("AssumeRole")
            .with("RoleArn", arn)
            .with("RoleSessionName", name)
            .with("DurationSeconds", LIFE.as_secs().to_string())
            .with("ExternalId", external_id.expose_secret());
        let target =
            CallTarget { service: AwsService::Sts, region: &query.home, source: &place.account.source };
        let asked_at = query.clock.now();
        let answer = query.ask(target, own, &form).await?;
        Ok(granted(&answer, asked_at)?)
    }

    fn slot(&self, key: SessionKey) -> SessionCache {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.uses += 1;
        let used = slots.uses;
        if slots.all.len() >= KEPT_MAX && !slots.all.contains_key(&key) {
            slots.make_room();
        }
        let slot = slots.all.entry(key).or_insert_with(|| Slot { used, kept: SessionCache::default() });
        slot.used = used;
        Arc::clone(&slot.kept)
    }
}

impl Slots {
    /// Forgets the half that was not used for the longest time.
    fn make_room(&mut self) {
        let mut uses: Vec<u64> = self.all.values().map(|slot| slot.used).collect();
        let middle = uses.len() / 2;
        let (_, oldest_kept, _) = uses.select_nth_unstable(middle);
        let oldest_kept = *oldest_kept;
        self.all.retain(|_, slot| slot.used >= oldest_kept);
    }
}

fn granted(answer: &Element, asked_at: Timestamp) -> Result<RoleSession, ResponseXmlError> {
    let ends = answer.needed("AssumeRoleResult/Credentials/Expiration")?;
    let ends =
        Timestamp::parse(ends).ok_or(ResponseXmlError::Part("AssumeRoleResult/Credentials/Expiration"))?;
    let keys = AccessKeys {
        id: answer.word("AssumeRoleResult/Credentials/AccessKeyId")?,
        secret: answer.needed("AssumeRoleResult/Credentials/SecretAccessKey")?.into(),
        session: Some(answer.needed("AssumeRoleResult/Credentials/SessionToken")?.into()),
    };
    let good_until = ends.min(asked_at.plus(LIFE)).minus(MARGIN);
    Ok(RoleSession { keys: Arc::new(keys), good_until })
}

fn key(arn: &str, name: &str, external_id: &SecretString) -> SessionKey {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in [arn, name, external_id.expose_secret()] {
        context.update(&part.len().to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut key = SessionKey::default();
    key.copy_from_slice(context.finish().as_ref());
    key
}

/// What AWS takes as the name of a session: 2 to 64 of its characters.
fn session_name(session: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    let name: String = session.chars().map(|c| if fits(c) { c } else { '-' }).take(NAME_CHARS_MAX).collect();
    if name.len() < NAME_CHARS_MIN { format!("provision-engine-{name}") } else { name }
}

fn no_credentials() -> CloudError {
    let message = "the program has no credentials of AWS with which it could take the role of the account: set \
                   launch.aws.access_key_id and launch.aws.secret_access_key_file";
    CloudError::new(Category::Permission, "NoCredentials", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_name_is_one_that_aws_takes() {
        assert_eq!(session_name("launch-0198f1"), "launch-0198f1");
        assert_eq!(session_name("a b/c:ä"), "a-b-c--");
        assert_eq!(session_name(""), "provision-engine-");
        assert_eq!(session_name("x"), "provision-engine-x");
        assert_eq!(session_name(&"x".repeat(99)).len(), 64);
    }

    #[test]
    fn what_is_kept_belongs_to_one_role_one_name_and_one_external_id() {
        let (none, one) = (SecretString::from(""), SecretString::from("one"));
        let keys = [
            key("arn", "name", &none),
            key("arn", "name", &one),
            key("arn", "nameone", &none),
            key("arnname", "", &none),
            key("arn", "other", &one),
        ];
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key), "{number}");
        }
    }

    #[test]
    fn no_more_is_kept_than_fits_and_what_was_used_last_stays() {
        let sessions = Sessions::new(&Options::new());
        let number = |n: usize| key(&n.to_string(), "name", &SecretString::from("id"));
        let first = sessions.slot(number(0));
        for n in 1..KEPT_MAX * 3 {
            sessions.slot(number(n));
            assert!(Arc::ptr_eq(&first, &sessions.slot(number(0))), "{n}");
        }
        assert!(sessions.slots.lock().unwrap().all.len() <= KEPT_MAX);
    }

    #[test]
    fn a_session_ends_five_minutes_early_and_never_lasts_longer_than_it_was_asked_for() {
        let answer = |expiration: &str| {
            let text = format!(
                "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>\
                 <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
                 <Expiration>{expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
            );
            super::super::xml::read(&text).unwrap()
        };
        let at = |text| Timestamp::parse(text).unwrap();
        let asked_at = at("2026-01-01T12:00:00Z");
        let good_until =
            |expiration| granted(&answer(expiration), asked_at).map(|session| session.good_until);
        assert_eq!(good_until("2026-01-01T12:30:00Z"), Ok(at("2026-01-01T12:25:00Z")));
        assert_eq!(good_until("2036-01-01T12:30:00.000Z"), Ok(at("2026-01-01T12:55:00Z")));
        assert_eq!(
            good_until("soon"),
            Err(ResponseXmlError::Part("AssumeRoleResult/Credentials/Expiration"))
        );
    }
}
