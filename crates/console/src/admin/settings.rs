//! `GET /console/admin/settings`

use api::types::{Setting, SettingList};
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::Tab;
use crate::parts::Prose;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

/// The filters, as they are in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    text: String,
    /// `yes` shows only what an operator has set.
    set: String,
}

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct Settings {
    here: Tab,
    filters: Filters,
    groups: Vec<Group>,
}

/// The settings of one part of the program.
struct Group {
    title: String,
    settings: Vec<Setting>,
}

impl Filters {
    fn fits(&self, setting: &Setting) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.text.to_lowercase());
        let is_set = self.set != "yes" || setting.origin != "default";
        is_set && (has(&setting.path) || has(&setting.about) || has(&plain(&setting.value)))
    }
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match signed_in.api.get::<SettingList>("/settings").await {
        Ok(found) => {
            let groups = grouped(found.items.into_iter().filter(|setting| filters.fits(setting)));
            Shell::new(&signed_in, &crate::admin::SECTION, "Settings").page(&Settings {
                here: Tab::Settings,
                filters,
                groups,
            })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

fn grouped(settings: impl Iterator<Item = Setting>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for setting in settings {
        let title = setting.path.split_once('.').map_or("general", |(section, _)| section).to_owned();
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.settings.push(setting),
            None => groups.push(Group { title, settings: vec![setting] }),
        }
    }
    groups
}

/// A value as it could be written in an environment variable.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "–".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn setting(path: &str, value: Value, origin: &str) -> Setting {
        let (path, origin) = (path.to_owned(), origin.to_owned());
        Setting { path, value, origin, variable: String::new(), about: "How".to_owned() }
    }

    #[test]
    fn settings_are_together_by_the_first_part_of_their_path() {
        let all = [("a.x", 1), ("data_dir", 2), ("a.y.z", 3)];
        let groups = grouped(all.into_iter().map(|(path, value)| setting(path, json!(value), "default")));
        let shown: Vec<_> = groups.iter().map(|group| (group.title.as_str(), group.settings.len())).collect();
        assert_eq!(shown, [("a", 2), ("general", 1)]);
    }

    #[test]
    fn a_filter_looks_at_path_value_and_meaning_and_may_leave_out_defaults() {
        let one = setting("server.listen", json!(["a", "b"]), "default");
        let fits = |text: &str, set: &str| Filters { text: text.into(), set: set.into() }.fits(&one);
        assert!(fits("LISTEN", "") && fits("a, b", "") && fits("how", ""));
        assert!(!fits("x", "") && !fits("", "yes"));
    }
}
