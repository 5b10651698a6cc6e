//! Public keys against what `ssh-keygen` and `openssl` say about them, and against texts that are none.

use ::cloud::ProviderKind;
use ::launch::model::public_key::{KeyError, KeyKind, PublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use sha2::Sha256;

const RSA: &str = include_str!("keys/rsa_2048.pub");
const RSA_4096: &str = include_str!("keys/rsa_4096.pub");
const ED25519: &str = include_str!("keys/ed25519.pub");

/// A key, its type, and both its fingerprints as `ssh-keygen -l` prints them.
const KEYS: [(&str, KeyKind, &str, &str); 9] = [
    (
        RSA,
        KeyKind::Rsa,
        "SHA256:MKmYp4L+fBZRcEEVske++HvEEJHzJ+22qseYbv4pwwA",
        "13:a8:eb:1a:73:89:6d:a0:f1:1f:64:b7:2d:49:d0:f7",
    ),
    (
        RSA_4096,
        KeyKind::Rsa,
        "SHA256:IxhPI6RcNIMGFw+Lq4HUKN+U1NSQ74OAevzYx6haEA0",
        "ad:71:82:65:3f:a6:d0:26:1a:ef:f5:6f:01:a7:c5:01",
    ),
    (
        ED25519,
        KeyKind::Ed25519,
        "SHA256:xGTPByBY4nJgjV1d8BzPDHAh5l/SqmvJYjlWwKMoCmQ",
        "5a:d0:e3:f8:8a:73:ef:4a:1b:82:df:c2:7a:4a:1a:d0",
    ),
    (
        include_str!("keys/ecdsa_256.pub"),
        KeyKind::EcdsaP256,
        "SHA256:8OkjjhFVUoBufwsmLWZUFQSohDhtMcABYNno4NDI7cA",
        "96:7e:e3:f9:8d:dc:a5:b5:34:70:f8:9b:85:58:fb:d2",
    ),
    (
        include_str!("keys/ecdsa_384.pub"),
        KeyKind::EcdsaP384,
        "SHA256:tDnj1L0zDTNQbW8PMrWEEFUBTThaTk/LTzIosB5x5U8",
        "97:23:7a:7c:bb:00:b5:67:46:e3:b0:bd:6d:58:c2:e2",
    ),
    (
        include_str!("keys/ecdsa_521.pub"),
        KeyKind::EcdsaP521,
        "SHA256:X9T1qQSq0K1cn5NyVx5HJtgWk3tVYwTbxbdkt1nZuX4",
        "cc:13:b2:9b:5d:b3:59:b3:ed:24:4f:21:68:bd:7b:c5",
    ),
    (
        include_str!("keys/sk_ed25519.pub"),
        KeyKind::SkEd25519,
        "SHA256:CPvnm4FS4zv8ONcFhsH47GJfCFPW4OMcCqj+IPv9dvc",
        "27:ec:3e:2b:a9:1c:87:77:58:ce:af:20:75:f8:bd:ce",
    ),
    (
        include_str!("keys/sk_ecdsa_256.pub"),
        KeyKind::SkEcdsaP256,
        "SHA256:GGWaNT0LprhMYOWg0e13ScQDxEieI3zSFe4I+6sQZP4",
        "24:63:12:e3:58:3a:94:08:c2:b0:94:a6:6b:fe:a1:c1",
    ),
    (
        include_str!("keys/dsa_1024.pub"),
        KeyKind::Dss,
        "SHA256:LwJESn79P4UmsvoZBEVat8nDISb161deh9yO9z3mz1Y",
        "9d:f7:aa:73:09:bc:ec:51:bc:68:ef:4b:0a:4c:18:1e",
    ),
];

#[test]
fn keys_of_every_type_have_the_fingerprints_that_ssh_keygen_prints() {
    for (text, kind, fingerprint, legacy) in KEYS {
        let key = PublicKey::parse(text).unwrap();
        assert_eq!((key.kind(), key.comment()), (kind, "ada@example.com"), "{text}");
        assert_eq!((key.fingerprint().as_str(), key.fingerprint_legacy().as_str()), (fingerprint, legacy));
        assert_eq!(format!("SHA256:{}", key.fingerprint_bare()), format!("{fingerprint}="));
        assert_eq!(format!("{} ada@example.com\n", key.line()), text);
        assert_eq!(key.material().line, key.line());
    }
}

#[test]
fn ec2_knows_rsa_keys_by_the_md5_of_their_der() {
    // ssh-keygen -e -f rsa.pub -m pkcs8 | openssl pkey -pubin -outform der | openssl md5 -c
    let expected = [
        (RSA, "2f:23:af:f6:26:af:a2:2c:78:84:17:d3:80:41:ab:98"),
        (RSA_4096, "b2:ec:64:98:75:b5:db:51:8a:60:68:40:f4:41:44:ae"),
    ];
    for (text, fingerprint) in expected {
        assert_eq!(PublicKey::parse(text).unwrap().aws_fingerprints().any_of, [fingerprint]);
    }
}

#[test]
fn ec2_knows_ed25519_keys_by_their_sha256_in_any_of_its_forms() {
    let expected = [
        "xGTPByBY4nJgjV1d8BzPDHAh5l/SqmvJYjlWwKMoCmQ=",
        "xGTPByBY4nJgjV1d8BzPDHAh5l/SqmvJYjlWwKMoCmQ",
        // The SHA-256 of the DER, by the `cryptography` of Python.
        "da:29:de:ab:33:a1:28:4f:72:6c:aa:99:b2:b3:72:d4:cf:5f:1e:89:4b:31:8b:7d:7b:dd:16:bd:8a:db:5e:3b",
    ];
    assert_eq!(PublicKey::parse(ED25519).unwrap().aws_fingerprints().any_of, expected);
}

/// A key without a private half: its bytes are made from a number.
fn ed25519(number: u32) -> String {
    let point = Sha256::digest(number.to_be_bytes());
    let blob = [&11_u32.to_be_bytes()[..], b"ssh-ed25519", &32_u32.to_be_bytes(), &point].concat();
    format!("ssh-ed25519 {}", STANDARD.encode(blob))
}

#[test]
fn fingerprints_that_begin_like_their_prefix_are_whole() {
    // Stripping the characters of a prefix instead of the prefix would cut the fingerprint, too.
    let is_at_risk = |key: &PublicKey| {
        let (bare, legacy) = (key.fingerprint_bare(), key.fingerprint_legacy());
        bare.starts_with(['S', 'H', 'A', '2', '5', '6']) || legacy.starts_with('5')
    };
    let keys = (0_u32..).map(|number| PublicKey::parse(&ed25519(number)).unwrap());
    let at_risk: Vec<PublicKey> = keys.filter(is_at_risk).take(300).collect();
    let is_lost = |key: &&PublicKey| {
        key.fingerprint_bare().trim_start_matches(['S', 'H', 'A', '2', '5', '6']).len() < 44
    };
    assert!(at_risk.iter().filter(is_lost).count() > 100, "too few keys would be cut");
    for key in at_risk {
        let blob = STANDARD.decode(key.line().split(' ').nth(1).unwrap()).unwrap();
        assert_eq!(STANDARD.decode(key.fingerprint_bare()).unwrap(), Sha256::digest(&blob).to_vec());
        let other = ssh_key::PublicKey::from_openssh(&key.line()).unwrap();
        assert_eq!(key.fingerprint(), other.fingerprint(ssh_key::HashAlg::Sha256).to_string());
        let legacy: Vec<u8> =
            key.fingerprint_legacy().split(':').map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
        assert_eq!(legacy, Md5::digest(&blob).to_vec());
    }
}

#[test]
fn each_cloud_takes_the_types_that_it_knows() {
    let accepted = |provider: ProviderKind| -> Vec<KeyKind> {
        let keys = KEYS.iter().map(|(text, ..)| PublicKey::parse(text).unwrap());
        let mut kinds: Vec<_> =
            keys.filter(|key| key.accepted_by(provider).is_ok()).map(|key| key.kind()).collect();
        kinds.dedup();
        kinds
    };
    assert_eq!(accepted(ProviderKind::Aws), [KeyKind::Rsa, KeyKind::Ed25519]);
    assert_eq!(accepted(ProviderKind::Azure), [KeyKind::Rsa, KeyKind::Ed25519]);
    assert_eq!(accepted(ProviderKind::Gcp).len(), KeyKind::ALL.len() - 1);
    assert_eq!(accepted(ProviderKind::Noop), KeyKind::ALL);
    let ecdsa = PublicKey::parse(include_str!("keys/ecdsa_256.pub")).unwrap();
    let error_response = ecdsa.accepted_by(ProviderKind::Azure).unwrap_err();
    assert_eq!(
        error_response,
        "Azure does not accept keys of type ecdsa-sha2-nistp256: use a key of type ssh-rsa or ssh-ed25519"
    );
}

#[test]
fn space_around_a_key_and_a_missing_comment_do_not_matter() {
    let key = PublicKey::parse(ED25519).unwrap();
    let bare = key.line();
    let spaced = format!(" \t{}\r\n\n", bare.replace(' ', " \t "));
    let read = PublicKey::parse(&spaced).unwrap();
    assert_eq!((read.line(), read.comment()), (bare, ""));
    let many = format!("{} the key of  Ada ", key.line());
    assert_eq!(PublicKey::parse(&many).unwrap().comment(), "the key of  Ada");
}

#[test]
fn what_is_not_a_public_key_is_called_by_its_name() {
    let line = ED25519.trim();
    let (_, base64) = line.split_once(' ').unwrap();
    let two = format!("{line}\n{line}");
    let cases = [
        (String::new(), KeyError::Empty),
        (" \n".to_owned(), KeyError::Empty),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n".to_owned(), KeyError::Private),
        ("-----BEGIN EC PRIVATE KEY-----".to_owned(), KeyError::Private),
        ("PuTTY-User-Key-File-3: ssh-ed25519".to_owned(), KeyError::Private),
        ("ssh-ed25519 b3BlbnNzaC1rZXktdjEAAAAABG5vbmU= ada".to_owned(), KeyError::Private),
        ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA".to_owned(), KeyError::OtherFormat),
        ("-----BEGIN PUBLIC KEY-----\nAAAA".to_owned(), KeyError::OtherFormat),
        (two, KeyError::SeveralLines),
        (format!("no-pty {line}"), KeyError::Options),
        (format!("command=\"echo hi\",no-pty {line}"), KeyError::Options),
        (format!("ssh-ed25519-cert-v01@openssh.com {base64}"), KeyError::Certificate),
        ("ssh-ed25519".to_owned(), KeyError::Incomplete),
        ("hunter2".to_owned(), KeyError::Incomplete),
        (format!("ssh-ed448 {base64}"), KeyError::UnknownType),
        (format!("rsa-sha2-256 {base64}"), KeyError::UnknownType),
        ("ssh-ed25519 A*A".to_owned(), KeyError::NotBase64),
        (format!("ssh-rsa {base64}"), KeyError::OtherType { kind: KeyKind::Rsa }),
        (
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJRmjQOW56+Z".to_owned(),
            KeyError::Malformed { kind: KeyKind::Ed25519 },
        ),
        (format!("{line} {}", "a".repeat(600)), KeyError::Comment { most: 512 }),
        (format!("{line} \u{7}bell"), KeyError::Comment { most: 512 }),
        ("a".repeat(20_000), KeyError::TooLong { bytes: 20_000, most: 16_384 }),
    ];
    for (text, expected) in cases {
        assert_eq!(PublicKey::parse(&text), Err(expected), "{text:?}");
    }
}

#[test]
fn a_short_rsa_key_is_refused_with_its_length() {
    let error = PublicKey::parse(include_str!("keys/rsa_1024.pub")).unwrap_err();
    assert_eq!(error, KeyError::RsaBits { bits: 1024, least: 2048, most: 16_384 });
    assert_eq!(error.to_string(), "the RSA key has 1024 bits: make one with at least 2048 and at most 16384");
}

#[test]
fn a_key_with_more_behind_it_or_longer_numbers_is_refused() {
    let blob = |text: &str| STANDARD.decode(text.split(' ').nth(1).unwrap()).unwrap();
    let mut longer = blob(ED25519);
    longer.push(0);
    let text = format!("ssh-ed25519 {}", STANDARD.encode(longer));
    assert_eq!(PublicKey::parse(&text), Err(KeyError::Malformed { kind: KeyKind::Ed25519 }));

    // The exponent 65537 takes three bytes, and must not be written in four.
    let rsa = blob(RSA);
    assert_eq!(rsa[11..18], [0, 0, 0, 3, 1, 0, 1]);
    let padded = [&rsa[..11], &[0, 0, 0, 4, 0, 1, 0, 1], &rsa[18..]].concat();
    let text = format!("ssh-rsa {}", STANDARD.encode(padded));
    assert_eq!(PublicKey::parse(&text), Err(KeyError::Malformed { kind: KeyKind::Rsa }));
    let even = [&rsa[..11], &[0, 0, 0, 3, 1, 0, 0], &rsa[18..]].concat();
    let text = format!("ssh-rsa {}", STANDARD.encode(even));
    assert_eq!(PublicKey::parse(&text), Err(KeyError::Malformed { kind: KeyKind::Rsa }));
}

#[test]
fn a_point_that_is_written_short_is_refused() {
    for (file, kind) in [
        (include_str!("keys/ecdsa_256.pub"), KeyKind::EcdsaP256),
        (include_str!("keys/sk_ecdsa_256.pub"), KeyKind::SkEcdsaP256),
    ] {
        let blob = STANDARD.decode(file.split(' ').nth(1).unwrap()).unwrap();
        let at = 4 + kind.as_str().len() + 4 + "nistp256".len();
        assert_eq!(blob[at..at + 5], [0, 0, 0, 65, 4]);
        let short = [&blob[..at], &[0, 0, 0, 33, 2], &blob[at + 5..at + 37], &blob[at + 69..]].concat();
        let text = format!("{kind} {}", STANDARD.encode(short));
        assert_eq!(PublicKey::parse(&text), Err(KeyError::Malformed { kind }));
    }
}

#[test]
fn no_error_quotes_what_was_pasted() {
    for text in ["hunter2 hunter2", "ssh-rsa hunter2", "hunter2", "ssh-ed25519 hunter2= hunter2"] {
        let error = PublicKey::parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn spoilt_keys_are_refused_or_read_but_never_a_surprise() {
    let mut dice = super::launch_search::SearchRandom(7);
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let (text, ..) = KEYS[round % KEYS.len()];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=dice.below(3) {
            let at = dice.below(bytes.len());
            match dice.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = b" \n\"=AZaz09+/,-\0"[dice.below(15)],
                2 => bytes.insert(at, b" \n\"=AZaz09+/,-\0"[dice.below(15)]),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(b's');
            }
        }
        match PublicKey::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(key) => {
                assert_eq!(PublicKey::parse(&key.line()).unwrap().fingerprint(), key.fingerprint());
                assert!(!key.aws_fingerprints().any_of.is_empty());
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 500 && refused > 5000, "{read} were read and {refused} refused");
}
