//! Whose operations are claimed when there are more than one claim may take.

use std::collections::HashSet;

/// How many tenants one claim looks at. What it did not come to is looked at by the next one.
pub(crate) const PROBES_MAX: usize = 256;

/// A tenant that has operations lying around, and whether one of them is due.
pub(crate) struct Probe {
    pub(crate) tenant: String,
    pub(crate) due: bool,
}

/// Where the last claim stopped, and so where the next one begins.
#[derive(Default)]
pub(crate) struct Turns {
    served: String,
}

impl Turns {
    /// Probing begins with this tenant, or the next one in the alphabet.
    pub(crate) fn start(&self) -> &str {
        &self.served
    }

    /// The tenants with due operations, the one that was served last at the end. `onward` was probed from
    /// [`Turns::start`] on, `anew` from the beginning of the alphabet.
    pub(crate) fn in_turn(&mut self, onward: Vec<Probe>, anew: Vec<Probe>) -> Vec<String> {
        let (own, onward): (Vec<_>, Vec<_>) =
            onward.into_iter().partition(|probe| probe.tenant == self.served);
        let mut seen = HashSet::new();
        let mut due = Vec::new();
        let mut last = None;
        for probe in onward.into_iter().chain(anew.into_iter().filter(|p| p.tenant != self.served)).chain(own)
        {
            if seen.insert(probe.tenant.clone()) {
                last = Some(probe.tenant.clone());
                due.extend(probe.due.then_some(probe.tenant));
            }
        }
        // Should none of these have anything due, then the next claim must look further on.
        if let (true, Some(last)) = (due.is_empty(), last) {
            self.served = last;
        }
        due
    }

    pub(crate) fn served(&mut self, tenant: String) {
        self.served = tenant;
    }
}

/// How many operations each of these tenants gets from one claim.
pub(crate) fn share(limit: usize, tenants: usize) -> usize {
    limit.div_ceil(tenants.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(text: &str) -> Vec<Probe> {
        let probe = |word: &str| Probe { tenant: word.to_lowercase(), due: word == word.to_uppercase() };
        text.split_whitespace().map(probe).collect()
    }

    #[track_caller]
    fn check(served: &str, onward: &str, anew: &str, expect: &[&str]) -> String {
        let mut turns = Turns { served: served.into() };
        assert_eq!(turns.in_turn(probes(onward), probes(anew)), expect);
        turns.served
    }

    #[test]
    fn the_tenant_that_was_served_last_comes_last() {
        check("", "A B C", "", &["a", "b", "c"]);
        check("b", "B C", "A B C", &["c", "a", "b"]);
        check("b", "C", "A C", &["c", "a"]);
        check("b", "B", "B", &["b"]);
    }

    #[test]
    fn tenants_with_nothing_due_get_nothing_but_the_next_claim_looks_further() {
        check("a", "b C d", "", &["c"]);
        assert_eq!(check("a", "b c d", "", &[]), "d");
    }

    #[test]
    fn shares_use_up_the_limit() {
        assert_eq!((share(10, 2), share(10, 4), share(10, 100), share(10, 0)), (5, 3, 1, 10));
    }
}
