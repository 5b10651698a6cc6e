//! What every list has: filters in its address, the way to its next page, and rows that are drawn with the page and
//! again whenever they may have changed.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::live::{LiveTopic, OpenPage, Picture, part, stream};
use crate::page_error::PageError;
use crate::parts::{NEWEST_FIRST, Pager, PagerTexts};
use crate::path;
use crate::signed_in::SignedIn;

/// Filters, order and page of a list, as they are in the address, and how its rows are found.
pub trait Filtered: DeserializeOwned + Send + Sync + 'static {
    /// Where the list is.
    const AT: &'static str;
    /// What the links to the first and to the next page say.
    const PAGES: PagerTexts = NEWEST_FIRST;
    /// The part of the page that changes.
    type Rows: Template;

    /// What stays from page to page, by its names in the address.
    fn kept(&self) -> Vec<(&'static str, &str)>;

    /// Where this page begins, by its name in the address; empty on the first page.
    fn cursor(&self) -> (&'static str, &str);

    /// The cursors of the pages before this one, as they are in the address under `trail`, in a list that leads back page
    /// by page.
    fn trail(&self) -> Option<&str> {
        None
    }

    /// Finds the rows of this page.
    fn rows(&self, signed_in: &SignedIn) -> impl Future<Output = Result<Self::Rows, PageError>> + Send;

    /// Nothing is chosen: the list shows all there is.
    fn is_none(&self) -> bool {
        self.kept().iter().all(|(_, value)| value.is_empty())
    }

    /// A query with what is kept, and more.
    fn with(&self, more: &[(&str, &str)]) -> String {
        path::query(self.kept().into_iter().chain(more.iter().copied()))
    }

    /// The query of this page.
    fn query(&self) -> String {
        self.with(&[self.cursor()])
    }

    /// The links to the first, the previous and the next page.
    fn pager(&self, next: Option<&str>) -> Pager {
        let (name, here) = self.cursor();
        let link = |cursor: &str, trail: &str| {
            format!("{}{}", Self::AT, self.with(&[(name, cursor), ("trail", trail)]))
        };
        let first = (!here.is_empty()).then(|| link("", ""));
        let onward = self.trail().map(|trail| trail::onward(trail, here)).unwrap_or_default();
        let next = next.map(|next| link(next, &onward));
        let previous = self.trail().and_then(trail::back).map(|(cursor, trail)| link(cursor, trail));
        Pager::new(Self::PAGES, first, next).previous(previous)
    }
}

/// The way back through the pages of a list: their cursors with full stops between them.
mod trail {
    /// The first page has no cursor.
    const FIRST: &str = "0";
    /// Pages further back than this are reached by way of the first.
    const PAGES_MAX: usize = 30;

    pub(super) fn onward(trail: &str, here: &str) -> String {
        let here = if here.is_empty() { FIRST } else { here };
        let pages: Vec<&str> = trail.split('.').filter(|page| !page.is_empty()).chain([here]).collect();
        pages[pages.len().saturating_sub(PAGES_MAX)..].join(".")
    }

    /// The cursor of the page before, and its own trail.
    pub(super) fn back(trail: &str) -> Option<(&str, &str)> {
        let (rest, last) = trail.rsplit_once('.').unwrap_or(("", trail));
        (!last.is_empty()).then_some((if last == FIRST { "" } else { last }, rest))
    }
}

/// `GET …/live`: updates the rows of an open page when they change.
pub async fn live<F: Filtered>(signed_in: SignedIn, Query(filters): Query<F>) -> Response {
    let page = OpenList { signed_in: signed_in.clone(), filters };
    stream(&signed_in, LiveTopic::Everything, page)
}

/// `GET …/now`: the rows alone, for a page that asks once in a while.
pub async fn now<F: Filtered>(signed_in: SignedIn, Query(filters): Query<F>) -> Response {
    part(filters.rows(&signed_in).await)
}

struct OpenList<F> {
    signed_in: SignedIn,
    filters: F,
}

impl<F: Filtered> OpenPage for OpenList<F> {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        Ok(Picture::of(&self.filters.rows(&self.signed_in).await?))
    }
}

/// Where a page begins in a list that is counted, and where the next one does.
pub struct ListPosition {
    /// How many rows come before.
    pub offset: u64,
    shown: u64,
}

impl ListPosition {
    /// A cursor that is no number is the beginning.
    pub fn new(cursor: &str, shown: u64) -> ListPosition {
        ListPosition { offset: cursor.parse().unwrap_or(0), shown }
    }

    /// Where the next page begins, if there is one.
    pub fn next(&self, total: u64) -> Option<String> {
        let next = self.offset.saturating_add(self.shown);
        (next < total).then(|| next.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Letters {
        to: String,
        cursor: String,
    }

    #[derive(Template)]
    #[template(source = "", ext = "html")]
    struct Nothing;

    impl Filtered for Letters {
        const AT: &'static str = "/letters";
        type Rows = Nothing;

        fn kept(&self) -> Vec<(&'static str, &str)> {
            vec![("to", &self.to)]
        }

        fn cursor(&self) -> (&'static str, &str) {
            ("cursor", &self.cursor)
        }

        async fn rows(&self, _: &SignedIn) -> Result<Nothing, PageError> {
            Ok(Nothing)
        }
    }

    fn letters(to: &str, cursor: &str) -> Letters {
        Letters { to: to.to_owned(), cursor: cursor.to_owned() }
    }

    #[test]
    fn a_page_is_found_again_and_its_links_keep_the_filters() {
        let page = letters("a b", "7");
        assert_eq!(page.query(), "?to=a%20b&cursor=7");
        let links = page.pager(Some("9")).render().unwrap();
        assert!(links.contains("href=\"/letters?to=a%20b\">Newest"), "{links}");
        assert!(links.contains("href=\"/letters?to=a%20b&#38;cursor=9\">Older"), "{links}");
    }

    #[test]
    fn the_trail_leads_back_page_by_page() {
        let second = trail::onward("", "");
        let third = trail::onward(&second, "a");
        assert_eq!((second.as_str(), third.as_str()), ("0", "0.a"));
        assert_eq!(trail::back(&third), Some(("a", "0")));
        assert_eq!(trail::back(&second), Some(("", "")));
        assert_eq!(trail::back(""), None);
        let long = (0..100).fold(String::new(), |trail, _| trail::onward(&trail, "x"));
        assert_eq!(long.split('.').count(), 30);
    }

    #[test]
    fn the_first_page_leads_on_and_the_only_page_nowhere() {
        let page = letters("", "");
        assert!(page.is_none() && !letters("x", "").is_none() && letters("", "7").is_none());
        assert!(!page.pager(Some("9")).render().unwrap().contains("Newest"));
        assert_eq!(page.pager(None).render().unwrap(), "");
    }

    #[test]
    fn a_counted_list_ends_with_its_last_row() {
        assert_eq!(ListPosition::new("50", 50).next(101), Some("100".to_owned()));
        assert_eq!(ListPosition::new("50", 50).next(100), None);
        assert_eq!(
            (ListPosition::new("x", 50).offset, ListPosition::new("18446744073709551615", 50).next(100)),
            (0, None)
        );
    }
}
