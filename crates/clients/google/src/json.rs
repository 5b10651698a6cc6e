//! Numbers and links as Compute Engine writes them.

use serde::{Deserialize, Deserializer};

/// 64-bit integers travel as text, and older answers have them as numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum WireNumber {
    Text(String),
    Number(u64),
    Real(f64),
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let wrong =
        |found: &dyn std::fmt::Display| serde::de::Error::custom(format!("{found} is no whole number"));
    match WireNumber::deserialize(deserializer)? {
        WireNumber::Number(number) => Ok(number),
        WireNumber::Text(text) => text.parse().map_err(|_| wrong(&text)),
        WireNumber::Real(number) => Err(wrong(&number)),
    }
}

/// An id, which is a number that no program counts with.
pub(super) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    number(deserializer).map(|number| number.to_string())
}

/// What a link names: links differ in host and version, and some have neither.
pub(super) fn after_projects(link: &str) -> &str {
    link.rsplit_once("projects/").map_or(link, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Sample {
        #[serde(deserialize_with = "number")]
        count: u64,
    }

    #[test]
    fn a_number_may_be_text() {
        let read = |value| serde_json::from_value::<Sample>(json!({"count": value})).map(|one| one.count);
        assert_eq!(read(json!("18446744073709551615")).unwrap(), u64::MAX);
        assert_eq!(read(json!(7)).unwrap(), 7);
        for wrong in [json!("7.5"), json!(7.5), json!(""), json!(null), json!("-1")] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn links_are_compared_without_host_and_version() {
        let long = "https://www.googleapis.com/compute/v1/projects/p/zones/z/instances/web-1";
        assert_eq!(after_projects(long), "p/zones/z/instances/web-1");
        assert_eq!(after_projects("projects/p/zones/z/instances/web-1"), after_projects(long));
        assert_eq!(after_projects("web-1"), "web-1");
    }
}
