//! The report: one outcome per check and plan, and a table for people.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    /// What was expected, and the request, the status and an excerpt of the answer.
    Failed(String),
    /// Why this broker or plan gave no occasion to look.
    Skipped(String),
}

#[derive(Debug, Clone)]
pub struct Check {
    pub id: String,
    /// Where the rule is written down: a section of our reading of the Open Service Broker API.
    pub section: &'static str,
    pub title: String,
    pub outcome: CheckOutcome,
}

#[derive(Debug, Clone)]
pub struct PlanReport {
    pub plan: String,
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone)]
pub struct Report {
    pub broker: String,
    pub plans: Vec<PlanReport>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Report {
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for check in self.checks() {
            match check.outcome {
                CheckOutcome::Passed => count.passed += 1,
                CheckOutcome::Failed(_) => count.failed += 1,
                CheckOutcome::Skipped(_) => count.skipped += 1,
            }
        }
        count
    }

    /// Something was checked, and nothing failed. What was skipped does not count for or against.
    pub fn is_good(&self) -> bool {
        let count = self.count();
        count.failed == 0 && count.passed > 0
    }

    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.plans.iter().flat_map(|plan| &plan.checks)
    }
}

impl CheckOutcome {
    fn rank(&self) -> u8 {
        match self {
            CheckOutcome::Failed(_) => 0,
            CheckOutcome::Skipped(_) => 1,
            CheckOutcome::Passed => 2,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count { passed, failed, skipped } = self.count();
        writeln!(f, "{}: {failed} failed, {passed} passed, {skipped} skipped", self.broker)?;
        for plan in &self.plans {
            writeln!(f, "\nplan {}", plan.plan)?;
            let mut checks: Vec<&Check> = plan.checks.iter().collect();
            checks.sort_by_key(|check| (check.outcome.rank(), check.section, &check.id));
            let width = checks.iter().map(|check| check.id.chars().count()).max().unwrap_or_default();
            for check in checks {
                let Check { id, section, title, outcome } = check;
                let (mark, why) = match outcome {
                    CheckOutcome::Failed(why) => ("FAILED ", Some(why)),
                    CheckOutcome::Skipped(why) => ("skipped", Some(why)),
                    CheckOutcome::Passed => ("passed ", None),
                };
                writeln!(f, "  {mark}  {section:4} {id:width$}  {title}")?;
                if let Some(why) = why {
                    writeln!(f, "           {why}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: &[(&str, CheckOutcome)]) -> Report {
        let check = |(id, outcome): &(&str, CheckOutcome)| Check {
            id: (*id).to_owned(),
            section: "1.1",
            title: "a title".to_owned(),
            outcome: outcome.clone(),
        };
        let checks = outcomes.iter().map(check).collect();
        Report { broker: "b".to_owned(), plans: vec![PlanReport { plan: "p".to_owned(), checks }] }
    }

    #[test]
    fn failures_are_shown_first_with_their_reason() {
        let (failed, skipped) =
            (CheckOutcome::Failed("bad".to_owned()), CheckOutcome::Skipped("no".to_owned()));
        let text = report(&[("a", CheckOutcome::Passed), ("bb", failed), ("c", skipped)]).to_string();
        let expect = "b: 1 failed, 1 passed, 1 skipped\n\nplan p\n  FAILED   1.1  bb  a title\n           bad\n  \
                      skipped  1.1  c   a title\n           no\n  passed   1.1  a   a title\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn a_report_is_good_only_if_something_passed_and_nothing_failed() {
        let (failed, skipped) =
            (CheckOutcome::Failed("bad".to_owned()), CheckOutcome::Skipped("no".to_owned()));
        assert!(report(&[("a", CheckOutcome::Passed), ("b", skipped.clone())]).is_good());
        assert!(!report(&[("a", CheckOutcome::Passed), ("b", failed)]).is_good());
        assert!(!report(&[("a", skipped)]).is_good());
        assert!(!report(&[]).is_good());
    }
}
