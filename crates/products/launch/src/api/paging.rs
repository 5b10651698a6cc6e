//! Pages by offset, with links to the pages beside them.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use reqwest::Url;

use super::{BASE, LaunchState, wire};

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1000;
/// The last page that can be requested.
const OFFSET_MAX: u32 = 1_000_000_000;

/// Which part of a list is wanted. What cannot be read means the default, as clients are used to; too much means
/// as much as there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paging {
    pub(crate) limit: u32,
    pub(crate) offset: u32,
    path: String,
    /// The other parameters as they were sent, each with the sign in front.
    others: String,
}

impl FromRequestParts<LaunchState> for Paging {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shared: &LaunchState) -> Result<Paging, Infallible> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
        let path = format!("{BASE}{}", parts.uri.path());
        Ok(Paging::new(&pairs, path, parts.uri.query().unwrap_or_default()))
    }
}

impl Paging {
    fn new(pairs: &[(String, String)], path: String, query: &str) -> Paging {
        let number = |name: &str| -> Option<u32> {
            pairs.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.parse().ok())
        };
        let is_other = |pair: &&str| !["", "limit", "offset"].contains(&name_in(pair));
        let others = query.split('&').filter(is_other).flat_map(|pair| ["&", pair]).collect();
        Paging {
            limit: number("limit").filter(|limit| *limit > 0).unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX),
            offset: number("offset").unwrap_or(0).min(OFFSET_MAX),
            path,
            others,
        }
    }

    /// The same for a list whose pages are shorter.
    #[must_use]
    pub(crate) fn at_most(self, limit: u32) -> Paging {
        Paging { limit: self.limit.min(limit), ..self }
    }

    pub(crate) fn metadata(&self, total: u64) -> wire::Metadata {
        let next = u64::from(self.offset) + u64::from(self.limit);
        let previous = u64::from(self.offset.saturating_sub(self.limit));
        wire::Metadata {
            total,
            links: wire::Links {
                previous: if self.offset > 0 { self.link(previous) } else { String::new() },
                next: if next < total { self.link(next) } else { String::new() },
            },
        }
    }

    /// How many at most, and how many to leave out before them.
    pub(crate) fn window(&self) -> (usize, usize) {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        (number(self.limit), number(self.offset))
    }

    /// The page of a list that is there as a whole.
    pub(crate) fn cut<T>(&self, all: Vec<T>) -> impl Iterator<Item = T> {
        let (limit, offset) = self.window();
        all.into_iter().skip(offset).take(limit)
    }

    /// The page that begins where a token of a cloud says.
    pub(crate) fn next_by_token(&self, token: &str) -> String {
        let others = self.others.split('&').filter(|pair| !["", "token"].contains(&name_in(pair)));
        let others: String = others.flat_map(|pair| ["&", pair]).collect();
        let token = Url::parse_with_params("http://next", [("token", token)]).ok();
        let token = token.as_ref().and_then(Url::query).unwrap_or_default();
        format!("{}?limit={}{others}&{token}", self.path, self.limit)
    }

    fn link(&self, offset: u64) -> String {
        format!("{}?limit={}&offset={offset}{}", self.path, self.limit, self.others)
    }
}

fn name_in(pair: &str) -> &str {
    pair.split('=').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(query: &str) -> Paging {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<(String, String)> = pairs.map(|(key, value)| (key.into(), value.into())).collect();
        Paging::new(&pairs, "/p".into(), query)
    }

    #[test]
    fn what_cannot_be_read_means_the_default() {
        for (query, limit, offset) in [
            ("", 100, 0),
            ("limit=7&offset=3", 7, 3),
            ("limit=0", 100, 0),
            ("limit=-1&offset=-1", 100, 0),
            ("limit=many&offset=", 100, 0),
            ("limit=1000000", 1000, 0),
            ("offset=4294967295", 100, OFFSET_MAX),
            ("limit=99999999999999999999", 100, 0),
        ] {
            let paging = paging(query);
            assert_eq!((paging.limit, paging.offset), (limit, offset), "{query}");
        }
    }

    #[test]
    fn links_lead_to_the_pages_beside_and_keep_the_other_parameters() {
        let links = |query: &str, total| {
            let wire::Links { previous, next } = paging(query).metadata(total).links;
            (previous, next)
        };
        assert_eq!(links("", 100), (String::new(), String::new()));
        assert_eq!(links("", 101), (String::new(), "/p?limit=100&offset=100".into()));
        assert_eq!(
            links("provider=a%20ws&limit=10&offset=5&x", 100),
            (
                "/p?limit=10&offset=0&provider=a%20ws&x".into(),
                "/p?limit=10&offset=15&provider=a%20ws&x".into()
            )
        );
        assert_eq!(links("limit=10&offset=90", 100), ("/p?limit=10&offset=80".into(), String::new()));
        assert_eq!(links("limit=10&offset=500", 100), ("/p?limit=10&offset=490".into(), String::new()));
        let next = paging("region=us-east-1&token=old&limit=5").next_by_token("a/b+c=&d");
        assert_eq!(next, "/p?limit=5&region=us-east-1&token=a%2Fb%2Bc%3D%26d");
    }
}
