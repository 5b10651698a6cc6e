//! Bytes and texts, written with plain characters.

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| digits(*byte)).collect()
}

/// As forms have it: everything but letters, digits and `-._~` is the number of its bytes.
pub fn percent_encoded(text: &str) -> String {
    percent_encoded_but(text, "")
}

/// The same, and the characters of `keep` stay as they are.
pub fn percent_encoded_but(text: &str, keep: &str) -> String {
    let mut into = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.as_bytes().contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.extend(digits(byte).map(|digit| digit.to_ascii_uppercase()));
        }
    }
    into
}

fn digits(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|half| char::from_digit(half.into(), 16).unwrap_or('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_two_digits() {
        assert_eq!(hex(&[0, 1, 0x7f, 0xa0, 0xff]), "00017fa0ff");
        assert_eq!(percent_encoded("aZ9-._~ +/ä\n"), "aZ9-._~%20%2B%2F%C3%A4%0A");
        assert_eq!(percent_encoded_but("a/b%c", "/"), "a/b%25c");
    }
}
