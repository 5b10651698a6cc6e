//! What the methods do for somebody who has been recognised.

use std::time::Duration;

use time::OffsetDateTime;

use super::command::Command;
use crate::opennebula::refusal::{INTERNAL, NO_EXISTS, Refusal, XML_RPC_API};
use crate::opennebula::release::Release;
use crate::opennebula::template::Template;
use crate::opennebula::template_text;
use crate::opennebula::users::{Caller, Right};
use crate::opennebula::world::Estate;
use crate::opennebula::xmlrpc::Reply;

/// A caller in front of the world as it is now.
pub(super) struct Counter<'a> {
    pub(super) estate: &'a mut Estate,
    pub(super) caller: Caller,
    pub(super) now: OffsetDateTime,
}

impl Counter<'_> {
    pub(super) fn carry_out(&mut self, command: Command) -> Result<Reply, Refusal> {
        match command {
            Command::Version => Ok(Reply::Text(self.estate.release.version().into())),
            Command::UserInfo(id) => self.user_info(id),
            Command::Login { user, token, valid_s } => self.log_in(&user, &token, valid_s),
            Command::Documents(command) => self.on_documents(command),
            Command::Machines(command) => self.on_machines(command),
        }
    }

    fn user_info(&self, id: i32) -> Result<Reply, Refusal> {
        let id = if id < 0 { self.caller.uid } else { id };
        let user = self.estate.users.with_uid(id).ok_or_else(|| Refusal::missing("user", id))?;
        if id != self.caller.uid && !self.caller.is_admin() {
            return Err(Refusal::unauthorized(&self.caller, Right::Use, "USER", Some(id)));
        }
        Ok(Reply::Text(user.to_xml()))
    }

    fn log_in(&mut self, user: &str, token: &str, valid_s: i32) -> Result<Reply, Refusal> {
        let named = self.estate.users.named(user);
        let uid = named.map(|user| user.uid).ok_or_else(|| Refusal::new(NO_EXISTS, "Error getting user."))?;
        if uid != self.caller.uid && !self.caller.is_admin() {
            return Err(Refusal::unauthorized(&self.caller, Right::Manage, "USER", Some(uid)));
        }
        let refuse = |why: String| Err(Refusal::new(XML_RPC_API, why));
        let lives = match u64::try_from(valid_s) {
            Ok(0) if self.estate.users.log_out(uid, token) => return Ok(Reply::Text(token.to_owned())),
            Ok(0) => return refuse(format!("Could not find token: {token}")),
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) if valid_s == -1 => None,
            Err(_) => return refuse("Wrong valid period for token".into()),
        };
        match self.estate.users.log_in(uid, token, lives, self.now) {
            Some(token) => Ok(Reply::Text(token)),
            None => refuse("Max number of tokens limit reached.".into()),
        }
    }
}

pub(super) const CANNOT_UPDATE: &str = "Cannot update template.";

/// What an update does with what is there.
pub(super) fn appends(mode: i32) -> Result<bool, Refusal> {
    match mode {
        0 | 1 => Ok(mode == 1),
        _ => Err(Refusal::new(XML_RPC_API, "Wrong update type")),
    }
}

pub(super) fn parse(text: &str, release: Release) -> Result<Template, Refusal> {
    template_text::parse(text, release).map_err(|why| Refusal::new(INTERNAL, why))
}

pub(super) fn pool(name: &str, items: impl Iterator<Item = String>) -> Reply {
    Reply::Text(format!("<{name}>{}</{name}>", items.collect::<String>()))
}
