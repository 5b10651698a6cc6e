//! Areas of the world with one region each, in the order of the file.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Areas(Vec<(String, String)>);

impl Areas {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    pub fn region(&self, area: &str) -> Option<&str> {
        self.iter().find(|(name, _)| name == area).map(|(_, region)| region.as_str())
    }
}

impl<'de> Deserialize<'de> for Areas {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Areas, D::Error> {
        deserializer.deserialize_map(OrderedAreas)
    }
}

struct OrderedAreas;

impl<'de> Visitor<'de> for OrderedAreas {
    type Value = Areas;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of areas to regions")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Areas, M::Error> {
        let mut areas = Vec::new();
        while let Some(area) = map.next_entry::<String, String>()? {
            areas.push(area);
        }
        Ok(Areas(areas))
    }
}
