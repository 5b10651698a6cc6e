//! Which operations are wanted, as it is in the address.

use serde::Deserialize;
use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::fields::Fields;
use crate::list::Filtered;
use crate::path;

pub(super) const AT: &str = "/console/operations";
pub(super) const PHASES: [&str; 10] = [
    "pending",
    "running",
    "waiting",
    "undoing",
    "paused",
    "stuck",
    "succeeded",
    "failed",
    "undone",
    "cancelled",
];
/// Questions that are asked every day.
const QUICK: [(&str, &str); 4] = [
    ("All", ""),
    ("Need a person", "paused,stuck"),
    ("Unfinished", "pending,running,waiting,undoing,paused,stuck"),
    ("Failed", "failed,undone"),
];

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<(String, String)>")]
pub(super) struct Filters {
    /// Those that are wanted, with commas between them.
    pub(super) phase: String,
    pub(super) workflow: String,
    pub(super) tenant: String,
    pub(super) resource: String,
    pub(super) after: String,
    pub(super) before: String,
    pub(super) cursor: String,
}

/// A link to a question.
pub(super) struct Quick {
    pub(super) title: &'static str,
    pub(super) href: String,
    pub(super) is_here: bool,
}

impl From<Vec<(String, String)>> for Filters {
    fn from(pairs: Vec<(String, String)>) -> Filters {
        let fields = Fields::from(pairs);
        let text = |name: &str| fields.text(name).to_owned();
        let asked: Vec<&str> = fields.all("phase").flat_map(|some| some.split(',')).collect();
        let phases = PHASES.into_iter().filter(|phase| asked.contains(phase));
        Filters {
            phase: phases.collect::<Vec<_>>().join(","),
            workflow: text("workflow"),
            tenant: text("tenant"),
            resource: text("resource"),
            after: text("after"),
            before: text("before"),
            cursor: text("cursor"),
        }
    }
}

impl Filters {
    pub(super) fn has(&self, phase: &str) -> bool {
        self.phase.split(',').any(|one| one == phase)
    }

    /// More than a phase is chosen, so the form that can change it is open.
    fn is_narrow(&self) -> bool {
        !Filters { phase: String::new(), ..self.clone() }.is_none()
    }

    /// The question as the API takes it, or which moment cannot be read.
    pub(super) fn asked(&self) -> Result<String, &'static str> {
        let after = moment(&self.after).ok_or("after")?;
        let before = moment(&self.before).ok_or("before")?;
        Ok(path::query([
            ("phase", self.phase.as_str()),
            ("workflow", &self.workflow),
            ("tenant", &self.tenant),
            ("resource", &self.resource),
            ("created_after", &after),
            ("created_before", &before),
            ("cursor", &self.cursor),
        ]))
    }

    pub(super) fn quick(&self) -> Vec<Quick> {
        let link = |(title, phases): (&'static str, &str)| Quick {
            title,
            href: format!("{AT}{}", path::query([("phase", phases)])),
            is_here: phases == self.phase && !self.is_narrow(),
        };
        QUICK.into_iter().map(link).collect()
    }
}

/// What a browser sends for a day and a time, as RFC 3339; empty stays empty.
fn moment(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some(String::new());
    }
    let minutes = format_description!("[year]-[month]-[day]T[hour]:[minute]");
    let seconds = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let text = text.trim_end_matches('Z');
    let at = PrimitiveDateTime::parse(text, &minutes).or_else(|_| PrimitiveDateTime::parse(text, &seconds));
    at.ok().map(|at| format!("{}T{:02}:{:02}:{:02}Z", at.date(), at.hour(), at.minute(), at.second()))
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Filters {
        let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Filters::from(owned.collect::<Vec<_>>())
    }

    #[test]
    fn phases_come_in_a_list_or_one_by_one_and_nonsense_is_left_out() {
        let filters = read(&[("phase", "stuck,paused"), ("phase", "failed"), ("phase", "odd")]);
        assert_eq!(filters.phase, "paused,stuck,failed");
        assert!(filters.has("stuck") && !filters.has("odd"));
        assert_eq!(filters.asked().unwrap(), "?phase=paused%2Cstuck%2Cfailed");
        assert!(!filters.is_narrow() && !filters.is_none());
    }

    #[test]
    fn boxes_with_one_name_are_all_read_from_an_address() {
        let address = "/console/operations?phase=stuck&phase=paused&tenant=a%20b".parse().unwrap();
        let Query(filters) = Query::<Filters>::try_from_uri(&address).unwrap();
        assert_eq!((filters.phase.as_str(), filters.tenant.as_str()), ("paused,stuck", "a b"));
    }

    #[test]
    fn a_moment_is_read_as_browsers_send_it_and_anything_else_is_named() {
        let filters = read(&[("after", "2026-11-16T10:34"), ("before", "2026-11-16T10:34:59Z")]);
        let asked = filters.asked().unwrap();
        assert!(asked.contains("created_after=2026-11-16T10%3A34%3A00Z"), "{asked}");
        assert!(asked.contains("created_before=2026-11-16T10%3A34%3A59Z"), "{asked}");
        assert_eq!(read(&[("before", "yesterday")]).asked(), Err("before"));
    }

    #[test]
    fn the_question_that_is_asked_is_marked() {
        let here = |pairs: &[(&str, &str)]| {
            let quick = read(pairs).quick();
            quick.into_iter().filter(|one| one.is_here).map(|one| one.title).collect::<Vec<_>>()
        };
        assert_eq!(here(&[]), ["All"]);
        assert_eq!(here(&[("phase", "stuck"), ("phase", "paused")]), ["Need a person"]);
        assert!(here(&[("phase", "stuck,paused"), ("tenant", "a")]).is_empty());
    }
}
