//! Pages of lists. The sandbox can begin every list with an empty page that has a next one.

use serde_json::{Value, json};

use super::call_error::GceError;
use super::catalog::LINK;
use super::filter::GceFilter;
use super::query::GceQuery;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageControls {
    /// How many items are at most on a page.
    pub(super) items: Option<usize>,
    pub(super) begins_empty: bool,
}

const ITEMS_MAX: usize = 500;

/// The items that fit the filter, from where the token says.
pub(super) fn page(
    (kind, path): (&str, &str),
    items: Vec<Value>,
    query: &GceQuery,
    controls: PageControls,
) -> Result<Value, GceError> {
    let filter = GceFilter::parse(query.get("filter").unwrap_or_default())?;
    let asked: usize = match query.get("maxResults") {
        None => ITEMS_MAX,
        Some(text) => text.parse().ok().filter(|most| *most <= ITEMS_MAX).ok_or_else(|| {
            GceError::invalid(format!(
                "Invalid value for field 'maxResults': '{text}'. Must be between 0 and 500."
            ))
        })?,
    };
    let most = controls.items.unwrap_or(ITEMS_MAX).min(asked).max(1);
    let from = match query.get("pageToken") {
        None if controls.begins_empty => {
            let mut empty = head(kind, path);
            empty["nextPageToken"] = token(0).into();
            return Ok(empty);
        }
        None => 0,
        Some(token) => read_token(token)?,
    };
    let fitting: Vec<Value> = items.into_iter().filter(|item| filter.fits(item)).collect();
    let rest = fitting.len().saturating_sub(from + most);
    let shown: Vec<Value> = fitting.into_iter().skip(from).take(most).collect();
    let mut answer = head(kind, path);
    if !shown.is_empty() {
        answer["items"] = shown.into();
    }
    if rest > 0 {
        answer["nextPageToken"] = token(from + most).into();
    }
    Ok(answer)
}

fn head(kind: &str, path: &str) -> Value {
    json!({"kind": kind, "id": path, "selfLink": format!("{LINK}/{path}")})
}

fn token(from: usize) -> String {
    format!("CAEQ{from}")
}

fn read_token(token: &str) -> Result<usize, GceError> {
    let from = token.strip_prefix("CAEQ").and_then(|from| from.parse().ok());
    from.ok_or_else(|| GceError::invalid("Invalid value for field 'pageToken'."))
}
