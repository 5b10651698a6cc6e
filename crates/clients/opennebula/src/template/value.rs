//! Values of attributes, and where they came from.

use std::fmt;

use xml::carries;

/// A value. Who wrote it decides what the external system may do with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    value: String,
    by: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// We, or an operator of OpenNebula in a template of theirs.
    Trusted,
    /// The caller who sent the request.
    User,
}

/// Why a value cannot be carried. Never quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it has a control character or another one that cannot be written; remove it")]
    Character,
    #[error("it has ]]>, at which OpenNebula stops reading; write it in another way")]
    CdataEnd,
    #[error("it ends with a backslash, which would take the closing quote with it; remove it")]
    Backslash,
    #[error("it has a $, which OneFlow would replace by something else; remove it")]
    Dollar,
    #[error("it has a line that begins with APPEND, which OneFlow would interpret; write it in another way")]
    Append,
    #[error("it has a line break, which OneFlow 7 turns into a comma; remove it")]
    LineBreak,
    #[error("its name has other characters than capital letters, digits and underscores")]
    Name,
}

/// An attribute that cannot be carried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the attribute {attribute} cannot be written: {why}")]
pub struct Unwritable {
    pub attribute: String,
    pub why: Unfit,
}

impl Text {
    /// What we made ourselves or copied from a template. OpenNebula replaces what begins with `$` in it.
    pub fn ours(value: impl Into<String>) -> Text {
        Text { value: value.into(), by: Author::Trusted }
    }

    /// What came with a request. It must arrive as it is, and be nothing but a value.
    pub fn from_user(value: impl Into<String>) -> Result<Text, Unfit> {
        let value = value.into();
        grammar(&value)?;
        Ok(Text { value, by: Author::User })
    }

    pub fn as_str(&self) -> &str {
        &self.value
    }

    pub(super) fn fits_xml(&self) -> Result<(), Unfit> {
        if self.value.chars().all(carries) { Ok(()) } else { Err(Unfit::Character) }
    }

    pub(super) fn fits_text(&self) -> Result<(), Unfit> {
        grammar(&self.value)?;
        if self.by == Author::User {
            if self.value.contains('$') {
                return Err(Unfit::Dollar);
            }
            if self.value.lines().skip(1).any(|line| line.trim_start().starts_with("APPEND")) {
                return Err(Unfit::Append);
            }
        }
        Ok(())
    }

    /// OneFlow 7 makes text of it. Quotes arrive; a line break inside a vector becomes a comma and a line break.
    pub(super) fn fits_json(&self, in_vector: bool) -> Result<(), Unfit> {
        self.fits_text()?;
        if in_vector && self.by == Author::User && self.value.contains('\n') {
            return Err(Unfit::LineBreak);
        }
        Ok(())
    }
}

/// What a quoted value of the text form can hold.
fn grammar(value: &str) -> Result<(), Unfit> {
    let readable = |c: char| matches!(c, '\n' | '\t') || (!c.is_control() && carries(c));
    if !value.chars().all(readable) {
        return Err(Unfit::Character);
    }
    if value.contains("]]>") {
        return Err(Unfit::CdataEnd);
    }
    if value.ends_with('\\') {
        return Err(Unfit::Backslash);
    }
    Ok(())
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.value.len())
    }
}

/// A text that stands in the code.
impl From<&'static str> for Text {
    fn from(value: &'static str) -> Text {
        Text::ours(value)
    }
}

impl From<u32> for Text {
    fn from(value: u32) -> Text {
        Text::ours(value.to_string())
    }
}

impl From<i32> for Text {
    fn from(value: i32) -> Text {
        Text::ours(value.to_string())
    }
}
