//! The id in the path.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use engine::OperationId;

use super::ServerlessState;
use super::error;
use server::http::Failure;

/// The id of a runtime, which is the id of its document in OpenNebula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuntimeId(pub(crate) i32);

impl FromRequestParts<ServerlessState> for RuntimeId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &ServerlessState) -> Result<RuntimeId, Failure> {
        let path = Path::<String>::from_request_parts(parts, shared).await;
        path.ok().and_then(|Path(text)| parse(&text)).ok_or_else(error::no_such_runtime)
    }
}

/// One runtime has one address: no sign, no zeros in front, and no words that begin with digits.
fn parse(text: &str) -> Option<RuntimeId> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain).map(RuntimeId)
}

/// The id of an operation.
pub(crate) struct OperationPath(pub(crate) OperationId);

impl FromRequestParts<ServerlessState> for OperationPath {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &ServerlessState,
    ) -> Result<OperationPath, Failure> {
        let path = Path::<String>::from_request_parts(parts, shared).await;
        let id = path.ok().and_then(|Path(text)| text.parse().ok());
        id.map(OperationPath).ok_or_else(error::no_such_operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_plain_number_that_opennebula_can_have() {
        for (text, id) in [("0", 0), ("45", 45), ("2147483647", i32::MAX)] {
            assert_eq!(parse(text), Some(RuntimeId(id)));
        }
        for bad in [
            "",
            "abc",
            "12abc",
            "-1",
            "+1",
            "007",
            " 1",
            "1.0",
            "2147483648",
            "99999999999999999999",
            "\u{661}",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
