//! What was looked at and found right.

use std::fmt::Debug;

#[derive(Default)]
pub(crate) struct Checks(usize);

impl Checks {
    #[track_caller]
    pub(crate) fn that(&mut self, holds: bool, what: impl Debug) {
        assert!(holds, "{what:?}");
        self.0 += 1;
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "it reads like an assertion")]
    pub(crate) fn same<T: Debug + PartialEq<U>, U: Debug>(&mut self, found: T, expect: U) {
        assert_eq!(found, expect);
        self.0 += 1;
    }

    pub(crate) fn passed(&self) -> usize {
        self.0
    }
}
