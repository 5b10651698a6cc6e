//! Finds operations by a part of their id.

use engine::store::{self, Summary};
use engine::{Engine, OperationId};
use uuid::Uuid;

use crate::http::Failure;

/// Fewer digits of an id fit too many.
const DIGITS_MIN: usize = 4;
const DIGITS: usize = 32;

/// The beginning or the end of an id.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdPart {
    digits: String,
    /// The first id that begins so.
    first: OperationId,
    /// The first id behind those that begin so; none behind the last of all.
    after_last: Option<OperationId>,
}

impl IdPart {
    pub(super) fn parse(text: &str) -> Option<IdPart> {
        let digits: String = text.chars().filter(|c| *c != '-').collect::<String>().to_lowercase();
        if !(DIGITS_MIN..=DIGITS).contains(&digits.len()) {
            return None;
        }
        let free = 4 * (DIGITS - digits.len());
        let number = u128::from_str_radix(&digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        let first = number.checked_shl(u32::try_from(free).ok()?).unwrap_or(0);
        let step = 1_u128.checked_shl(u32::try_from(free).ok()?).unwrap_or(0);
        let id = |number| OperationId(Uuid::from_u128(number));
        Some(IdPart { digits, first: id(first), after_last: first.checked_add(step).map(id) })
    }

    /// Operations whose id begins so, newest first.
    pub(super) async fn beginnings(
        &self,
        engine: &Engine,
        wanted: &store::OperationQuery,
    ) -> Result<Vec<Summary>, Failure> {
        let from = wanted.from.into_iter().chain([self.first]).max();
        let before = wanted.before.into_iter().chain(self.after_last).min();
        Ok(engine.list(&store::OperationQuery { from, before, ..wanted.clone() }).await?)
    }

    /// Operations whose id begins or ends so, newest first.
    pub(super) async fn find(
        &self,
        engine: &Engine,
        wanted: &store::OperationQuery,
    ) -> Result<Vec<Summary>, Failure> {
        let mut found = self.beginnings(engine, wanted).await?;
        let ends = store::OperationQuery { id_end: Some(self.digits.clone()), ..wanted.clone() };
        found.extend(engine.list(&ends).await?);
        found.sort_by_key(|summary| std::cmp::Reverse(summary.id));
        found.dedup_by_key(|summary| summary.id);
        found.truncate(wanted.limit);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_is_a_range_of_ids() {
        let id = |text: &str| OperationId(text.parse().unwrap());
        let part = IdPart::parse("0189-0A5D").unwrap();
        assert_eq!(part.digits, "01890a5d");
        assert_eq!(part.first, id("01890a5d-0000-0000-0000-000000000000"));
        assert_eq!(part.after_last, Some(id("01890a5e-0000-0000-0000-000000000000")));
        assert_eq!(IdPart::parse("ffff").unwrap().after_last, None, "nothing is behind the last");
        let whole = IdPart::parse("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        assert_eq!(whole.first, id("01890a5d-ac96-774b-bcce-b302099a8057"));
        for wrong in ["", "abc", "+123", "wxyz", &"a".repeat(33)] {
            assert_eq!(IdPart::parse(wrong), None, "{wrong}");
        }
    }
}
