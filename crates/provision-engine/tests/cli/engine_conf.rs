//! The program reads `engine.conf`, says what is wrong with it, and shows clients what is in force.

use serde_json::{Value, json};

use crate::stage::DataDirectory;

const SHIPPED: &str = include_str!("../../../../packaging/engine.conf");

/// Status and body of one request.
#[track_caller]
pub(crate) fn get(url: &str) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let response = client.get(url).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    })
}

/// The file with plain keys, read by another reader than the program's.
fn as_json(conf: &str) -> Value {
    fn plain(value: Value) -> Value {
        match value {
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (key.trim_start_matches(':').to_owned(), plain(value)))
                .collect(),
            other => other,
        }
    }
    plain(serde_saphyr::from_str(conf).unwrap())
}

#[test]
fn clients_see_a_complete_file_as_it_is() {
    let place = DataDirectory::new();
    let place = place.env("PROVISION_ENGINE_LOG__DIRECTORY", "logs");
    // The port of the test's own choice is a flag, so the file has to say the same.
    let conf = format!("{SHIPPED}\n:mapping:\n  :nature: 0\n  :nature-s3: 3\n").replace(": 1337", ": 0");
    place.write("engine.conf", &conf);
    let server = place.serve(&["--engine-conf", "engine.conf"]);
    let said = server.going.err();
    assert!(said.contains("serverless list") && !said.contains("instances create"), "{said}");
    let (status, body) = get(&format!("{}/server/config", server.url));
    assert_eq!((status, serde_json::from_str(&body).unwrap()), (200, as_json(&conf)));
    server.stop();

    let place = place.env("PROVISION_ENGINE_SERVERLESS__SHOW_CONFIG", "redacted");
    let server = place.serve(&["--engine-conf", "engine.conf"]);
    let shown: Value = serde_json::from_str(&get(&format!("{}/server/config", server.url)).1).unwrap();
    assert_eq!((&shown["one_xmlrpc"], &shown["oneflow_server"]), (&json!("***"), &json!("***")));
    server.stop();
}

#[test]
fn mistakes_are_named_with_file_line_and_key() {
    let place = DataDirectory::new();
    place.write("engine.conf", ":host: 127.0.0.1\n:port: many\n:prot: 1\n");
    let checked = place.expect(1, &["config", "check", "--engine-conf", "engine.conf"]);
    assert!(
        checked.err.contains("engine.conf:2:8: port: expected a whole number from 0 to 65535"),
        "{checked:?}"
    );
    place.expect(1, &["start", "--engine-conf", "engine.conf"]);

    place.write("engine.conf", ":port: 99\n:prot: 1\n");
    let checked = place.expect(0, &["config", "check", "--engine-conf", "engine.conf"]);
    assert!(checked.err.contains("warning: engine.conf:2:1: unknown key `prot`"), "{checked:?}");
    assert!(checked.err.contains("the configuration is good (engine.conf)"), "{checked:?}");
    let report = place.json(&["config", "check", "--engine-conf", "engine.conf"]);
    assert_eq!(report["engine_conf"], "engine.conf");
    let missing = place.expect(1, &["config", "show", "--engine-conf", "nowhere.conf"]);
    assert!(missing.err.contains("cannot read the configuration nowhere.conf"), "{missing:?}");
}

#[test]
fn the_file_of_an_installation_is_found_and_lies_under_everything_else() {
    let place = DataDirectory::new();
    let prefix = place.path("prefix");
    std::fs::create_dir_all(prefix.join("etc/provision-engine")).unwrap();
    std::fs::write(prefix.join("etc/provision-engine/engine.conf"), ":port: 99\n:timeout: 31\n").unwrap();
    let place = place.env("PROVISION_ENGINE_PREFIX", prefix.to_str().unwrap());
    place.write("provision-engine.yaml", "serverless: {timeout: 33s}\n");
    let shown = place.json(&["config", "show"]);
    assert_eq!(
        (&shown["server"]["listen"], &shown["serverless"]["timeout"]),
        (&json!("127.0.0.1:99"), &json!("33s"))
    );
    let logs = format!("{}/var/log/provision-engine", prefix.display());
    assert_eq!(shown["log"]["directory"], logs.as_str());
    let wide = place.expect(0, &["config", "show", "-o", "wide"]).out;
    let line = wide.lines().find(|line| line.starts_with("serverless.oned ")).unwrap();
    assert!(line.contains("default with") && line.contains("engine.conf"), "{line}");
}
