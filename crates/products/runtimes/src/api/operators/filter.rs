//! Which runtimes a list shows: the parameters of a request as one query of the store.

use crate::model::{DEPROVISION, InstanceRecord, PROVISION, UPDATE, UPGRADE};
use engine::store::ResourceQuery;
use engine::{Phase, Resource};

use super::unfinished;
use server::error;
use server::http::Failure;
use server::paging::{Position, cursor_after, parse_cursor};
use server::query::{Query, check_text, not_allowed};

/// The last page that the pager links to.
const PAGE_MAX: u32 = 1_000_000;
const FAILED: [Phase; 3] = [Phase::Failed, Phase::Undone, Phase::Cancelled];
const STATES: [&str; 11] = [
    "succeeded",
    "failed",
    "error",
    "provisioning",
    "deprovisioning",
    "deprovisioned",
    "deprovisionincomplete",
    "upgrading",
    "updating",
    "suspended",
    "all",
];
/// Filters that are labels of the same name.
const LABELS: [&str; 6] = ["account", "subaccount", "runtime_id", "region", "shoot", "plan"];

/// All runtimes that still exist.
pub(crate) fn everything() -> ResourceQuery {
    ResourceQuery { kind: InstanceRecord::KIND.to_owned(), ..ResourceQuery::default() }
}

/// The filters alone, without paging.
pub(crate) fn filters(query: &mut Query) -> Result<ResourceQuery, Failure> {
    let mut wanted = everything();
    for name in LABELS {
        let values = texts(query, name)?;
        if !values.is_empty() {
            wanted.labels.push((name.to_owned(), values));
        }
    }
    wanted.names = texts(query, "instance_id")?.iter().map(|id| InstanceRecord::resource(id)).collect();
    let states = query.all("state");
    pick(&mut wanted, &states)?;
    if let Some(expired) = flag(query, "expired")? {
        wanted.labels.push(("expired".to_owned(), vec![expired.to_string()]));
    }
    Ok(wanted)
}

/// Adds which page is wanted, and answers how long it is.
pub(crate) fn page(query: &mut Query, wanted: &mut ResourceQuery, size_max: u16) -> Result<usize, Failure> {
    page_of(query, wanted, size_max, size_max)
}

/// The same, where a page is shorter unless more is asked for.
pub(crate) fn page_of(
    query: &mut Query,
    wanted: &mut ResourceQuery,
    size_default: u16,
    size_max: u16,
) -> Result<usize, Failure> {
    let page = query.number("page", 1..=PAGE_MAX)?;
    let size = usize::from(query.number("page_size", 1..=size_max)?.unwrap_or(size_default));
    let cursor = query.text("cursor")?;
    wanted.after = if wanted.newest_first {
        cursor.map(|text| parse_cursor(&text)).transpose()?.map(|NewestFirst(last)| last)
    } else {
        cursor.map(|text| parse_cursor(&text)).transpose()?
    };
    if page.is_some() && wanted.after.is_some() {
        return Err(error::parameter("page", "give either a page or a cursor, and not both"));
    }
    let before = page.map_or(0, |page| page - 1);
    wanted.offset = usize::try_from(before).unwrap_or(usize::MAX).saturating_mul(size);
    // One more than asked for tells whether there is a next page.
    wanted.limit = size + 1;
    // The count is the same for all pages that follow, and dear.
    wanted.counts = wanted.after.is_none();
    Ok(size)
}

/// In which order the page comes, if `sort` says nothing: the newest first, but the oldest for clients of the Kyma
/// Environment Broker.
pub(crate) fn order(query: &mut Query, wanted: &mut ResourceQuery, compat_keb: bool) -> Result<(), Failure> {
    wanted.newest_first = match query.text("sort")?.as_deref() {
        None => !compat_keb,
        Some("-created_at") => true,
        Some("created_at") => false,
        Some(other) => return Err(not_allowed("sort", other, "created_at or -created_at")),
    };
    Ok(())
}

/// What brings the page after this number.
pub(crate) fn cursor(wanted: &ResourceQuery, last: i64) -> String {
    if wanted.newest_first { cursor_after(NewestFirst(last)) } else { cursor_after(last) }
}

