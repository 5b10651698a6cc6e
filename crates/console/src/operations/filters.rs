//! The filters of the list of operations, as the URL has them.

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
const QUICK: [(&str, &str); 6] = [
    ("All", ""),
    ("Unfinished", "pending,running,waiting,undoing,paused,stuck"),
    ("Running", "running,undoing"),
    ("Waiting", "pending,waiting"),
    ("Needs an operator", "paused,stuck"),
    ("Failed", "failed,undone"),
];

/// Columns that sort, by their names in the API.
const COLUMNS: [(&str, &str); 6] = [
    ("Phase", "phase"),
    ("Workflow", "workflow"),
    ("Resource", "resource"),
    ("Tenant", "tenant"),
    ("Duration", "duration"),
    ("Created", "created"),
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
    /// What is searched for.
    pub(super) q: String,
    /// What it is sorted by, as the API names it; empty for newest first.
    pub(super) sort: String,
    /// `show` for operations that serve others, too.
    pub(super) housekeeping: String,
    pub(super) cursor: String,
    pub(super) trail: String,
}

/// The head of a column by which the list can be sorted.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) href: String,
    /// As `aria-sort` says it; empty where the list is sorted by something else.
    pub(super) sorted: &'static str,
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
            q: text("q"),
            sort: text("sort"),
            housekeeping: text("housekeeping"),
            cursor: text("cursor"),
            trail: text("trail"),
        }
    }
}

impl Filters {
    pub(super) fn has(&self, phase: &str) -> bool {
        self.phase.split(',').any(|one| one == phase)
    }

    /// More than a phase is chosen.
    fn is_narrow(&self) -> bool {
        !Filters { phase: String::new(), ..self.clone() }.is_none()
    }

    /// Something is chosen that only the form can change, so it is open.
    pub(super) fn is_in_form(&self) -> bool {
        let chosen = [&self.workflow, &self.tenant, &self.resource, &self.after, &self.before];
        let is_quick = QUICK.iter().any(|(_, phases)| *phases == self.phase);
        !is_quick || chosen.iter().any(|text| !text.is_empty())
    }

    /// What totals count, or which moment cannot be read.
    pub(super) fn counted(&self) -> Result<String, &'static str> {
        let counted =
            Filters { q: String::new(), sort: String::new(), cursor: String::new(), ..self.clone() };
        counted.asked()
    }

    /// The heads of the columns; the one by which the list is sorted turns it round.
    pub(super) fn columns(&self) -> Vec<Column> {
        let column = |(title, name): (&'static str, &'static str)| {
            let (up, down) = (name.to_owned(), format!("-{name}"));
            let here = if self.sort.is_empty() { "-created" } else { &self.sort };
            let sorted = match () {
                () if here == up => "ascending",
                () if here == down => "descending",
                () => "",
            };
            // Times begin with the newest and longest, names with the first.
            let is_time = ["created", "duration"].contains(&name);
            let wanted = match (sorted, is_time) {
                ("ascending", _) | ("", true) => down,
                _ => up,
            };
            let sort = if wanted == "-created" { String::new() } else { wanted };
            let href = format!("{AT}{}", Filters { sort, ..self.clone() }.with(&[]));
            Column { title, href, sorted }
        };
        COLUMNS.map(column).into()
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
            ("housekeeping", if self.housekeeping == "show" { "" } else { "hide" }),
            ("q", &self.q),
            ("sort", &self.sort),
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
        assert_eq!(filters.asked().unwrap(), "?phase=paused%2Cstuck%2Cfailed&housekeeping=hide");
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
    fn the_head_of_a_column_sorts_and_then_turns_round() {
        let head = |pairs: &[(&str, &str)], title: &str| {
            let column = read(pairs).columns().into_iter().find(|column| column.title == title).unwrap();
            (column.href, column.sorted)
        };
        assert_eq!(head(&[], "Created"), (format!("{AT}?sort=created"), "descending"));
        assert_eq!(head(&[("sort", "created")], "Created"), (AT.to_owned(), "ascending"));
        assert_eq!(head(&[("q", "x")], "Duration"), (format!("{AT}?q=x&sort=-duration"), ""));
        assert_eq!(
            head(&[("sort", "workflow"), ("cursor", "c")], "Workflow").0,
            format!("{AT}?sort=-workflow")
        );
    }

    #[test]
    fn the_question_that_is_asked_is_marked() {
        let here = |pairs: &[(&str, &str)]| {
            let quick = read(pairs).quick();
            quick.into_iter().filter(|one| one.is_here).map(|one| one.title).collect::<Vec<_>>()
        };
        assert_eq!(here(&[]), ["All"]);
        assert_eq!(here(&[("phase", "stuck"), ("phase", "paused")]), ["Needs an operator"]);
        assert!(here(&[("phase", "stuck,paused"), ("tenant", "a")]).is_empty());
    }
}
