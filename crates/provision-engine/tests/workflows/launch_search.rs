//! The expressions that choose instance types.

use ::cloud::{Architecture, ProviderKind};
use ::launch::model::catalog::{Search, TypeCatalog, TypeEntry};

/// The same numbers in every run.
pub(crate) struct SearchRandom(pub(crate) u64);

impl SearchRandom {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // The step of SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }
}

fn entry(name: &str, vcpus: u32, memory_mib: u64, architecture: Architecture) -> TypeEntry {
    let name = name.to_owned();
    TypeEntry { name, vcpus, cores: vcpus.div_ceil(2), memory_mib, storage_gb: 10, architecture, azure: None }
}

/// Those of a small catalogue that fit.
fn chosen(text: &str) -> Vec<String> {
    let search = Search::parse(text).unwrap();
    let all = [
        entry("t3.nano", 2, 512, Architecture::X86_64),
        entry("t3.medium", 2, 4096, Architecture::X86_64),
        entry("t4g.small", 2, 2048, Architecture::Arm64),
        entry("m5.large", 2, 8192, Architecture::X86_64),
        entry("M5.xlarge", 4, 16_384, Architecture::X86_64),
    ];
    all.into_iter().filter(|entry| search.fits(entry)).map(|entry| entry.name).collect()
}

#[test]
fn an_expression_chooses_by_numbers_names_and_words() {
    let cases: [(&str, &[&str]); 23] = [
        ("vcpus = 2 and memory < 4000", &["t3.nano", "t4g.small"]),
        ("vcpus=2 and memory<4000", &["t3.nano", "t4g.small"]),
        ("vcpus != 2", &["M5.xlarge"]),
        ("memory <= 2048", &["t3.nano", "t4g.small"]),
        ("memory > 8192", &["M5.xlarge"]),
        ("MEMORY_MIB >= 8192", &["m5.large", "M5.xlarge"]),
        ("cores > 1 or memory = 512", &["t3.nano", "M5.xlarge"]),
        ("storage = 10 and vcpus > 2", &["M5.xlarge"]),
        ("architecture = arm64", &["t4g.small"]),
        ("arch != 'aarch64' and supported = true and vcpus = 2", &["t3.medium", "m5.large"]),
        ("supported != true", &["t3.nano"]),
        ("supported = false", &["t3.nano"]),
        ("name ~ M5", &["m5.large", "M5.xlarge"]),
        ("name = \"m5.LARGE\"", &["m5.large"]),
        ("name != m5.large and vcpus = 2 and memory > 1000", &["t3.medium", "t4g.small"]),
        ("m5 and vcpus = 2", &["m5.large"]),
        // `and` binds before `or`.
        ("name ~ t3 or name ~ m5 and vcpus = 4", &["t3.nano", "t3.medium", "M5.xlarge"]),
        ("name ~ m5 and vcpus = 4 or name ~ t3", &["t3.nano", "t3.medium", "M5.xlarge"]),
        ("(name ~ t3 or name ~ m5) and vcpus = 4", &["M5.xlarge"]),
        ("not vcpus = 2", &["M5.xlarge"]),
        ("not (vcpus = 2 and memory < 8000)", &["m5.large", "M5.xlarge"]),
        ("not not vcpus = 4", &["M5.xlarge"]),
        ("NOT name ~ t3 AND NOT name ~ m5", &["t4g.small"]),
    ];
    for (text, expected) in cases {
        assert_eq!(chosen(text), expected, "{text}");
    }
}

#[test]
fn a_text_without_a_comparison_is_a_part_of_the_name() {
    assert_eq!(chosen(" T3. "), ["t3.nano", "t3.medium"]);
    assert_eq!(chosen("XLARGE"), ["M5.xlarge"]);
    assert_eq!(chosen("").len(), 5);
    assert!(chosen("m5 and large").is_empty());
}

#[test]
fn an_error_says_where_and_what_is_expected() {
    let deep = format!("{}vcpus = 2", "(".repeat(40));
    let negated = format!("{}vcpus = 2", "not ".repeat(40));
    let cases = [
        ("vcpus =", "character 8: expected a whole number, found the end"),
        ("vcpus = two", "character 9: expected a whole number, found \"two\""),
        ("memory < 1.5", "character 10: expected a whole number, found \"1.5\""),
        (
            "vcpus = 99999999999999999999",
            "character 9: expected a whole number, found \"99999999999999999999\"",
        ),
        ("vcpus ~ 2", "character 7: expected =, !=, <, <=, > or >=, found a comparison"),
        ("vcpus and memory < 2", "character 7: expected =, !=, <, <=, >, >= or ~, found \"and\""),
        ("name < m5", "character 6: expected ~, = or !=, found a comparison"),
        ("name ~ )", "character 8: expected a name or a part of one, found \")\""),
        ("arch = riscv", "character 8: expected x86_64 or arm64, found \"riscv\""),
        ("supported = yes", "character 13: expected true or false, found \"yes\""),
        ("supported > true", "character 11: expected = or !=, found a comparison"),
        (
            "vcpu = 2",
            "character 1: expected vcpus, cores, memory, storage, name, architecture or supported, found \"vcpu\"",
        ),
        ("vcpus = 2 memory = 3", "character 11: expected \"and\", \"or\" or the end, found \"memory\""),
        ("vcpus = 2 and", "character 14: expected a condition such as vcpus = 2, found the end"),
        ("(vcpus = 2", "character 11: expected \")\", found the end"),
        ("vcpus = 2)", "character 10: expected \"and\", \"or\" or the end, found \")\""),
        ("name ~ 'm5", "character 8: expected a closing ', found the end"),
        ("größe; = 2", "character 6: expected a word, a number or a comparison, found ';'"),
        ("! = 2", "character 1: expected a word, a number or a comparison, found '!'"),
        (&deep, "character 18: expected at most 16 nested conditions, found \"(\""),
        (&negated, "character 69: expected at most 16 nested conditions, found \"not\""),
    ];
    for (text, expected) in cases {
        assert_eq!(Search::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    let long = Search::parse(&"m".repeat(600)).unwrap_err();
    assert_eq!(long.to_string(), "character 1: expected at most 512 bytes, found 600 bytes");
}

#[test]
fn any_text_is_understood_or_refused_at_one_of_its_characters() {
    const PARTS: [&str; 22] = [
        "vcpus",
        "memory",
        "name",
        "arch",
        "supported",
        "=",
        "!=",
        "<",
        ">=",
        "~",
        "(",
        ")",
        "and",
        "or",
        "not",
        "2",
        "arm64",
        "true",
        "'m5",
        "\"x\"",
        "ü",
        "!",
    ];
    let mut dice = SearchRandom(11);
    let types = TypeCatalog::shipped().types(ProviderKind::Gcp, "us-central1", None).unwrap();
    let (mut understood, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let spaces = [" ", "", "\t"];
        let text: String = (0..dice.below(12))
            .flat_map(|_| [PARTS[dice.below(PARTS.len())], spaces[dice.below(3)]])
            .collect();
        match Search::parse(&text) {
            Ok(search) => {
                let fitting = types.iter().filter(|entry| search.fits(entry)).count();
                assert!(fitting <= types.len());
                understood += 1;
            }
            Err(error) => {
                assert!((1..=text.chars().count() + 1).contains(&error.at), "{text:?}: {error}");
                refused += 1;
            }
        }
    }
    assert!(understood > 500 && refused > 5000, "{understood} were understood and {refused} refused");
}
