//! Nothing that is told about a call holds a secret.

use std::collections::BTreeMap;

use engine::secret::SecretString;
use opennebula::{AttributeName, NebulaCredentials, NebulaTemplate, Text};

use super::recorded::{Exchange, Replay, cognit};
use crate::log;

#[tokio::test]
async fn logs_and_errors_say_who_and_what_but_no_password() {
    log::begin();
    let who = NebulaCredentials::new("quiet", SecretString::from("hush-hush")).unwrap();
    let replay = Replay::with(vec![
        Exchange::stored("service_templates"),
        Exchange::named("instantiate"),
        Exchange::answer("hush-token"),
        Exchange::named("amend_machine"),
        Exchange::named("machine"),
        Exchange::named("wrong_password"),
        Exchange::named("flow_wrong_password"),
        Exchange::made_up(201, "hush-hush {"),
    ])
    .await;
    let templates = replay.nebula.service_templates(&who).await.unwrap();
    let template = templates.iter().find(|template| template.name == "Function").unwrap();
    let mut contents = NebulaTemplate::new();
    let auth = (AttributeName::of("SR_AUTH"), Text::ours("hush-auth"));
    contents.push_vector(AttributeName::of("CONTEXT"), vec![auth]);
    let contents = BTreeMap::from([("FAAS".to_owned(), contents)]);
    let service = replay.nebula.instantiate(&who, template, "sr-1", &contents).await.unwrap();
    replay.nebula.login(&who, std::time::Duration::from_secs(60)).await.unwrap();
    replay.nebula.amend_machine(&who, 25, &contents["FAAS"]).await.unwrap();
    let machine = replay.nebula.machine(&cognit(), 22).await.unwrap();
    let wrong = replay.nebula.version(&who).await.unwrap_err();
    let wrong_too = replay.nebula.delete_service(&who, 1).await.unwrap_err();
    let broken = replay.nebula.instantiate(&who, template, "sr-1", &contents).await.unwrap_err();

    let told = log::text();
    assert!(told.contains("asks for a login token, for quiet"), "{told}");
    assert!(told.contains("POST service_template/0/action, for quiet"), "{told}");
    let told = format!("{told}{service:?}{machine:?}{wrong:?}{wrong_too:?}{broken:?}{who:?}");
    // As they are, in the header of the calls, and as the machine has it.
    for secret in ["hush", "cXVpZXQ6aHVzaC1odXNo", "Y29nbml0OmNvZ25pdHBhc3M", "cognitpass"] {
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
}
