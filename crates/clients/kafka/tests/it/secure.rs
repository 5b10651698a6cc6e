//! Brokers that want TLS, or a user and a password: one Apache Kafka with a listener for each certificate and mechanism.

use std::fs;
use std::time::Duration;

use futures_util::future::join_all;
use http_client::DriverError;
use kafka::{Consumer, KafkaOptions, Producer, Sasl, Security};

use crate::broker::{self, KafkaBroker, Listener, PASSWORD, USER};
use crate::certificates::{Authorities, Files, KINDS, Kind};
use crate::{send_by, text};

const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
const TOPIC: &str = "secure";

pub(crate) async fn brokers_with_tls_and_sasl_are_spoken_to() {
    let jars = match broker::jars() {
        Ok(jars) => jars,
        Err(why) => return println!("kafka broker: TLS and SASL are not tried, because {why}"),
    };
    let authorities = Authorities::new();
    let mut listeners = vec![Listener::plain()];
    listeners.extend(KINDS.map(|kind| tls(&format!("{kind:?}"), &authorities.issue(kind))));
    listeners.extend(MECHANISMS.map(|mechanism| sasl(mechanism, &authorities.issue(Kind::Good))));
    let broker = KafkaBroker::new(jars, listeners).await;

    let secure = Security { tls: true, sasl: None, ca_file: Some(authorities.trusted.file()) };
    let with = |mechanism: &str, password: &str| Security {
        sasl: Some(Sasl {
            mechanism: mechanism.into(),
            username: USER.into(),
            password: password.to_owned().into(),
        }),
        ..secure.clone()
    };
    let options = |listener: usize, security: &Security| KafkaOptions {
        brokers: broker.address(listener),
        group: format!("secure-{listener}"),
        security: security.clone(),
    };

    let mut good = vec![(1, secure.clone())];
    let mut bad = vec![
        ("a certificate of no authority that is known", 1, Security { ca_file: None, ..secure.clone() }),
        ("no TLS where TLS is wanted", 1, Security::default()),
        ("TLS where there is none", 0, secure.clone()),
    ];
    for (number, kind) in KINDS.iter().enumerate().skip(1) {
        let why = match kind {
            Kind::Expired => "an expired certificate",
            Kind::WrongName => "a certificate for another name",
            _ => "a certificate of another authority",
        };
        bad.push((why, 1 + number, secure.clone()));
    }
    for (number, mechanism) in MECHANISMS.iter().enumerate() {
        let listener = 1 + KINDS.len() + number;
        good.push((listener, with(mechanism, PASSWORD)));
        bad.push(("a wrong password", listener, with(mechanism, "wrong")));
        bad.push(("no user", listener, secure.clone()));
    }

    let taken = good.iter().map(async |(listener, security)| {
        let options = options(*listener, security);
        let producer = Producer::new(&options).unwrap();
        send_until_taken(&producer).await;
        let consumer = Consumer::new(&options, TOPIC).unwrap();
        assert_eq!(text(&consumer.next().await), "hello", "{security:?}");
    });
    join_all(taken).await;
    // Only now, when the broker is known to take messages.
    let refused = bad.iter().map(async |(why, listener, security)| {
        let producer = Producer::new(&options(*listener, security)).unwrap();
        let sent: Result<(), DriverError> = send_by(&producer, TOPIC, "no").await;
        assert!(sent.is_err(), "{why} was believed, at listener {listener}");
    });
    join_all(refused).await;
    println!("kafka broker: TLS and SASL, {} connections taken and {} refused", good.len(), bad.len());
}

async fn send_until_taken(producer: &Producer) {
    while let Err(error) = send_by(producer, TOPIC, "hello").await {
        assert!(!error.is_final(), "{error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Kafka reads a key and its certificates from one file.
fn tls(name: &str, files: &Files) -> Listener {
    let both = files.key.with_extension("pem");
    let pem = [fs::read(&files.key).unwrap(), fs::read(&files.certificate).unwrap()].concat();
    fs::write(&both, pem).unwrap();
    let properties =
        vec!["ssl.keystore.type=PEM".into(), format!("ssl.keystore.location={}", both.display())];
    Listener { name: name.to_ascii_lowercase(), protocol: "SSL", properties }
}

fn sasl(mechanism: &str, files: &Files) -> Listener {
    let small = mechanism.to_ascii_lowercase();
    let (module, users) = match mechanism {
        "PLAIN" => ("plain.PlainLoginModule", format!(" user_{USER}=\"{PASSWORD}\"")),
        _ => ("scram.ScramLoginModule", String::new()),
    };
    let mut listener = tls(&format!("sasl-{small}"), files);
    listener.properties.push(format!("sasl.enabled.mechanisms={mechanism}"));
    listener
        .properties
        .push(format!("{small}.sasl.jaas.config=org.apache.kafka.common.security.{module} required{users};"));
    Listener { protocol: "SASL_SSL", ..listener }
}
