//! Users, groups, login tokens, and who may do what with whose things.

use std::time::Duration;

use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::Uuid;

use super::call_error::{AUTHORIZATION, NebulaError};
use super::xml::write;

/// Of every user; oned refuses an eleventh while ten are valid.
const TOKENS_MAX: usize = 10;

/// Who calls, and also whose a thing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthenticatedUser {
    pub(crate) uid: i32,
    pub(crate) gid: i32,
    pub(crate) name: String,
    pub(crate) group: String,
}

impl AuthenticatedUser {
    /// The owner of all fixtures.
    pub(crate) fn oneadmin() -> Self {
        AuthenticatedUser { uid: 0, gid: 0, name: "oneadmin".into(), group: "oneadmin".into() }
    }

    /// oneadmin, on behalf of the group of ordinary users.
    pub(crate) fn oneadmin_for_users() -> Self {
        AuthenticatedUser { gid: 1, group: "users".into(), ..AuthenticatedUser::oneadmin() }
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.gid == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NebulaRight {
    Use,
    Manage,
    Admin,
}

impl NebulaRight {
    fn name(self) -> &'static str {
        match self {
            NebulaRight::Use => "USE",
            NebulaRight::Manage => "MANAGE",
            NebulaRight::Admin => "ADMIN",
        }
    }
}

/// Three bits each, as in a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permissions {
    pub(crate) owner: u8,
    pub(crate) group: u8,
    pub(crate) other: u8,
}

const USE: u8 = 4;
const MANAGE: u8 = 2;
const ADMIN: u8 = 1;

impl Permissions {
    /// What a user's umask of 177 leaves.
    pub(crate) const PRIVATE: Permissions = Permissions { owner: USE | MANAGE, group: 0, other: 0 };
    /// What everybody in the group may use.
    pub(crate) const GROUP_USE: Permissions = Permissions { group: USE, ..Permissions::PRIVATE };

    /// Three digits as in `640`.
    pub(crate) fn from_octal(digits: [u8; 3]) -> Self {
        let [owner, group, other] = digits.map(|digit| digit & 7);
        Permissions { owner, group, other }
    }

    /// Changes the nine bits in their order; -1 leaves one as it is.
    pub(super) fn change(&mut self, bits: [i32; 9]) {
        let digits = [&mut self.owner, &mut self.group, &mut self.other];
        for (digit, changes) in digits.into_iter().zip(bits.chunks(3)) {
            for (bit, change) in [USE, MANAGE, ADMIN].into_iter().zip(changes) {
                match change {
                    0 => *digit &= !bit,
                    1 => *digit |= bit,
                    _ => {}
                }
            }
        }
    }

    fn grants(self, caller: &AuthenticatedUser, owner: &AuthenticatedUser, right: NebulaRight) -> bool {
        let bit = match right {
            NebulaRight::Use => USE,
            NebulaRight::Manage => MANAGE,
            NebulaRight::Admin => ADMIN,
        };
        caller.is_admin()
            || (caller.uid == owner.uid && self.owner & bit != 0)
            || (caller.gid == owner.gid && self.group & bit != 0)
            || self.other & bit != 0
    }

    /// The nine elements of PERMISSIONS with their values, in their order.
    pub(crate) fn bits(self) -> [(&'static str, bool); 9] {
        let is_set = |digit: u8, bit: u8| digit & bit != 0;
        [
            ("OWNER_U", is_set(self.owner, USE)),
            ("OWNER_M", is_set(self.owner, MANAGE)),
            ("OWNER_A", is_set(self.owner, ADMIN)),
            ("GROUP_U", is_set(self.group, USE)),
            ("GROUP_M", is_set(self.group, MANAGE)),
            ("GROUP_A", is_set(self.group, ADMIN)),
            ("OTHER_U", is_set(self.other, USE)),
            ("OTHER_M", is_set(self.other, MANAGE)),
            ("OTHER_A", is_set(self.other, ADMIN)),
        ]
    }
}

/// A thing that belongs to a client.
pub(crate) trait Owned {
    /// Its word in a refusal, such as `VM`.
    const OBJECT: &'static str;

    fn id(&self) -> i32;
    fn owner(&self) -> &AuthenticatedUser;
    fn permissions(&self) -> Permissions;

    fn is_open_to(&self, caller: &AuthenticatedUser, right: NebulaRight) -> bool {
        self.permissions().grants(caller, self.owner(), right)
    }

