//! Single parameters of the query, and parts of the path. What is not a parameter is not looked at, as clients are
//! used to.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use super::LaunchState;
use super::error;
use server::http::{Failure, FailureKind};

const TEXT_CHARS_MAX: usize = 512;
/// The most parameters of one request: every one costs memory.
const PAIRS_MAX: usize = 64;

pub(crate) struct QueryParams(Vec<(String, String)>);

impl FromRequestParts<LaunchState> for QueryParams {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &LaunchState) -> Result<QueryParams, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let Query(pairs) = pairs.map_err(|_| error::invalid("query", "it cannot be read"))?;
        if pairs.len() > PAIRS_MAX {
            return Err(error::invalid("query", format!("there are more than {PAIRS_MAX} parameters")));
        }
        Ok(QueryParams(pairs))
    }
}

impl QueryParams {
    /// An empty value is none.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Failure> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(error::invalid(name, "it is given more than once"));
        }
        check(name, value)?;
        Ok(Some(value).filter(|value| !value.is_empty()))
    }

    /// Whether `sort` turns a list round that is in the order of ids.
    pub(crate) fn is_newest_first(&self) -> Result<bool, Failure> {
        match self.text("sort")? {
            None | Some("id") => Ok(false),
            Some("-id") => Ok(true),
            Some(_) => Err(error::invalid("sort", "it must be id or -id")),
        }
    }

    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, Failure> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text {
            "true" | "1" | "yes" => Ok(Some(true)),
            "false" | "0" | "no" => Ok(Some(false)),
            _ => Err(error::invalid(name, "it must be true or false")),
        }
    }
}

fn check(name: &str, value: &str) -> Result<(), Failure> {
    if value.chars().count() > TEXT_CHARS_MAX || value.chars().any(char::is_control) {
        let rule = format!("it must have at most {TEXT_CHARS_MAX} characters and no control characters");
        return Err(error::invalid(name, rule));
    }
    Ok(())
}

/// The last name in the path.
pub(crate) struct Name(pub(crate) String);

impl FromRequestParts<LaunchState> for Name {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &LaunchState) -> Result<Name, Failure> {
        let pairs = Path::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let Path(mut pairs) = pairs.map_err(|_| error::invalid("path", "it cannot be read"))?;
        let (name, value) = pairs.pop().ok_or(FailureKind::NoSuchPath)?;
        check(&name, &value)?;
        Ok(Name(value))
    }
}

/// The last part of the path as the number of a record.
pub(crate) struct RecordId(pub(crate) i64);

impl FromRequestParts<LaunchState> for RecordId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &LaunchState) -> Result<RecordId, Failure> {
        let Name(text) = Name::from_request_parts(parts, shared).await?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_plain && *number > 0);
        number.map(RecordId).ok_or_else(|| error::invalid("id", "it must be a whole number from 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> QueryParams {
        QueryParams(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
    }

    #[test]
    fn a_value_is_there_once_or_refused() {
        let good = asked(&[("region", "us-east-1"), ("token", ""), ("supported", "true"), ("what", "\0")]);
        assert_eq!(good.text("region").unwrap(), Some("us-east-1"));
        assert_eq!(good.text("token").unwrap(), None);
        assert_eq!(good.text("zone").unwrap(), None);
        assert_eq!(good.switch("supported").unwrap(), Some(true));
        let long = "x".repeat(TEXT_CHARS_MAX + 1);
        for bad in [vec![("a", "1"), ("a", "2")], vec![("a", "x\n")], vec![("a", long.as_str())]] {
            assert_eq!(
                asked(&bad).text("a").unwrap_err().into_error(error::fault).field.as_deref(),
                Some("a")
            );
        }
        assert!(asked(&[("a", "maybe")]).switch("a").is_err());
    }
}
