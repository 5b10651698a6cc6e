//! The parts of a page that changed since they were last sent.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Knows of each part what the browser has, as a digest.
#[derive(Default)]
pub struct Patches(HashMap<&'static str, u64>);

impl Patches {
    /// What is to be sent of these parts, each named by the id of the element that it fills; empty where all are as
    /// they were.
    pub fn of(&mut self, parts: &[(&'static str, String)]) -> String {
        let mut sent = String::new();
        for (id, html) in parts {
            let mut digest = DefaultHasher::new();
            html.hash(&mut digest);
            let digest = digest.finish();
            if self.0.insert(id, digest) != Some(digest) {
                filled(&mut sent, id, "innerMorph", html);
            }
        }
        sent
    }
}

/// Puts more at the end of an element.
pub fn appended(id: &str, html: &str) -> String {
    let mut sent = String::new();
    filled(&mut sent, id, "beforeend", html);
    sent
}

fn filled(sent: &mut String, id: &str, how: &str, html: &str) {
    // Writing to a text cannot fail.
    let _ = write!(sent, r##"<hx-partial hx-target="#{id}" hx-swap="{how}">{html}</hx-partial>"##);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_sent() {
        let mut patches = Patches::default();
        let parts = |a: &str, b: &str| [("a", a.to_owned()), ("b", b.to_owned())];
        let first = patches.of(&parts("1", "2"));
        assert!(first.contains("#a") && first.contains("#b"), "{first}");
        assert_eq!(patches.of(&parts("1", "2")), "");
        let second = patches.of(&parts("1", "3"));
        assert!(!second.contains("#a") && second.contains(">3</hx-partial>"), "{second}");
        assert!(!patches.of(&parts("0", "3")).contains("#b"));
    }
}
