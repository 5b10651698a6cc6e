//! Which runtimes of a list are wanted.

use std::ops::RangeInclusive;

use crate::model::{RuntimeState, view};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;

use super::ServerlessState;
use super::wire::State;
use server::http::Failure;

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;
const OFFSET_MAX: u32 = 1_000_000;
const TEXT_CHARS_MAX: usize = 128;
const KNOWN: [&str; 6] = ["limit", "offset", "flavour", "state", "name", "all"];

/// What the query of a list says.
#[derive(Debug)]
pub(crate) struct ListParams(pub(crate) view::RuntimeQuery);

impl FromRequestParts<ServerlessState> for ListParams {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &ServerlessState) -> Result<ListParams, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let Query(pairs) = pairs.map_err(|_| Failure::parameter("query", "it cannot be read"))?;
        read(&pairs).map(ListParams)
    }
}

/// A misspelt filter is not a filter that finds all.
fn read(pairs: &[(String, String)]) -> Result<view::RuntimeQuery, Failure> {
    let unknown = pairs.iter().any(|(name, _)| !KNOWN.contains(&name.as_str()));
    if unknown || pairs.len() > KNOWN.len() {
        let rule = format!("there are {}, each at most once", KNOWN.join(", "));
        return Err(Failure::parameter("query", &rule));
    }
    Ok(view::RuntimeQuery {
        limit: number(pairs, "limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT),
        offset: number(pairs, "offset", 0..=OFFSET_MAX)?.unwrap_or(0),
        flavour: text(pairs, "flavour")?,
        state: one_of(pairs, "state", &State::ALL, RuntimeState::parse)?,
        name: text(pairs, "name")?,
        all: one_of(pairs, "all", &["true", "false"], |text| text.parse().ok())?.unwrap_or(false),
    })
}

fn one_of<T>(
    pairs: &[(String, String)],
    name: &str,
    allowed: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let Some(text) = text(pairs, name)? else { return Ok(None) };
    let rule = || format!("it must be one of {}", allowed.join(", "));
    parse(&text).map(Some).ok_or_else(|| Failure::parameter(name, rule()))
}

fn text(pairs: &[(String, String)], name: &str) -> Result<Option<String>, Failure> {
    let mut values = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
    let Some(value) = values.next() else { return Ok(None) };
    let is_good =
        (1..=TEXT_CHARS_MAX).contains(&value.chars().count()) && !value.chars().any(char::is_control);
    if is_good && values.next().is_none() {
        return Ok(Some(value.clone()));
    }
    let rule =
        format!("it must be there once, with 1 to {TEXT_CHARS_MAX} characters and no control characters");
    Err(Failure::parameter(name, &rule))
}

fn number(
    pairs: &[(String, String)],
    name: &str,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, Failure> {
    let Some(text) = text(pairs, name)? else { return Ok(None) };
    let number = text.parse().ok().filter(|number| range.contains(number));
    let rule = format!("it must be a whole number from {} to {}", range.start(), range.end());
    number.map(Some).ok_or_else(|| Failure::parameter(name, &rule))
}

#[cfg(test)]
mod tests {
    use super::super::error;
    use super::*;

    fn wanted(pairs: &[(&str, &str)]) -> Result<view::RuntimeQuery, String> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        read(&pairs).map_err(|failure| failure.into_error(error::fault).detail.clone())
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let plain = wanted(&[]).unwrap();
        assert_eq!((plain.limit, plain.offset, plain.all), (50, 0, false));
        assert_eq!((plain.flavour, plain.state, plain.name), (None, None, None));
        let all = [
            ("limit", "200"),
            ("offset", "7"),
            ("flavour", "F"),
            ("state", "ERROR"),
            ("name", "n"),
            ("all", "true"),
        ];
        let full = wanted(&all).unwrap();
        assert_eq!((full.limit, full.offset, full.all), (200, 7, true));
        assert_eq!((full.flavour.as_deref(), full.name.as_deref()), (Some("F"), Some("n")));
        assert_eq!(full.state, Some(RuntimeState::Error));
    }

    #[test]
    fn bad_values_are_refused_with_what_is_allowed() {
        for (name, value, part) in [
            ("limit", "0", "from 1 to 200"),
            ("limit", "201", "from 1 to 200"),
            ("limit", "many", "from 1 to 200"),
            ("offset", "-1", "from 0 to"),
            ("offset", "99999999999", "from 0 to"),
            ("state", "DONE", "PENDING, RUNNING, UPDATING, ERROR"),
            ("name", "", "1 to 128 characters"),
            ("flavour", "a\u{0}", "no control characters"),
            ("flavor", "a", "there are limit, offset, flavour, state, name, all"),
            ("all", "yes", "true, false"),
        ] {
            let told = wanted(&[(name, value)]).unwrap_err();
            assert!(told.contains(part), "{name}={value}: {told}");
        }
        assert!(wanted(&[("limit", "1"), ("limit", "2")]).is_err());
    }
}
