//! The way to the next page of a list, and back to its beginning.

use askama::Template;
use askama::filters::HtmlSafe;

/// What the links to the first and to the next page say.
pub type Words = (&'static str, &'static str);
pub const NEWEST_FIRST: Words = ("Newest", "Older");
pub const OLDEST_FIRST: Words = ("First page", "Next page");

/// Links to the first and to the next page of a list.
#[derive(Template)]
#[template(path = "parts/pager.html")]
pub struct Pager {
    words: Words,
    first: Option<String>,
    next: Option<String>,
}

impl Pager {
    /// The links that there are.
    pub fn new(words: Words, first: Option<String>, next: Option<String>) -> Pager {
        Pager { words, first, next }
    }

    fn is_needed(&self) -> bool {
        self.first.is_some() || self.next.is_some()
    }
}

impl HtmlSafe for Pager {}
