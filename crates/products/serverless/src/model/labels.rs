//! Labels of documents and services, by which the engine finds them again.

use engine::secret::Sealed;
use opennebula::NebulaDocument;

/// The attribute of a document that says which operation made it.
pub(crate) const TOKEN: &str = "PROVISION_ENGINE_TOKEN";
/// The attribute of a document that proves that the engine wrote its token: the token, sealed by the operation.
pub(crate) const SEAL: &str = "PROVISION_ENGINE_SEAL";
/// The attribute of a document whose runtime is being removed.
pub(crate) const DELETING: &str = "PROVISION_ENGINE_DELETING";
pub(crate) const YES: &str = "YES";

/// The token for the document and the service of one operation.
pub(crate) const LABEL: &str = "serverless.create";

pub(crate) fn token(document: &NebulaDocument) -> Option<&str> {
    document.template.get(TOKEN)
}

pub(crate) fn seal(document: &NebulaDocument) -> Option<Sealed> {
    Sealed::parse(document.template.get(SEAL)?).ok()
}

pub(crate) fn is_deleting(document: &NebulaDocument) -> bool {
    document.template.get(DELETING) == Some(YES)
}

/// Names a service after its document and the operation that made both.
pub(crate) fn service_name(document: i32, token: &str) -> String {
    format!("sr-{document}-{token}")
}

/// The document and the token in the name of a service, if it is one of ours.
pub(crate) fn read_service_name(name: &str) -> Option<(i32, &str)> {
    let (document, token) = name.strip_prefix("sr-")?.split_once('-')?;
    made_at_ms(token)?;
    Some((document.parse().ok()?, token))
}

const ID_CHARS: usize = 32;
const HASH_CHARS: usize = 16;
/// So much of an id is its time.
const TIME_CHARS: usize = 12;

/// The id of the operation in a token.
pub(crate) fn operation(token: &str) -> Option<&str> {
    let (id, hash) = token.split_once('-')?;
    let is_hex = |text: &str, chars| text.len() == chars && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex(id, ID_CHARS) && is_hex(hash, HASH_CHARS)).then_some(id)
}

/// When the operation of a token began.
pub(crate) fn made_at_ms(token: &str) -> Option<i64> {
    i64::from_str_radix(&operation(token)?[..TIME_CHARS], 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_OURS: &str = "0199f0c1d2e37a4b8c5d6e7f80919293-00112233445566ff";

    #[test]
    fn the_name_of_a_service_leads_back_to_its_document() {
        assert_eq!(read_service_name(&service_name(45, OF_OURS)), Some((45, OF_OURS)));
        assert_eq!(made_at_ms(OF_OURS), Some(0x0199_f0c1_d2e3));
    }

    #[test]
    fn names_that_others_gave_are_not_ours() {
        for name in [
            "Function",
            "sr-45",
            "sr-45-",
            "sr-45-abc",
            "sr-x-0199",
            "sr-45-0199f0c1d2e37a4b8c5d6e7f80919293",
        ] {
            assert_eq!(read_service_name(name), None, "{name}");
        }
    }
}
