//! Names of attributes.

use std::borrow::Cow;
use std::fmt;

const CHARS_MAX: usize = 128;

/// A name that both forms of a template can carry: capital letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeName(Cow<'static, str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an attribute's name has 1 to {CHARS_MAX} letters, digits and underscores, and begins with no digit")]
pub struct BadName;

impl AttributeName {
    /// For names that stand in the code, as constants: a wrong one does not compile there.
    pub const fn of(name: &'static str) -> AttributeName {
        assert!(is_name(name.as_bytes()), "no name for an attribute");
        AttributeName(Cow::Borrowed(name))
    }

    /// OpenNebula makes all letters capital ones, and so does this.
    pub fn parse(name: &str) -> Result<AttributeName, BadName> {
        let name = name.to_ascii_uppercase();
        if is_name(name.as_bytes()) { Ok(AttributeName(Cow::Owned(name))) } else { Err(BadName) }
    }

    /// As the external system wrote it. It may be a name that the text form cannot carry.
    pub(in super::super) fn copied(name: &str) -> AttributeName {
        AttributeName(Cow::Owned(name.to_owned()))
    }

    pub(super) fn fits_text(&self) -> bool {
        is_name(self.0.as_bytes())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const fn is_name(name: &[u8]) -> bool {
    if name.is_empty() || name.len() > CHARS_MAX || name[0].is_ascii_digit() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if !(name[at].is_ascii_uppercase() || name[at].is_ascii_digit() || name[at] == b'_') {
            return false;
        }
        at += 1;
    }
    true
}

impl fmt::Display for AttributeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