    fn require(&self, caller: &AuthenticatedUser, right: NebulaRight) -> Result<(), NebulaError> {
        if self.is_open_to(caller, right) {
            return Ok(());
        }
        Err(NebulaError::unauthorized(caller, right, Self::OBJECT, Some(self.id())))
    }
}

impl NebulaError {
    pub(super) fn unauthorized(
        caller: &AuthenticatedUser,
        right: NebulaRight,
        object: &str,
        id: Option<i32>,
    ) -> Self {
        let which = id.map(|id| format!(" [{id}]")).unwrap_or_default();
        let why =
            format!("User [{}] : Not authorized to perform {} {object}{which}.", caller.uid, right.name());
        NebulaError::new(AUTHORIZATION, why)
    }
}

#[derive(Debug)]
pub(crate) struct Users {
    users: Vec<SimulatedUser>,
}

#[derive(Debug)]
pub(super) struct SimulatedUser {
    pub(super) caller: AuthenticatedUser,
    password: &'static str,
    /// For the tokens of its machines.
    token_password: String,
    tokens: Vec<Token>,
}

impl SimulatedUser {
    /// `<USER>` as `one.user.info` answers it to those who may see it.
    pub(super) fn to_xml(&self) -> String {
        let AuthenticatedUser { uid, gid, name, group } = &self.caller;
        let mut out = String::from("<USER>");
        write(&mut out, "ID", uid);
        write(&mut out, "GID", gid);
        write(&mut out, "GROUPS", format_args!("<ID>{gid}</ID>"));
        write(&mut out, "GNAME", group);
        write(&mut out, "NAME", name);
        let hash = Sha256::digest(self.password.as_bytes());
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let hash: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        write(&mut out, "PASSWORD", format_args!("<![CDATA[{hash}]]>"));
        write(&mut out, "AUTH_DRIVER", "<![CDATA[core]]>");
        write(&mut out, "ENABLED", 1);
        for Token { text, expires_at } in &self.tokens {
            let expires_at = expires_at.map_or(-1, OffsetDateTime::unix_timestamp);
            let mut token = String::new();
            write(&mut token, "TOKEN", text);
            write(&mut token, "EXPIRATION_TIME", expires_at);
            write(&mut token, "EGID", -1);
            write(&mut out, "LOGIN_TOKEN", token);
        }
        let password = &self.token_password;
        write(&mut out, "TEMPLATE", format_args!("<TOKEN_PASSWORD><![CDATA[{password}]]></TOKEN_PASSWORD>"));
        let quotas = "<DATASTORE_QUOTA></DATASTORE_QUOTA><NETWORK_QUOTA></NETWORK_QUOTA><VM_QUOTA></VM_QUOTA>\
                      <IMAGE_QUOTA></IMAGE_QUOTA>";
        out += quotas;
        write(&mut out, "DEFAULT_USER_QUOTAS", quotas);
        out += "</USER>";
        out
    }
}

/// 64 digits, as long as a hash.
fn random_hex() -> String {
    format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple())
}

#[derive(Debug)]
struct Token {
    text: String,
    expires_at: Option<OffsetDateTime>,
}

impl Users {
    pub(super) fn new() -> Self {
        let user = |uid, gid, name: &str, group: &str, password| SimulatedUser {
            caller: AuthenticatedUser { uid, gid, name: name.into(), group: group.into() },
            password,
            token_password: random_hex(),
            tokens: Vec::new(),
        };
        Users {
            users: vec![
                user(0, 0, "oneadmin", "oneadmin", "opennebula"),
                user(2, 1, "cognit", "users", "cognitpass"),
                user(3, 1, "other", "users", "otherpass"),
                user(4, 100, "empty", "empty", "emptypass"),
            ],
        }
    }

    pub(crate) fn authenticate(
        &self,
        name: &str,
        secret: &str,
        now: OffsetDateTime,
    ) -> Option<AuthenticatedUser> {
        let user = self.users.iter().find(|user| user.caller.name == name)?;
        let is_token = |token: &Token| token.text == secret && token.expires_at.is_none_or(|end| now < end);
        (user.password == secret || user.tokens.iter().any(is_token)).then(|| user.caller.clone())
    }

    pub(super) fn with_uid(&self, uid: i32) -> Option<&SimulatedUser> {
        self.users.iter().find(|user| user.caller.uid == uid)
    }

    pub(super) fn named(&self, name: &str) -> Option<&AuthenticatedUser> {
        self.users.iter().map(|user| &user.caller).find(|caller| caller.name == name)
    }

    /// A token of this user, unless there are too many: a new one, or the given one. No time to live means for
    /// ever.
    pub(super) fn log_in(
        &mut self,
        uid: i32,
        given: &str,
        lives: Option<Duration>,
        now: OffsetDateTime,
    ) -> Option<String> {
        let user = self.users.iter_mut().find(|user| user.caller.uid == uid)?;
        let text = if given.is_empty() { random_hex() } else { given.to_owned() };
        user.tokens.retain(|token| token.expires_at.is_none_or(|end| now < end));
        if user.tokens.len() >= TOKENS_MAX {
            return None;
        }
        user.tokens.push(Token { text: text.clone(), expires_at: lives.map(|lives| now + lives) });
        Some(text)
    }

    /// Forgets one token, or all of them where none is named. Answers false where there is no such token.
    pub(super) fn log_out(&mut self, uid: i32, given: &str) -> bool {
        let Some(user) = self.users.iter_mut().find(|user| user.caller.uid == uid) else { return false };
        let before = user.tokens.len();
        user.tokens.retain(|token| !given.is_empty() && token.text != given);
        given.is_empty() || user.tokens.len() < before
    }
}
