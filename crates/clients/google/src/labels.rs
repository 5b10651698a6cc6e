//! Labels, which are the tags of Google Cloud.

use cloud::{CloudError, InstanceRequest, LAUNCH_TAG};
use serde_json::{Map, Value};

use crate::error::invalid;

const CHARS_MAX: usize = 63;
/// One is ours.
const LABELS_MAX: usize = 63;

/// The labels of instances and disks. The name of an instance is its name and no label.
pub(super) fn labels(request: &InstanceRequest) -> Result<Map<String, Value>, CloudError> {
    if !is_value(&request.launch_tag) {
        let message = format!("{:?} cannot be the value of a label", request.launch_tag);
        return Err(invalid("InvalidLabel", message));
    }
    let mut labels = Map::new();
    for (key, value) in &request.tags {
        let key = plain(key);
        if key != LAUNCH_TAG
            && key.starts_with(|first: char| first.is_ascii_lowercase())
            && labels.len() < LABELS_MAX
        {
            labels.insert(key, plain(value).into());
        }
    }
    labels.insert(LAUNCH_TAG.to_owned(), request.launch_tag.clone().into());
    Ok(labels)
}

/// As a list is narrowed to a launch.
pub(super) fn filter(launch_tag: &str) -> Result<String, CloudError> {
    if !is_value(launch_tag) {
        return Err(invalid("InvalidLabel", format!("{launch_tag:?} cannot be the value of a label")));
    }
    Ok(format!("labels.{LAUNCH_TAG}=\"{launch_tag}\""))
}

fn is_value(text: &str) -> bool {
    (1..=CHARS_MAX).contains(&text.len()) && plain(text) == text
}

fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    text.to_lowercase().chars().map(|c| if fits(c) { c } else { '-' }).take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_labels_and_the_mark_stays_ours() {
        let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let tags = vec![
            tag("rh-rid", "r-7"),
            tag("rh-org", "Org 7/ä"),
            tag("9", "no letter first"),
            tag(LAUNCH_TAG, "not ours"),
            tag("long", &"v".repeat(70)),
        ];
        let request = InstanceRequest { tags, ..InstanceRequest::new("tag-1") };
        let labels = labels(&request).unwrap();
        assert_eq!((&labels["rh-rid"], &labels["rh-org"]), (&"r-7".into(), &"org-7--".into()));
        assert_eq!((labels[LAUNCH_TAG].as_str(), labels.len()), (Some("tag-1"), 4));
        assert_eq!(labels["long"].as_str().unwrap().len(), 63);
        assert!(super::labels(&InstanceRequest::new("Tag\"")).is_err() && filter("a\" OR \"").is_err());
    }
}
