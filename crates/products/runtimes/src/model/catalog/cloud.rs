//! What is known of a cloud: its zones, where its machines are, and what else its clusters can be.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cloud {
    /// Whether its clusters can have IPv6 beside IPv4.
    pub dual_stack: bool,
    /// The zones of a region, without its name. A region that is not here has the usual three.
    pub zones: BTreeMap<String, Vec<String>>,
    /// Machine types that are not everywhere, by the beginning of their name: the regions that have them, with the zones.
    /// No zones are all zones of the region.
    pub machine_regions: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// The regions that control planes can run in; absent for all.
    pub control_plane_regions: Option<Vec<String>>,
    /// Names of machine types that stand for the newest generation, by their beginning: what is sent in its place.
    pub machine_versions: BTreeMap<String, String>,
}

impl Cloud {
    fn listed(&self, machine: &str) -> Option<&BTreeMap<String, Vec<String>>> {
        let longest = self.machine_regions.iter().filter(|(prefix, _)| machine.starts_with(prefix.as_str()));
        longest.max_by_key(|(prefix, _)| prefix.len()).map(|(_, regions)| regions)
    }

    /// The zones of the region that have the machine type; `None` where it is not known.
    pub fn zones_of(&self, machine: &str, region: &str) -> Option<&[String]> {
        let of_machine = self.listed(machine).and_then(|regions| regions.get(region));
        let zones = of_machine.filter(|zones| !zones.is_empty()).or_else(|| self.zones.get(region));
        zones.map(Vec::as_slice)
    }

    /// The error is the rule, without the place.
    pub(crate) fn check_machine(&self, machine: &str, region: &str) -> Result<(), String> {
        let Some(regions) = self.listed(machine).filter(|regions| !regions.contains_key(region)) else {
            return Ok(());
        };
        let names: Vec<&str> = regions.keys().map(String::as_str).collect();
        Err(format!("is not in this region; it is in {}", names.join(", ")))
    }

    pub(crate) fn check_control_plane(&self, region: &str) -> Result<(), String> {
        match &self.control_plane_regions {
            Some(regions) if !regions.iter().any(|known| known == region) => Err(format!(
                "parameters.colocateControlPlane: control planes of this cloud run in {}",
                regions.join(", ")
            )),
            _ => Ok(()),
        }
    }

    /// The machine type as the cloud knows it.
    pub fn machine(&self, asked: &str) -> String {
        let newest =
            self.machine_versions.iter().find_map(|(from, to)| Some((asked.strip_prefix(from)?, to)));
        newest.map_or_else(|| asked.to_owned(), |(rest, to)| format!("{to}{rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_generation_stands_for_the_newest() {
        let cloud: Cloud = serde_saphyr::from_str("machine_versions: {mi.: m7i., ri.: r8i.}").unwrap();
        assert_eq!(cloud.machine("mi.large"), "m7i.large");
        assert_eq!(cloud.machine("ri.16xlarge"), "r8i.16xlarge");
        assert_eq!(cloud.machine("m6i.large"), "m6i.large");
    }

    #[test]
    fn a_control_plane_runs_where_it_can() {
        let cloud: Cloud = serde_saphyr::from_str("control_plane_regions: [north]").unwrap();
        cloud.check_control_plane("north").unwrap();
        assert!(cloud.check_control_plane("south").unwrap_err().ends_with("run in north"));
        Cloud::default().check_control_plane("south").unwrap();
    }
}
