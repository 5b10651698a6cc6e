//! The client of declared steps: answers by the vectors that the SDKs share, and places that calls may not go to.

use external_step::{Reach, StepAnswer};
use reqwest::Url;
use serde_json::Value;

#[test]
fn answers_are_read_as_the_vectors_of_the_sdks_say() {
    let vectors = include_str!("../../../../../sdk/vectors/answers.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    assert!(vectors.len() > 50);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let read = StepAnswer::read(vector["answer"].to_string().as_bytes());
        match read {
            Ok(_) => assert_eq!(vector["valid"], true, "{name} is taken"),
            Err(error) => {
                assert_eq!(vector["valid"], false, "{name}: {error}");
                let part = vector["names"].as_str().unwrap_or_default();
                assert!(error.contains(part), "{name}: {part} is not in {error}");
            }
        }
    }
}

#[test]
fn metadata_and_link_local_addresses_are_out_of_reach_in_every_spelling() {
    let check = |url: &str| Reach::default().check(&Url::parse(url).unwrap());
    for url in [
        "http://169.254.169.254/",
        "https://169.254.169.254/latest",
        "https://[fe80::1]/",
        "https://[fd00:ec2::254]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:a9fe:a9fe::]/",
        "https://2852039166/",
        "https://0xa9.0xfe.0xa9.0xfe/",
        "https://168.63.129.16/",
        "https://100.100.100.200/",
        "https://metadata.google.internal/",
        "https://0.0.0.0/",
        "http://steps.example/",
        "https://user:password@steps.example/",
        "ftp://steps.example/",
    ] {
        assert!(check(url).is_err(), "{url}");
    }
    for url in ["https://steps.example/", "https://10.1.2.3/", "http://127.0.0.1:8780/", "http://[::1]/"] {
        assert_eq!(check(url), Ok(()), "{url}");
    }
    for url in ["http://169.254.169.254/", "http://steps.example/"] {
        assert_eq!(Reach::ALL.check(&Url::parse(url).unwrap()), Ok(()), "{url}");
    }
}
