//! Answers with a few wrong bytes: each is read, refused or broken, and none hurts.

use opennebula::NebulaError;

use super::chance::SeededRandom;
use super::recorded::{Exchange, Replay, cognit};

const ROUNDS: u64 = 1500;
const PIECES: [&str; 18] = [
    "<",
    ">",
    "/",
    "&",
    ";",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE x>",
    "&#0;",
    "&#x110000;",
    "\"",
    "{",
    "}",
    "[",
    "null",
    "-1",
    "99999999999999999999",
    "<value>",
];

/// Takes a part away, puts something in, or repeats a part, up to four times.
fn mutate(text: &str, chance: &mut SeededRandom) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(3) {
        let from = chance.below(chars.len() + 1);
        let to = (from + chance.below(40)).min(chars.len());
        match chance.below(3) {
            0 => drop(chars.drain(from..to)),
            1 => drop(chars.splice(from..from, chance.one_of(&PIECES).chars())),
            _ => {
                let part = chars[from..to].to_vec();
                chars.splice(from..from, part.repeat(1 + chance.below(40)));
            }
        }
    }
    chars.into_iter().collect()
}

fn mutations(recorded: &[Exchange]) -> Vec<Exchange> {
    let mutated = (0..ROUNDS).map(|seed| {
        let mut chance = SeededRandom::seeded(seed);
        let exchange = chance.one_of(recorded).clone();
        Exchange { response: mutate(&exchange.response, &mut chance), ..exchange }
    });
    mutated.collect()
}

/// How many were read all the same, and how many were not.
#[derive(Default)]
struct MutationCount {
    read: usize,
    not: usize,
}

impl MutationCount {
    fn add<T>(&mut self, answer: Result<T, NebulaError>, seed: u64) {
        match answer {
            Ok(_) => self.read += 1,
            Err(NebulaError::Broken { .. } | NebulaError::Refused { .. }) => self.not += 1,
            Err(error) => panic!("seed {seed}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn no_mutated_answer_of_oned_hurts() {
    let names = ["user", "document", "documents", "machine", "missing_document", "unknown_method"];
    let replay = Replay::with(mutations(&names.map(Exchange::named))).await;
    let mut count = MutationCount::default();
    for seed in 0..ROUNDS {
        match seed % 3 {
            0 => count.add(replay.nebula.machine(&cognit(), 1).await, seed),
            1 => count.add(replay.nebula.document(&cognit(), 1).await, seed),
            _ => count.add(
                replay.nebula.documents(&cognit(), opennebula::DocumentFilter::All, 1, None).await,
                seed,
            ),
        }
    }
    assert!(count.read > 10 && count.not > 100, "{} and {}", count.read, count.not);
}

#[tokio::test]
async fn no_mutated_service_hurts() {
    let names = ["service_deploying", "service_running", "service_deploying_nets"];
    let replay = Replay::with(mutations(&names.map(Exchange::stored))).await;
    let mut count = MutationCount::default();
    for seed in 0..ROUNDS {
        count.add(replay.nebula.service(&cognit(), 1).await, seed);
    }
    assert!(count.read > 10 && count.not > 100, "{} and {}", count.read, count.not);
}
