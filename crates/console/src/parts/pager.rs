//! The pager: links to the other pages of a list.

use askama::Template;
use askama::filters::HtmlSafe;

/// What the links to the first, the previous and the next page say.
pub type PagerTexts = (&'static str, &'static str, &'static str);
pub const NEWEST_FIRST: PagerTexts = ("Newest", "Newer", "Older");

/// Links to the first, the previous and the next page of a list.
#[derive(Template)]
#[template(path = "parts/pager.html")]
pub struct Pager {
    words: PagerTexts,
    first: Option<String>,
    previous: Option<String>,
    next: Option<String>,
}

impl Pager {
    /// The links that there are.
    pub fn new(words: PagerTexts, first: Option<String>, next: Option<String>) -> Pager {
        Pager { words, first, previous: None, next }
    }

    /// With a link to the page before.
    #[must_use]
    pub fn previous(self, previous: Option<String>) -> Pager {
        Pager { previous, ..self }
    }

    fn is_needed(&self) -> bool {
        self.first.is_some() || self.next.is_some()
    }
}

impl HtmlSafe for Pager {}
