//! The header by which a client sends the same request again without having it done twice.

use axum::http::{HeaderMap, HeaderName};

use super::Failure;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// In an answer to a key that was used before.
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const KEY_CHARS_MAX: usize = 256;

/// The key that a request brings.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=KEY_CHARS_MAX).contains(&key.len()));
    if let (Some(key), None) = (key, values.next()) {
        return Ok(Some(key.to_owned()));
    }
    let rule = format!("it must be there once, with 1 to {KEY_CHARS_MAX} visible ASCII characters");
    Err(Failure::parameter("Idempotency-Key", rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_there_once_and_not_empty() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            idempotency_key(&headers)
        };
        assert_eq!(read(&[]).ok(), Some(None));
        assert_eq!(read(&["a b"]).ok(), Some(Some("a b".into())));
        let long = "k".repeat(KEY_CHARS_MAX + 1);
        for bad in [&[""][..], &["a", "a"], &["ä"], &[&long]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
