//! The end of an id, which tells operations apart, and a button that copies the whole one.

use std::fmt;

use askama::filters::HtmlSafe;
use uuid::Uuid;

/// Ids begin with their time, so the last digits differ most.
const DIGITS: usize = 8;

/// An id in a line.
#[derive(Debug, Clone, Copy)]
pub struct ShortId<'a>(pub &'a Uuid);

impl fmt::Display for ShortId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0.to_string();
        let end = &id[id.len() - DIGITS..];
        write!(
            f,
            r#"<button type="button" class="short-id" data-copy="{id}" title="Copy {id}" aria-label="Copy the id {id}">{end}</button>"#
        )
    }
}

impl HtmlSafe for ShortId<'_> {}
