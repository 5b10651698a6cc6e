//! A good file that is damaged gives a configuration or a message, and nothing else.

use std::fmt::Write;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{SHIPPED, as_engine_conf, load};

/// What a hand, an editor or a script can leave in a file.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    ":", "\n", "  ", "\t", "- ", "[", "]", "{", "}", ",", "'", "\"", "#", "|", ">", "&a ", "*a", "!!int ", "!ruby/sym ",
    "---\n", "...\n", "~", "-1", "1e999", "0x", "99999999999999999999", ":host: ", ":port: ", ":mapping:\n  :a: ",
    ":capacity:\n  :max:\n    :vcpu_mult: ", "host: 1.1.1.1\n", "\u{feff}", "\u{0}", "é", "\r\n", "localhost", "::",
];

#[test]
fn a_damaged_file_gives_a_configuration_or_a_message() {
    let mut random = StdRng::seed_from_u64(1337);
    let (mut understood, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = SHIPPED.as_bytes().to_vec();
        for _ in 0..random.random_range(1..6) {
            damage(&mut bytes, &mut random);
        }
        match load(&bytes) {
            Ok((config, _)) => {
                understood += 1;
                let shown = as_engine_conf(&config, "http://a", "http://b");
                assert!(shown["port"].is_u64() && shown["capacity"]["cpu"]["default"].as_u64() > Some(0));
                assert!((0..=3).contains(&shown["log"]["level"].as_u64().unwrap()));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.problems.is_empty());
                assert!(error.to_string().starts_with("engine.conf:"), "{error}");
            }
        }
    }
    assert!(understood > 300 && refused > 300, "{understood} understood, {refused} refused");
}

fn damage(bytes: &mut Vec<u8>, random: &mut StdRng) {
    let at = random.random_range(0..=bytes.len());
    let end = bytes.len().min(at + random.random_range(0..12));
    match random.random_range(0..4) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.truncate(at),
        2 => {
            let piece = PIECES[random.random_range(0..PIECES.len())];
            bytes.splice(at..end, piece.bytes());
        }
        _ => {
            let piece = PIECES[random.random_range(0..PIECES.len())];
            bytes.splice(at..at, piece.bytes());
        }
    }
    if random.random_bool(0.05) && !bytes.is_empty() {
        let at = random.random_range(0..bytes.len());
        bytes[at] = random.random();
    }
}

#[test]
fn depth_and_number_have_limits() {
    for deep in [":a: [".to_owned() + &"[".repeat(100_000), ":capacity: {".repeat(100_000)] {
        assert!(load(deep.as_bytes()).is_err());
    }
    let mut many = String::new();
    for n in 0..50_000 {
        writeln!(many, ":mapping{n}: 1").unwrap();
    }
    assert!(load(many.as_bytes()).is_err());
}
