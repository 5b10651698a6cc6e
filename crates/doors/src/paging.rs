//! Cursors: where a page of a list ends, in a form that callers hand back and do not read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::OperationId;
use uuid::Uuid;

use crate::error;
use crate::http::Failure;

/// The form of today's cursors, so that tomorrow's can be told apart.
const VERSION: u8 = 1;

/// The cursor for the page that comes after this operation.
pub(crate) fn cursor_after(last: OperationId) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend(last.0.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn parse_cursor(text: &str) -> Result<OperationId, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let id = match bytes.split_first() {
        Some((&VERSION, id)) => Uuid::from_slice(id).ok(),
        _ => None,
    };
    let refused = || error::parameter("cursor", "it is not the `next` of an earlier page");
    id.map(OperationId).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_a_forged_one_is_refused() {
        let id = OperationId(Uuid::from_u128(7));
        assert_eq!(parse_cursor(&cursor_after(id)).unwrap(), id);
        for bad in ["", "x", "AAAA", "%%%", &cursor_after(id)[1..], "AgAAAAAAAAAAAAAAAAAAAAc"] {
            assert!(parse_cursor(bad).is_err(), "{bad}");
        }
    }
}
