//! Reads the tables that are part of the program. `aws.txt` of the crate `cloud` begins with what the lines mean.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use cloud::Architecture;

use super::entry::{Generations, TypeEntry};

/// What one cloud offers.
#[derive(Debug, Default)]
pub(crate) struct CloudTypes {
    regions: BTreeMap<String, Region>,
}

#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) name: String,
    /// In any of its zones.
    all: Vec<Arc<TypeEntry>>,
    offers: Vec<TypeOffer>,
}

/// Zones that offer the same.
#[derive(Debug)]
struct TypeOffer {
    zones: Vec<String>,
    types: Vec<Arc<TypeEntry>>,
}

/// The sizes of one family, by the part of the name in which they differ.
type Family<'a> = Vec<(&'a str, Arc<TypeEntry>)>;

impl CloudTypes {
    pub(crate) fn parse(text: &str) -> Result<CloudTypes, String> {
        let (mut families, mut table) = (HashMap::new(), CloudTypes::default());
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split(' ');
            let done = match words.next() {
                Some("family") => family(words).and_then(|(pattern, sizes)| {
                    let known = families.insert(pattern, sizes);
                    known.map_or(Ok(()), |_| Err(format!("the family {pattern} is there twice")))
                }),
                Some("place") => table.in_region(words, &families),
                Some("#") => Ok(()),
                _ => Err("a line begins with family, place or #".to_owned()),
            };
            done.map_err(|error| format!("line {number}: {error}"))?;
        }
        Ok(table)
    }

    pub(crate) fn regions(&self) -> impl Iterator<Item = &Region> {
        self.regions.values()
    }

    pub(crate) fn region(&self, name: &str) -> Option<&Region> {
        self.regions.get(name)
    }

    fn in_region<'a>(
        &mut self,
        mut words: impl Iterator<Item = &'a str>,
        families: &HashMap<&str, Family<'_>>,
    ) -> Result<(), String> {
        let (Some(name), Some(zones)) = (words.next(), words.next()) else {
            return Err("a place has a region and zones".to_owned());
        };
        let mut types = Vec::new();
        for word in words {
            types.extend(offered(word, families)?);
        }
        let zones = if zones == "-" { Vec::new() } else { zones.split(',').map(str::to_owned).collect() };
        let region = self.regions.entry(name.to_owned()).or_insert_with(|| Region {
            name: name.to_owned(),
            all: Vec::new(),
            offers: Vec::new(),
        });
        let known: HashSet<&str> = region.all.iter().map(|entry| entry.name.as_str()).collect();
        let added: Vec<_> =
            types.iter().filter(|entry| !known.contains(entry.name.as_str())).cloned().collect();
        region.all.extend(added);
        region.offers.push(TypeOffer { zones, types });
        Ok(())
    }
}

impl Region {
    pub(crate) fn types(&self, zone: Option<&str>) -> Option<&[Arc<TypeEntry>]> {
        let Some(zone) = zone else { return Some(&self.all) };
        let offer = self.offers.iter().find(|offer| offer.zones.iter().any(|one| one == zone))?;
        Some(&offer.types)
    }

    pub(crate) fn zones(&self) -> Vec<&str> {
        let mut zones: Vec<&str> =
            self.offers.iter().flat_map(|offer| offer.zones.iter().map(String::as_str)).collect();
        zones.sort_unstable();
        zones
    }
}

/// `m5.* x86_64 large,2,1,8192,0 …`
fn family<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<(&'a str, Family<'a>), String> {
    let (Some(pattern), Some(kind)) = (words.next(), words.next()) else {
        return Err("a family has a pattern and an architecture".to_owned());
    };
    let (architecture, azure) = kind.split_once('/').map_or((kind, None), |(one, azure)| (one, Some(azure)));
    let architecture = match architecture {
        "x86_64" => Architecture::X86_64,
        "arm64" => Architecture::Arm64,
        other => return Err(format!("{other:?} is not an architecture")),
    };
    let azure = azure.map(|all| Generations { gen_v1: all.contains('1'), gen_v2: all.contains('2') });
    let size = |word: &'a str| {
        let bad = || format!("{word:?} is not name,vcpus,cores,memory,storage");
        let parts: Vec<&str> = word.split(',').collect();
        let [size, vcpus, cores, memory, storage] = parts[..] else { return Err(bad()) };
        let entry = TypeEntry {
            name: pattern.replacen('*', size, 1),
            vcpus: vcpus.parse().map_err(|_| bad())?,
            cores: cores.parse().map_err(|_| bad())?,
            memory_mib: memory.parse().map_err(|_| bad())?,
            storage_gb: storage.parse().map_err(|_| bad())?,
            architecture,
            azure,
        };
        Ok((size, Arc::new(entry)))
    };
    Ok((pattern, words.map(size).collect::<Result<_, String>>()?))
}

/// `m5.*`, `m5.*=large,xlarge` or `m5.*!metal`
fn offered(word: &str, families: &HashMap<&str, Family<'_>>) -> Result<Vec<Arc<TypeEntry>>, String> {
    let at = word.find(['=', '!']);
    let (pattern, chosen) = at.map_or((word, ""), |at| (&word[..at], &word[at + 1..]));
    let chosen: Vec<&str> = chosen.split(',').filter(|size| !size.is_empty()).collect();
    let sizes = families.get(pattern).ok_or_else(|| format!("there is no family {pattern}"))?;
    if let Some(unknown) = chosen.iter().find(|one| sizes.iter().all(|(size, _)| size != *one)) {
        return Err(format!("{pattern} has no size {unknown}"));
    }
    let only = word.contains('=');
    let is_offered = |size: &&str| chosen.contains(size) == only;
    Ok(sizes.iter().filter(|(size, _)| is_offered(size)).map(|(_, entry)| Arc::clone(entry)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = "family m5.* x86_64 large,2,1,8192,0 metal,96,48,393216,0";

    fn error(line: &str) -> String {
        CloudTypes::parse(&format!("# a table\n{FAMILY}\n{line}")).err().unwrap_or_default()
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        assert_eq!(error("place us-east-1 - m5.*"), "");
        assert_eq!(error("region us-east-1"), "line 3: a line begins with family, place or #");
        assert_eq!(error(FAMILY), "line 3: the family m5.* is there twice");
        assert_eq!(error("family m6.*"), "line 3: a family has a pattern and an architecture");
        assert_eq!(error("family m6.* sparc"), "line 3: \"sparc\" is not an architecture");
        let size = "line 3: \"large,2,1,8\" is not name,vcpus,cores,memory,storage";
        assert_eq!(error("family m6.* arm64 large,2,1,8"), size);
        assert_eq!(error("place us-east-1"), "line 3: a place has a region and zones");
        assert_eq!(error("place us-east-1 - m6.*"), "line 3: there is no family m6.*");
        assert_eq!(error("place us-east-1 - m5.*=nano"), "line 3: m5.* has no size nano");
    }

    #[test]
    fn a_place_offers_a_family_some_of_its_sizes_or_all_but_some() {
        let names = |word: &str| {
            let table = CloudTypes::parse(&format!("{FAMILY}\nplace here 1 {word}")).expect("it makes sense");
            let types = table.region("here").and_then(|region| region.types(Some("1"))).expect("it is there");
            types.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("m5.*"), ["m5.large", "m5.metal"]);
        assert_eq!(names("m5.*=metal"), ["m5.metal"]);
        assert_eq!(names("m5.*!metal"), ["m5.large"]);
    }
}
