//! What the methods do for a user who has been recognised.

use std::time::Duration;

use time::OffsetDateTime;

use super::command::Command;
use crate::opennebula::call_error::{INTERNAL, NO_EXISTS, NebulaError, XML_RPC_API};
use crate::opennebula::release::Release;
use crate::opennebula::template::TemplateText;
use crate::opennebula::template_text;
use crate::opennebula::users::{AuthenticatedUser, NebulaRight};
use crate::opennebula::world::NebulaState;
use crate::opennebula::xmlrpc::XmlRpcReply;

/// A caller in front of the world as it is now.
pub(super) struct OnedSession<'a> {
    pub(super) nebula_state: &'a mut NebulaState,
    pub(super) caller: AuthenticatedUser,
    pub(super) now: OffsetDateTime,
}

impl OnedSession<'_> {
    pub(super) fn carry_out(&mut self, command: Command) -> Result<XmlRpcReply, NebulaError> {
        match command {
            Command::Version => Ok(XmlRpcReply::Text(self.nebula_state.release.version().into())),
            Command::UserInfo(id) => self.user_info(id),
            Command::Login { user, token, valid_s } => self.log_in(&user, &token, valid_s),
            Command::Documents(command) => self.on_documents(command),
            Command::Machines(command) => self.on_machines(command),
        }
    }

    fn user_info(&self, id: i32) -> Result<XmlRpcReply, NebulaError> {
        let id = if id < 0 { self.caller.uid } else { id };
        let user = self.nebula_state.users.with_uid(id).ok_or_else(|| NebulaError::missing("user", id))?;
        if id != self.caller.uid && !self.caller.is_admin() {
            return Err(NebulaError::unauthorized(&self.caller, NebulaRight::Use, "USER", Some(id)));
        }
        Ok(XmlRpcReply::Text(user.to_xml()))
    }

    fn log_in(&mut self, user: &str, token: &str, valid_s: i32) -> Result<XmlRpcReply, NebulaError> {
        let named = self.nebula_state.users.named(user);
        let uid =
            named.map(|user| user.uid).ok_or_else(|| NebulaError::new(NO_EXISTS, "Error getting user."))?;
        if uid != self.caller.uid && !self.caller.is_admin() {
            return Err(NebulaError::unauthorized(&self.caller, NebulaRight::Manage, "USER", Some(uid)));
        }
        let refuse = |why: String| Err(NebulaError::new(XML_RPC_API, why));
        let lives = match u64::try_from(valid_s) {
            Ok(0) if self.nebula_state.users.log_out(uid, token) => {
                return Ok(XmlRpcReply::Text(token.to_owned()));
            }
            Ok(0) => return refuse(format!("Could not find token: {token}")),
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) if valid_s == -1 => None,
            Err(_) => return refuse("Wrong valid period for token".into()),
        };
        match self.nebula_state.users.log_in(uid, token, lives, self.now) {
            Some(token) => Ok(XmlRpcReply::Text(token)),
            None => refuse("Max number of tokens limit reached.".into()),
        }
    }
}

pub(super) const CANNOT_UPDATE: &str = "Cannot update template.";

/// What an update does with what is there.
pub(super) fn appends(mode: i32) -> Result<bool, NebulaError> {
    match mode {
        0 | 1 => Ok(mode == 1),
        _ => Err(NebulaError::new(XML_RPC_API, "Wrong update type")),
    }
}

pub(super) fn parse(text: &str, release: Release) -> Result<TemplateText, NebulaError> {
    template_text::parse(text, release).map_err(|why| NebulaError::new(INTERNAL, why))
}

pub(super) fn pool(name: &str, items: impl Iterator<Item = String>) -> XmlRpcReply {
    XmlRpcReply::Text(format!("<{name}>{}</{name}>", items.collect::<String>()))
}
