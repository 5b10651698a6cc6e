//! Suggests a known name for an unknown one.

use crate::table::Table;

/// The setting that an operator probably meant: a similar name in the same section, or the same name in another
/// section, then with its whole path.
pub fn setting(table: &Table, path: &str) -> Option<String> {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    if let Some(sibling) = among(key, keys_of(table, section)) {
        return Some(sibling.to_owned());
    }
    let elsewhere = table.iter().find(|setting| setting.path.rsplit('.').next() == Some(key));
    elsewhere.map(|setting| setting.path.to_owned())
}

/// The candidate that is most like the name, if any is like it at all.
pub fn among<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn keys_of<'a>(table: &'a Table, section: &str) -> impl Iterator<Item = &'a str> {
    table.iter().filter_map(move |setting| {
        let rest = if section.is_empty() {
            setting.path
        } else {
            setting.path.strip_prefix(section)?.strip_prefix('.')?
        };
        rest.split('.').next().filter(|key| *key != "*")
    })
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    // No operator mistypes a name by this much, and the table below must stay small.
    const LONGEST: usize = 64;
    let one: Vec<char> = one.chars().take(LONGEST).collect();
    let other: Vec<char> = other.chars().take(LONGEST).collect();
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in table[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=one.len() {
        for j in 1..=other.len() {
            let changed = usize::from(one[i - 1] != other[j - 1]);
            let mut best = (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{Preset, ValueKind, set};

    #[test]
    fn typing_errors_have_small_distances() {
        for (one, other, expected) in [
            ("", "", 0),
            ("listen", "listen", 0),
            ("listn", "listen", 1),
            ("lsiten", "listen", 1),
            ("listenn", "listen", 1),
            ("lixten", "listen", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn the_image_event_is_a_sibling_or_the_same_name_elsewhere() {
        let row = |path| set(path, Preset::Nothing, ValueKind::Text, "Some text.");
        let paths = ["server.listen", "engine.retry.first", "engine.limits.default", "engine.limits.*"];
        let table = Table::new(&[&paths.map(row)]);
        for (path, expected) in [
            ("server.listn", Some("listen")),
            ("sever", Some("server")),
            ("engine.retry.frist", Some("first")),
            ("listen", Some("server.listen")),
            ("servr.listen", Some("server.listen")),
            ("engine.limit", Some("limits")),
            ("unheard_of", None),
            ("", None),
        ] {
            assert_eq!(setting(&table, path).as_deref(), expected, "{path}");
        }
    }
}
