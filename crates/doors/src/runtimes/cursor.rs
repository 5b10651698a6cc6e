//! Where a page of runtimes ends, in a form that callers hand back and do not read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error;
use crate::http::Failure;

/// Tells these cursors from those of operations.
const VERSION: u8 = 2;

/// The cursor for the page that comes after this number.
pub(super) fn after(number: i64) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend(number.to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn parse(text: &str) -> Result<i64, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let number = match bytes.split_first() {
        Some((&VERSION, number)) => <[u8; 8]>::try_from(number).ok().map(i64::from_be_bytes),
        _ => None,
    };
    number.ok_or_else(|| error::parameter("cursor", "it is not the `next` of an earlier page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_a_forged_one_is_refused() {
        for number in [0, 1, i64::MAX, -1] {
            assert_eq!(parse(&after(number)).unwrap(), number);
        }
        let operation = engine::OperationId(uuid::Uuid::from_u128(7));
        for bad in ["", "x", "AAAA", "%%%", &after(5)[1..], &crate::paging::cursor_after(operation)] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
