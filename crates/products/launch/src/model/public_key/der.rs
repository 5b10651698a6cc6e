//! Keys as X.509 writes them, which is what EC2 makes its fingerprints from.

use ssh_key::public::KeyData;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
/// The object identifier 1.2.840.113549.1.1.1, and the empty parameters that belong to it.
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// The object identifier 1.3.101.112.
const ED25519: [u8; 5] = [0x06, 0x03, 0x2b, 0x65, 0x70];

/// The key with its algorithm. `None` for types that EC2 does not know.
pub(crate) fn subject_public_key_info(key: &KeyData) -> Option<Vec<u8>> {
    let (algorithm, key) = match key {
        KeyData::Rsa(rsa) => {
            // On the wire of SSH a number is written as in DER: the shortest form, with a zero before a high bit.
            let numbers = [element(INTEGER, rsa.n.as_bytes()), element(INTEGER, rsa.e.as_bytes())].concat();
            (&RSA[..], element(SEQUENCE, &numbers))
        }
        KeyData::Ed25519(key) => (&ED25519[..], key.0.to_vec()),
        _ => return None,
    };
    // The first byte of a bit string says how many of its last bits do not count.
    let bits = [&[0], &key[..]].concat();
    Some(element(SEQUENCE, &[element(SEQUENCE, algorithm), element(BIT_STRING, &bits)].concat()))
}

/// A tag, a length and a content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let bytes = content.len().to_be_bytes();
    let long = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    let length = match *long {
        [] => vec![0],
        [short] if short < 0x80 => vec![short],
        // There are at most eight bytes in a length.
        _ => [&[0x80 | u8::try_from(long.len()).unwrap_or_default()], long].concat(),
    };
    [&[tag], &length[..], content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_takes_as_few_bytes_as_it_can() {
        let expected: [(usize, &[u8]); 7] = [
            (0, &[0]),
            (1, &[1]),
            (127, &[127]),
            (128, &[0x81, 128]),
            (255, &[0x81, 255]),
            (256, &[0x82, 1, 0]),
            (65_536, &[0x83, 1, 0, 0]),
        ];
        for (bytes, length) in expected {
            let content = vec![7; bytes];
            assert_eq!(element(INTEGER, &content), [&[INTEGER], length, &content].concat(), "{bytes}");
        }
    }
}
