//! The part of a request after the question mark, and names in paths. What is not known is refused by name.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use api::Code;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use engine::{OperationId, Timestamp};

use crate::error;
use crate::http::{Failure, FailureKind};

const TEXT_CHARS_MAX: usize = 256;
/// The most parameters of one request: every one costs memory.
const PAIRS_MAX: usize = 64;

/// Query parameters on their way to be understood. Each is taken out once; [`finish`](Self::finish) refuses
/// what is left.
pub struct Query {
    pairs: Vec<(String, String)>,
    asked_for: Vec<&'static str>,
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query, Failure> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let pairs = pairs.map_err(|error| Failure::new(Code::InvalidParameter, error.body_text()))?.0;
        Query::new(pairs)
    }
}

impl Query {
    fn new(pairs: Vec<(String, String)>) -> Result<Query, Failure> {
        if pairs.len() > PAIRS_MAX {
            let detail = format!("there are more than {PAIRS_MAX} parameters");
            return Err(Failure::new(Code::UnknownParameter, detail));
        }
        Ok(Query { pairs, asked_for: Vec::new() })
    }

    /// All values of a parameter that may be given more than once.
    pub fn all(&mut self, name: &'static str) -> Vec<String> {
        self.asked_for.push(name);
        let (wanted, rest) = std::mem::take(&mut self.pairs).into_iter().partition(|(key, _)| key == name);
        self.pairs = rest;
        let wanted: Vec<(String, String)> = wanted;
        wanted.into_iter().map(|(_, value)| value).collect()
    }

    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Failure> {
        let mut values = self.all(name);
        if values.len() > 1 {
            return Err(error::parameter(name, "it is given more than once"));
        }
        let Some(value) = values.pop() else { return Ok(None) };
        check_text(name, &value)?;
        Ok(Some(value))
    }

    pub fn number<N>(&mut self, name: &'static str, range: RangeInclusive<N>) -> Result<Option<N>, Failure>
    where
        N: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let allowed = || format!("a whole number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| not_allowed(name, &text, &allowed()))
    }

    pub fn flag(&mut self, name: &'static str) -> Result<bool, Failure> {
        match self.text(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(not_allowed(name, text, "true or false")),
        }
    }

    pub fn moment(&mut self, name: &'static str) -> Result<Option<Timestamp>, Failure> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let moment = Timestamp::parse(&text);
        moment.map(Some).ok_or_else(|| not_allowed(name, &text, "a time such as 2026-01-31T12:00:00Z"))
    }

    /// Refuses unknown parameters, so that a misspelt filter is not a filter that finds all.
    pub fn finish(self) -> Result<(), Failure> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let name: String = name.chars().take(TEXT_CHARS_MAX).collect();
        let detail = if self.asked_for.is_empty() {
            format!("{name:?} is not a parameter here; there are none")
        } else {
            format!("{name:?} is not a parameter here; there are {}", self.asked_for.join(", "))
        };
        Err(Failure::new(Code::UnknownParameter, detail)
            .with("parameter", name)
            .with("allowed", self.asked_for))
    }
}

pub fn not_allowed(name: &str, value: &str, allowed: &str) -> Failure {
    let shown: String = value.chars().take(80).collect();
    error::parameter(name, format!("{shown:?} is not {allowed}")).with("allowed", allowed)
}

/// Text that may go into a database and into a log.
pub fn check_text(name: &str, value: &str) -> Result<(), Failure> {
    let length = value.chars().count();
    if length == 0 || length > TEXT_CHARS_MAX || value.chars().any(char::is_control) {
        let rule = format!("it must have 1 to {TEXT_CHARS_MAX} characters and no control characters");
        return Err(error::parameter(name, rule));
    }
    Ok(())
}

/// The id of the operation in the path.
pub struct Id(pub OperationId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Failure> {
        let Name(text) = Name::from_request_parts(parts, state).await?;
        let id = text.parse::<OperationId>();
        id.map(Id).map_err(|_| not_allowed("id", &text, "the id of an operation, which is a UUID"))
    }
}

/// A name in the path: of a workflow, a token, a signal or a problem.
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Failure> {
        let pairs = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Path(mut pairs) =
            pairs.map_err(|error| Failure::new(Code::InvalidParameter, error.body_text()))?;
        let (name, value) = pairs.pop().ok_or(FailureKind::NoSuchPath)?;
        check_text(&name, &value)?;
        Ok(Name(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Query::new(owned.collect()).unwrap()
    }

    fn detail(problem: &Failure) -> String {
        problem.clone().into_error(error::fault).detail.clone()
    }

    #[test]
    fn a_parameter_that_no_one_asked_for_is_refused_by_name() {
        let mut query = query(&[("limit", "5"), ("tennant", "a")]);
        assert_eq!(query.number("limit", 1..=9).unwrap(), Some(5));
        let problem = query.finish().unwrap_err();
        assert_eq!(detail(&problem), "\"tennant\" is not a parameter here; there are limit");
    }

    #[test]
    fn bad_values_are_refused_with_what_is_allowed() {
        let range = query(&[("limit", "0")]).number("limit", 1..=9).unwrap_err();
        assert_eq!(detail(&range), "limit: \"0\" is not a whole number from 1 to 9");
        assert!(query(&[("a", "1"), ("a", "2")]).text("a").is_err());
        assert!(query(&[("a", "x\0y")]).text("a").is_err());
        assert!(query(&[("a", "")]).text("a").is_err());
        assert!(query(&[("at", "yesterday")]).moment("at").is_err());
        assert!(Query::new(vec![("a".into(), "b".into()); PAIRS_MAX + 1]).is_err());
    }
}
