//! Operations by their id, by its beginning or end, or by what they work on.

use anyhow::{Result, anyhow, bail};
use api::types::{ListQuery, Operation};
use engine::{Clock, WallClock};
use uuid::Uuid;

use super::PlatformClient;
use crate::cmd::ago;
use crate::exit::UsageError;
use crate::output::printable;

/// More candidates than these are not listed.
const LISTED: u16 = 10;
/// The server takes no shorter part of an id.
const DIGITS_MIN: usize = 4;

impl PlatformClient {
    /// The operation with this id, or the only one whose id begins or ends so.
    pub async fn find_operation(&self, given: &str) -> Result<Uuid> {
        if let Ok(id) = given.parse() {
            return Ok(id);
        }
        if !is_part(given) {
            let text = format!(
                "{given:?} is not an id, nor at least {DIGITS_MIN} characters of its beginning or end"
            );
            return Err(UsageError(text).into());
        }
        match self.with_id(given).await?.as_slice() {
            [] => bail!("no operation has an id that begins or ends with {given}"),
            [only] => Ok(only.id),
            several => Err(ambiguous(given, several)),
        }
    }

    pub async fn find_operations(&self, given: &[String]) -> Result<Vec<Uuid>> {
        let mut found = Vec::with_capacity(given.len());
        for given in given {
            found.push(self.find_operation(given).await?);
        }
        Ok(found)
    }

    /// The same, or the newest operation on one of these resources.
    pub async fn find_operation_or(&self, given: &str, resources: &[String]) -> Result<Uuid> {
        if given.parse::<Uuid>().is_err() && is_part(given) {
            match self.with_id(given).await?.as_slice() {
                [] => {}
                [only] => return Ok(only.id),
                several => return Err(ambiguous(given, several)),
            }
        }
        for resource in resources {
            let query =
                ListQuery { resource: Some(resource.clone()), limit: Some(1), ..ListQuery::default() };
            if let Some(newest) = self.list(&query).await?.items.first() {
                return Ok(newest.id);
            }
        }
        match given.parse() {
            Ok(id) => Ok(id),
            Err(_) => Err(anyhow!("no operation has the id {given} or works on something of that name")),
        }
    }

    async fn with_id(&self, given: &str) -> Result<Vec<Operation>> {
        let query = ListQuery { id: Some(given.to_owned()), limit: Some(LISTED + 1), ..ListQuery::default() };
        Ok(self.list(&query).await?.items)
    }
}

fn is_part(given: &str) -> bool {
    let digits = given.chars().filter(|c| *c != '-').count();
    digits >= DIGITS_MIN && given.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

fn ambiguous(given: &str, several: &[Operation]) -> anyhow::Error {
    let now = WallClock.now();
    let line = |operation: &Operation| {
        let Operation { id, workflow, phase, created_at, .. } = operation;
        format!("\n  {id}  {}  {phase}, {}", printable(workflow), ago(now, *created_at))
    };
    let listed: String = several.iter().take(usize::from(LISTED)).map(line).collect();
    let more = if several.len() > usize::from(LISTED) { "\n  …" } else { "" };
    anyhow!("several operations match {given}:{listed}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_is_hexadecimal_and_long_enough() {
        assert!(is_part("099a8057") && is_part("01890a5d-ac96") && is_part("ABCD"));
        assert!(!is_part("abc") && !is_part("a-b-c") && !is_part("first") && !is_part(""));
    }
}
