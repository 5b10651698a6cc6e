//! What the path and the query of a request say.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use super::BrokerState;
use super::error;
use server::http::Failure;

const ID_BYTES_MAX: usize = 255;

/// The ids in the path, decoded. What a path does not have is empty.
#[derive(Debug, Default)]
pub(crate) struct InstancePath {
    /// The region of the platform, in paths that have one.
    pub(crate) region: Option<String>,
    pub(crate) instance: String,
    pub(crate) binding: String,
}

impl FromRequestParts<BrokerState> for InstancePath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &BrokerState) -> Result<InstancePath, Failure> {
        let pairs = Path::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let Path(pairs) = pairs.map_err(|_| error::bad("the path is not valid UTF-8"))?;
        let mut instance_path = InstancePath::default();
        for (name, value) in pairs {
            check(&name, &value)?;
            match name.as_str() {
                "region" => instance_path.region = Some(value),
                "instance_id" => instance_path.instance = value,
                _ => instance_path.binding = value,
            }
        }
        Ok(instance_path)
    }
}

/// An id may have any character that a path and a log survive.
pub(crate) fn check(name: &str, id: &str) -> Result<(), Failure> {
    let is_bad = |c: char| c == '/' || c.is_control();
    if (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains(is_bad) {
        return Ok(());
    }
    let rule = format!("must have 1 to {ID_BYTES_MAX} bytes, no slash and no control characters");
    Err(error::bad(format!("{name}: {rule}")))
}

/// The query. An unknown parameter is ignored, and of what is given twice the first counts.
#[derive(Debug, Default)]
pub(crate) struct QueryParams {
    /// Whether the platform can wait.
    pub(crate) accepts_incomplete: bool,
    service_id: Option<String>,
    plan_id: Option<String>,
    pub(crate) operation: Option<String>,
}

impl FromRequestParts<BrokerState> for QueryParams {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &BrokerState) -> Result<QueryParams, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, shared).await;
        let Query(pairs) = pairs.map_err(|_| error::bad("the query cannot be read"))?;
        let first = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        Ok(QueryParams {
            accepts_incomplete: first("accepts_incomplete").as_deref() == Some("true"),
            service_id: first("service_id"),
            plan_id: first("plan_id"),
            operation: first("operation"),
        })
    }
}

impl QueryParams {
    /// The ids that a deletion must name.
    pub(crate) fn service_and_plan(&self) -> Result<(&str, &str), Failure> {
        Ok((needed("service_id", self.service_id.as_deref())?, needed("plan_id", self.plan_id.as_deref())?))
    }
}

fn needed<'a>(name: &str, value: Option<&'a str>) -> Result<&'a str, Failure> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| error::bad(format!("{name}: must be in the query")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_free_text_within_limits() {
        let long = "a".repeat(ID_BYTES_MAX);
        for good in ["a", "a b", "ä/".trim_end_matches('/'), "%", "..", "a:b", long.as_str()] {
            assert!(check("instance_id", good).is_ok(), "{good:?}");
        }
        for bad in ["", "a/b", "a\0", "a\nb", "\u{7f}", "\u{85}", &format!("{long}a"), &"ä".repeat(128)] {
            assert!(check("instance_id", bad).is_err(), "{bad:?}");
        }
    }
}
