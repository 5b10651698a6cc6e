//! Templates: whatever a value is made of, it stays one value, or it is refused.

use opennebula::{Attribute, AttributeName, NebulaTemplate, Text, Unfit};
use serde_json::json;

use super::chance::SeededRandom;
use super::grammar::{Parsed, parse};
use super::wire::{XmlRpcNode, tree};

const SEEDS: u64 = 20_000;
const PIECES: [&str; 27] = [
    "\"",
    "\\",
    "\\\"",
    "]",
    "]]",
    ">",
    "]]>",
    "[",
    "=",
    ",",
    "#",
    "\n",
    "\t",
    " ",
    "$",
    "$NET",
    "${x.y}",
    "APPEND=\"A\"",
    "A",
    "b",
    "é",
    "\u{1f600}",
    "&",
    "<",
    "\r",
    "\u{0}",
    "\u{fffe}",
];

fn name(text: &str) -> AttributeName {
    AttributeName::parse(text).unwrap()
}

fn value(chance: &mut SeededRandom) -> String {
    (0..chance.below(7)).map(|_| *chance.one_of(&PIECES)).collect()
}

/// `None`, when the value was refused at once.
fn text(chance: &mut SeededRandom, users: bool) -> Option<Text> {
    let value = value(chance);
    if users { Text::from_user(value).ok() } else { Some(Text::ours(value)) }
}

fn template(chance: &mut SeededRandom, users: bool) -> Option<NebulaTemplate> {
    let mut template = NebulaTemplate::new();
    template.set(name("FIRST"), text(chance, users)?);
    for number in 0..=chance.below(2) {
        let pairs = (0..=chance.below(2)).map(|at| Some((name(&format!("K{at}")), text(chance, users)?)));
        template.push_vector(name(&format!("V{number}")), pairs.collect::<Option<Vec<_>>>()?);
    }
    template.set(name("LAST"), text(chance, users)?);
    Some(template)
}

fn expected(template: &NebulaTemplate) -> Vec<Parsed> {
    let attributes = template.attributes().iter().map(|attribute| match attribute {
        Attribute::Single(name, value) => Parsed::Single(name.to_string(), value.as_str().to_owned()),
        Attribute::Vector(vector) => {
            let pairs =
                vector.pairs().iter().map(|(name, value)| (name.to_string(), value.as_str().to_owned()));
            Parsed::Vector(vector.name().to_string(), pairs.collect())
        }
    });
    attributes.collect()
}

#[test]
fn in_text_a_value_comes_back_equal_or_is_refused() {
    let mut written = 0;
    for seed in 0..SEEDS {
        let mut chance = SeededRandom::seeded(seed);
        let users = chance.below(2) == 0;
        let Some(template) = template(&mut chance, users) else { continue };
        let Ok(text) = template.to_text() else { continue };
        assert_eq!(parse(&text), Ok(expected(&template)), "seed {seed}: {text:?}");
        if users {
            let obeyed = text.lines().any(|line| line.trim_start().starts_with("APPEND"));
            assert!(!text.contains('$') && !obeyed, "seed {seed}: {text:?}");
        }
        written += 1;
    }
    assert!(written > SEEDS / 100, "only {written} were written");
}

#[test]
fn in_xml_a_value_comes_back_equal_or_is_refused() {
    let mut written = 0;
    for seed in 0..SEEDS {
        let mut chance = SeededRandom::seeded(seed);
        let Some(template) = template(&mut chance, seed % 2 == 0) else { continue };
        let Ok(xml) = template.to_xml() else { continue };
        assert!(!xml.contains("]]>"), "seed {seed}: {xml:?}");
        let children = tree(&xml).children.into_iter().map(|node| match node {
            XmlRpcNode { name, text, children } if children.is_empty() => Parsed::Single(name, text),
            XmlRpcNode { name, children, .. } => {
                Parsed::Vector(name, children.into_iter().map(|pair| (pair.name, pair.text)).collect())
            }
        });
        assert_eq!(children.collect::<Vec<_>>(), expected(&template), "seed {seed}: {xml:?}");
        written += 1;
    }
    assert!(written > SEEDS / 10, "only {written} were written");
}

#[test]
fn a_script_of_many_lines_survives() {
    let script = "#!/bin/bash\necho \"ready\" > /tmp/x\nexport A=[1,2]\n\"$NETWORK[X]\"\n";
    let mut template = NebulaTemplate::new();
    template.push_vector(name("CONTEXT"), vec![(name("START_SCRIPT"), Text::ours(script))]);
    let pair = ("START_SCRIPT".to_owned(), script.to_owned());
    let expected = vec![Parsed::Vector("CONTEXT".to_owned(), vec![pair])];
    assert_eq!(parse(&template.to_text().unwrap()), Ok(expected));
}

