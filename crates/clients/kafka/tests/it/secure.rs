//! Brokers that want TLS, or a user and a password. Only in a build with the feature `tls`, and only where there
//! is a real broker.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kafka::{Consumer, KafkaOptions, Producer, Sasl, Security};
use tempfile::TempDir;

use crate::broker::{self, Broker, Listener};
use crate::{send_by, text};

const PASSWORD: &str = "not-a-real-password";

pub(crate) async fn brokers_with_tls_and_sasl_are_spoken_to() {
    let jars = broker::jars().unwrap_or_else(|why| panic!("this check needs a real broker: {why}"));
    let keys = TempDir::new().unwrap();
    make_certificate(keys.path());
    let ca_file = Some(keys.path().join("ca.pem"));
    for mechanism in [None, Some("PLAIN"), Some("SCRAM-SHA-256"), Some("SCRAM-SHA-512")] {
        let broker = Broker::new(jars.clone(), listener(keys.path(), mechanism)).await;
        let sasl = |password: &str| {
            let (username, password) = ("ann".to_owned(), password.to_owned().into());
            mechanism.map(|mechanism| Sasl { mechanism: mechanism.into(), username, password })
        };
        let security = Security { tls: true, sasl: sasl(PASSWORD), ca_file: ca_file.clone() };
        let options = |security| KafkaOptions { brokers: broker.address(), group: "secure".into(), security };
        let producer = Producer::new(&options(security.clone())).unwrap();
        while let Err(error) = send_by(&producer, "secure", "hello").await {
            assert!(!error.is_final(), "{mechanism:?}: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let got = Consumer::new(&options(security.clone()), "secure").unwrap().next().await;
        assert_eq!(text(&got), "hello", "{mechanism:?}");
        let stranger = Security { ca_file: None, ..security.clone() };
        let stranger = Producer::new(&options(stranger)).unwrap();
        assert!(send_by(&stranger, "secure", "no").await.is_err(), "an unknown authority was believed");
        if mechanism.is_some() {
            let wrong = Security { sasl: sasl("wrong"), ..security };
            let wrong = Producer::new(&options(wrong)).unwrap();
            assert!(send_by(&wrong, "secure", "no").await.is_err(), "{mechanism:?} took a wrong password");
        }
        println!("kafka secure: TLS with {} works", mechanism.unwrap_or("no SASL"));
    }
}

/// A key and a certificate that has signed itself, for the broker and as the authority of its clients.
fn make_certificate(folder: &Path) {
    let keytool = |words: &[&str]| {
        let mut keytool = Command::new("keytool");
        keytool.args(["-keystore", "broker.p12", "-storetype", "PKCS12", "-storepass", PASSWORD]);
        let ran = keytool.args(["-alias", "broker"]).args(words).current_dir(folder).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    };
    keytool(&["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1"]);
    keytool(&["-exportcert", "-rfc", "-file", "ca.pem"]);
}

fn listener(keys: &Path, mechanism: Option<&str>) -> Listener {
    let store = keys.join("broker.p12");
    let (store, password) = (store.display(), PASSWORD);
    let tls = format!(
        "ssl.keystore.type=PKCS12\nssl.keystore.location={store}\nssl.keystore.password={password}\n\
         ssl.key.password={password}\nssl.truststore.type=PKCS12\nssl.truststore.location={store}\n\
         ssl.truststore.password={password}\n"
    );
    let Some(mechanism) = mechanism else {
        return Listener { protocol: "SSL", properties: tls, format: Vec::new() };
    };
    let (module, users) = match mechanism {
        "PLAIN" => ("plain.PlainLoginModule", format!(" user_ann=\"{password}\"")),
        _ => ("scram.ScramLoginModule", String::new()),
    };
    let listener = format!("listener.name.clients.{}.sasl.jaas.config", mechanism.to_ascii_lowercase());
    let properties = format!(
        "{tls}sasl.enabled.mechanisms={mechanism}\nsasl.mechanism.inter.broker.protocol={mechanism}\n\
         {listener}=org.apache.kafka.common.security.{module} required \
         username=\"ann\" password=\"{password}\"{users};\n"
    );
    let format = match mechanism {
        "PLAIN" => Vec::new(),
        scram => vec!["--add-scram".into(), format!("{scram}=[name=ann,password={password}]")],
    };
    Listener { protocol: "SASL_SSL", properties, format }
}
