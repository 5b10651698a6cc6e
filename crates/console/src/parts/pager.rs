//! The way to the next page of a list, and back to its beginning.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::path;

#[derive(Template)]
#[template(path = "parts/pager.html")]
pub(crate) struct Pager {
    first: Option<String>,
    next: Option<String>,
}

impl Pager {
    /// `filters` are kept; `cursor` is where this page began, and `next` where the next one does.
    pub(crate) fn new(at: &str, filters: &[(&str, &str)], cursor: Option<&str>, next: Option<&str>) -> Pager {
        let first = cursor.map(|_| format!("{at}{}", path::query(filters.iter().copied())));
        let next = next.map(|next| {
            let all = filters.iter().copied().chain([("cursor", next)]);
            format!("{at}{}", path::query(all))
        });
        Pager { first, next }
    }

    fn is_needed(&self) -> bool {
        self.first.is_some() || self.next.is_some()
    }
}

impl HtmlSafe for Pager {}
