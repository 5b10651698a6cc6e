//! Reading the fields of a declaration, with the place of each in every error.

use std::time::Duration;

use config::{ConfigValue, Period, Spot, TreeEntry, TreeNode, nearest};

use crate::declaration::Wrong;

/// The fields of one map. Each is taken by its name; what has another name is refused.
pub(crate) struct DeclaredFields<'a> {
    /// Where the map stands.
    pub(crate) spot: Spot,
    entries: &'a [TreeEntry],
}

impl<'a> DeclaredFields<'a> {
    /// `what` says whose fields these are.
    pub(crate) fn of(node: &'a TreeNode, what: &str, known: &[&str]) -> Result<DeclaredFields<'a>, Wrong> {
        let ConfigValue::Map(entries) = &node.value else {
            return Err(Wrong::at(node.spot, format!("{what} must be a map, not {}", node.value.nature())));
        };
        for (index, entry) in entries.iter().enumerate() {
            if !known.contains(&entry.key.as_str()) {
                let meant = nearest::among(&entry.key, known.iter().copied());
                let fix = match meant {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("the fields are {}", known.join(", ")),
                };
                let message = format!("{what} has no field {}; {fix}", entry.key);
                return Err(Wrong::at(entry.spot, message));
            }
            if entries[..index].iter().any(|other| other.key == entry.key) {
                return Err(Wrong::at(entry.spot, format!("{} is given twice", entry.key)));
            }
        }
        Ok(DeclaredFields { spot: node.spot, entries })
    }

    pub(crate) fn node(&self, name: &str) -> Option<&'a TreeNode> {
        self.entries
            .iter()
            .find(|entry| entry.key == name)
            .map(|entry| &entry.node)
            .filter(|node| !node.is_nothing())
    }

    /// Where the value of a field stands, or else the map.
    pub(crate) fn spot_of(&self, name: &str) -> Spot {
        self.node(name).map_or(self.spot, |node| node.spot)
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&'a TreeNode, Wrong> {
        self.node(name).ok_or_else(|| Wrong::at(self.spot, format!("{name} is missing")))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<(&'a str, Spot)>, Wrong> {
        self.node(name).map(|node| text(node, name)).transpose()
    }

    pub(crate) fn needed_text(&self, name: &str) -> Result<(&'a str, Spot), Wrong> {
        text(self.needed(name)?, name)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Wrong> {
        match self.node(name) {
            None => Ok(false),
            Some(TreeNode { value: ConfigValue::Flag(flag), .. }) => Ok(*flag),
            Some(node) => Err(Wrong::at(node.spot, format!("{name} must be true or false"))),
        }
    }

    pub(crate) fn whole(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Wrong> {
        let Some(node) = self.node(name) else { return Ok(None) };
        let number = match &node.value {
            ConfigValue::Number(number) => number.as_u64(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        let wrong = || Wrong::at(node.spot, format!("{name} must be a whole number from {least} to {most}"));
        number.map(Some).ok_or_else(wrong)
    }

    pub(crate) fn period(
        &self,
        name: &str,
        least: Duration,
        most: Duration,
    ) -> Result<Option<Duration>, Wrong> {
        let Some((text, spot)) = self.text(name)? else { return Ok(None) };
        let period = text.parse::<Period>().map(Period::get).ok();
        let period = period.filter(|period| (least..=most).contains(period));
        let wrong = || {
            let (least, most) = (shown(least), shown(most));
            Wrong::at(
                spot,
                format!("{name} must be a time from {least} to {most}, such as 250ms, 10s, 5m or 2h"),
            )
        };
        period.map(Some).ok_or_else(wrong)
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Vec<(&'a str, Spot)>, Wrong> {
        let Some(node) = self.node(name) else { return Ok(Vec::new()) };
        let ConfigValue::List(items) = &node.value else {
            return Err(Wrong::at(node.spot, format!("{name} must be a list of texts")));
        };
        items.iter().map(|item| text(item, name)).collect()
    }
}

fn text<'a>(node: &'a TreeNode, name: &str) -> Result<(&'a str, Spot), Wrong> {
    match &node.value {
        ConfigValue::Text(text) if !text.is_empty() => Ok((text, node.spot)),
        other => Err(Wrong::at(
            node.spot,
            format!("{name} must be a text that is not empty, not {}", other.nature()),
        )),
    }
}

fn shown(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Period::millis(millis).to_string()
}