#[test]
fn an_error_names_the_attribute_and_not_the_value() {
    let check = |value: Text, why: Unfit| {
        let mut template = NebulaTemplate::new();
        template.push_vector(name("DEVICE_INFO"), vec![(name("GEOGRAPHIC_LOCATION"), value)]);
        let refused = template.to_text().unwrap_err();
        assert_eq!((refused.attribute.as_str(), refused.why), ("DEVICE_INFO/GEOGRAPHIC_LOCATION", why));
        assert!(!refused.to_string().contains("hush"), "{refused}");
    };
    check(Text::ours("hush\\"), Unfit::Backslash);
    check(Text::ours("hush]]>"), Unfit::CdataEnd);
    check(Text::ours("hush\r"), Unfit::Character);
    check(Text::from_user("hush $x").unwrap(), Unfit::Dollar);
    check(Text::from_user("hush\n APPEND=\"DISK\"").unwrap(), Unfit::Append);
}

#[test]
fn what_no_form_can_carry_is_refused_at_once_to_a_user() {
    assert_eq!(Text::from_user("a\u{0}").unwrap_err(), Unfit::Character);
    assert_eq!(Text::from_user("a\u{85}").unwrap_err(), Unfit::Character);
    assert_eq!(Text::from_user("a]]>b").unwrap_err(), Unfit::CdataEnd);
    assert_eq!(Text::from_user("a\\").unwrap_err(), Unfit::Backslash);
    assert_eq!(Text::from_user("$5 is\n\tall right in XML").unwrap().as_str(), "$5 is\n\tall right in XML");
}

#[test]
fn json_has_vectors_as_arrays_of_objects() {
    let mut template = NebulaTemplate::new();
    template.set(name("CPU"), 2_u32);
    template.push_vector(name("DISK"), vec![(name("SIZE"), Text::from(1024_u32))]);
    template.push_vector(name("DISK"), vec![(name("SIZE"), Text::from(2048_u32))]);
    let expected = json!({ "CPU": "2", "DISK": [{ "SIZE": "1024" }, { "SIZE": "2048" }] });
    assert_eq!(template.to_json().unwrap(), expected);
}

#[test]
fn json_takes_the_quotes_of_a_user_and_no_line_break_inside_a_vector() {
    let value = |text: &str| Text::from_user(text).unwrap();
    let mut template = NebulaTemplate::new();
    template.set(name("SCHED_RANK"), value("a\"b\nc"));
    template.push_vector(name("DEVICE_INFO"), vec![(name("GEOGRAPHIC_LOCATION"), value("a\"b"))]);
    let expected = json!({ "SCHED_RANK": "a\"b\nc", "DEVICE_INFO": [{ "GEOGRAPHIC_LOCATION": "a\"b" }] });
    assert_eq!(template.to_json().unwrap(), expected);
    for (text, why) in [("a\nb", Unfit::LineBreak), ("a$b", Unfit::Dollar)] {
        let mut template = NebulaTemplate::new();
        template.push_vector(name("DEVICE_INFO"), vec![(name("GEOGRAPHIC_LOCATION"), value(text))]);
        assert_eq!(template.to_json().unwrap_err().why, why, "{text:?}");
    }
}

#[test]
fn setting_takes_the_place_of_everything_with_that_name() {
    let mut template = NebulaTemplate::new();
    template.set(name("A"), "1");
    template.push_vector(name("DISK"), Vec::new());
    template.set(name("B"), "2");
    template.push_vector(name("DISK"), Vec::new());
    template.set(name("DISK"), "3");
    assert_eq!(template.to_text().unwrap(), "A=\"1\"\nDISK=\"3\"\nB=\"2\"");
    assert_eq!(template.vectors("DISK").count(), 0);
}

#[test]
fn a_name_is_made_of_capital_letters_digits_and_underscores() {
    assert_eq!(name("sched_rank1").as_str(), "SCHED_RANK1");
    for bad in ["", "1A", "A-B", "A B", "A=B", "Ä", "A\n", &"A".repeat(129)] {
        assert!(AttributeName::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn no_one_prints_the_values() {
    let mut template = NebulaTemplate::new();
    template.set(name("FLAVOURS"), "hush");
    template.push_vector(name("CONTEXT"), vec![(name("SR_AUTH"), Text::ours("hush"))]);
    assert_eq!(format!("{template:?}"), "[FLAVOURS, CONTEXT[SR_AUTH]]");
    assert_eq!(format!("{:?}", Text::ours("hush")), "<4 bytes>");
}