/// The number of the last row of a page that begins with the newest.
struct NewestFirst(i64);

impl Position for NewestFirst {
    const VERSION: u8 = 5;

    fn bytes(self) -> Vec<u8> {
        self.0.bytes()
    }

    fn read(bytes: &[u8]) -> Option<NewestFirst> {
        i64::read(bytes).map(NewestFirst)
    }
}

pub(crate) fn flag(query: &mut Query, name: &'static str) -> Result<Option<bool>, Failure> {
    let Some(text) = query.text(name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| not_allowed(name, &text, "true or false"))
}

fn texts(query: &mut Query, name: &'static str) -> Result<Vec<String>, Failure> {
    let values = query.all(name);
    values.iter().try_for_each(|value| check_text(name, value))?;
    Ok(values)
}

/// What each state means for the newest operation.
fn pick(wanted: &mut ResourceQuery, states: &[String]) -> Result<(), Failure> {
    if let Some(wrong) = states.iter().find(|state| !STATES.contains(&state.as_str())) {
        return Err(not_allowed("state", wrong, &format!("one of {}", STATES.join(", "))));
    }
    if states.iter().any(|state| state == "all") {
        wanted.also_gone = true;
        return Ok(());
    }
    for state in states {
        let gone = match state.as_str() {
            "deprovisioned" => Some("complete"),
            "deprovisionincomplete" => Some("incomplete"),
            _ => None,
        };
        if let Some(gone) = gone {
            if states.iter().any(|other| other != state) {
                return Err(error::parameter("state", format!("{state} must be asked for alone")));
            }
            wanted.also_gone = true;
            wanted.labels.push(("gone".to_owned(), vec![gone.to_owned()]));
        }
        let lines: &[(&str, Vec<Phase>)] = &match state.as_str() {
            "succeeded" => {
                [PROVISION, UPDATE, UPGRADE].map(|workflow| (workflow, vec![Phase::Succeeded])).to_vec()
            }
            "failed" => vec![(PROVISION, FAILED.to_vec()), (DEPROVISION, FAILED.to_vec())],
            "error" => vec![(UPDATE, FAILED.to_vec()), (UPGRADE, FAILED.to_vec())],
            "provisioning" => vec![(PROVISION, unfinished())],
            "deprovisioning" => vec![(DEPROVISION, unfinished())],
            "updating" => vec![(UPDATE, unfinished())],
            "upgrading" => vec![(UPGRADE, unfinished())],
            // Of those that still exist, the ones that were taken down are suspended.
            _ => vec![(DEPROVISION, vec![Phase::Succeeded])],
        };
        wanted.states.extend(lines.iter().map(|(name, phases)| ((*name).to_owned(), phases.clone())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(states: &[&str]) -> Result<ResourceQuery, Failure> {
        let mut wanted = ResourceQuery::default();
        let states: Vec<String> = states.iter().map(|state| (*state).to_owned()).collect();
        pick(&mut wanted, &states).map(|()| wanted)
    }

    #[test]
    fn every_state_is_a_query_and_no_two_are_the_same() {
        let mut seen = Vec::new();
        for state in STATES {
            let wanted = picked(&[state]).unwrap();
            let is_gone = ["deprovisioned", "deprovisionincomplete", "all"].contains(&state);
            assert_eq!(wanted.also_gone, is_gone, "{state}");
            let shape = format!("{wanted:?}");
            assert!(!seen.contains(&shape), "{state}");
            seen.push(shape);
        }
        assert_eq!(picked(&["provisioning", "updating"]).unwrap().states.len(), 2);
        assert!(picked(&["provisioning", "all"]).unwrap().states.is_empty());
    }

    #[test]
    fn what_no_query_can_say_is_refused_with_what_can() {
        let unknown = picked(&["ready"]).unwrap_err().into_error(error::fault).detail.clone();
        assert!(unknown.contains("succeeded, failed, error"), "{unknown}");
        assert!(picked(&["deprovisioned", "failed"]).is_err());
        assert!(picked(&["deprovisioned", "deprovisioned"]).is_ok());
    }
}
