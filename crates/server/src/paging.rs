//! Cursors: where a page of a list ends, in a form that callers hand back and do not read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::OperationId;
use uuid::Uuid;

use crate::error;
use crate::http::Failure;

/// The last item of a page.
pub trait Position: Sized {
    /// Tells the cursors of one list from those of others, and today's from tomorrow's.
    const VERSION: u8;

    fn bytes(self) -> Vec<u8>;

    fn read(bytes: &[u8]) -> Option<Self>;
}

impl Position for OperationId {
    const VERSION: u8 = 1;

    fn bytes(self) -> Vec<u8> {
        self.0.as_bytes().to_vec()
    }

    fn read(bytes: &[u8]) -> Option<OperationId> {
        Uuid::from_slice(bytes).ok().map(OperationId)
    }
}

/// The number of a runtime.
impl Position for i64 {
    const VERSION: u8 = 2;

    fn bytes(self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn read(bytes: &[u8]) -> Option<i64> {
        bytes.try_into().ok().map(i64::from_be_bytes)
    }
}

/// The cursor for the page that comes after this item.
pub fn cursor_after<P: Position>(last: P) -> String {
    URL_SAFE_NO_PAD.encode([vec![P::VERSION], last.bytes()].concat())
}

pub fn parse_cursor<P: Position>(text: &str) -> Result<P, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let last = bytes.strip_prefix(&[P::VERSION]).and_then(P::read);
    last.ok_or_else(|| error::parameter("cursor", "it is not the `next` of an earlier page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_a_forged_one_is_refused() {
        let id = OperationId(Uuid::from_u128(7));
        assert_eq!(parse_cursor::<OperationId>(&cursor_after(id)).unwrap(), id);
        for bad in
            ["", "x", "AAAA", "%%%", &cursor_after(id)[1..], "AgAAAAAAAAAAAAAAAAAAAAc", &cursor_after(7)]
        {
            assert!(parse_cursor::<OperationId>(bad).is_err(), "{bad}");
        }
        for number in [0, 1, i64::MAX, -1] {
            assert_eq!(parse_cursor::<i64>(&cursor_after(number)).unwrap(), number);
        }
        for bad in ["", "x", "AAAA", "%%%", &cursor_after(5)[1..], &cursor_after(id)] {
            assert!(parse_cursor::<i64>(bad).is_err(), "{bad}");
        }
    }
}
