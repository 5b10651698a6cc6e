//! What both services say when they say no.

use std::collections::BTreeMap;

use opennebula::{
    AttributeName, NebulaCredentials, NebulaError, NebulaErrorKind, NebulaTemplate, OpenNebula, Recovery,
    ServiceTemplate, Text, VmAction,
};

use super::recorded::{Exchange, Replay, cognit};

async fn refused<T>(
    exchange: Exchange,
    ask: impl AsyncFnOnce(OpenNebula, NebulaCredentials) -> Result<T, NebulaError>,
) -> NebulaError {
    let replay = Replay::with(vec![exchange]).await;
    let answer = ask(replay.nebula.clone(), cognit()).await;
    assert_eq!(replay.asked().len(), 1);
    answer.err().unwrap()
}

#[track_caller]
fn check(error: &NebulaError, from: &str, error_response: NebulaErrorKind, words: &str) {
    let NebulaError::Refused { service, kind, message } = error else { panic!("{error:?}") };
    assert_eq!((*service, *kind, message.as_str()), (from, error_response, words));
}

#[tokio::test]
async fn oned_says_why_with_a_number() {
    let error = refused(Exchange::named("wrong_password"), async |n, who| n.version(&who).await).await;
    let words = "[one.system.version] User couldn't be authenticated, aborting call.";
    check(&error, "oned", NebulaErrorKind::Authentication, words);

    let error =
        refused(Exchange::named("document_of_another_user"), async |n, who| n.document(&who, 66).await).await;
    let words = "[one.document.info] User [3] : Not authorized to perform USE DOCUMENT [66].";
    check(&error, "oned", NebulaErrorKind::Authorization, words);

    let error = refused(Exchange::named("missing_document"), async |n, who| n.document(&who, 1).await).await;
    check(
        &error,
        "oned",
        NebulaErrorKind::NotFound,
        "[one.document.info] Error getting document [2147483647].",
    );

    let act = async |n: OpenNebula, who: NebulaCredentials| n.act(&who, 25, VmAction::Resched).await;
    let error = refused(Exchange::named("resched_refused"), act).await;
    check(
        &error,
        "oned",
        NebulaErrorKind::Authorization,
        "[one.vm.action] User [2] : Not authorized to perform ADMIN VM [25].",
    );

    let recover = async |n: OpenNebula, who: NebulaCredentials| n.recover(&who, 34, Recovery::Retry).await;
    let error = refused(Exchange::named("recover_refused"), recover).await;
    assert!(error.is(NebulaErrorKind::Authorization), "{error}");

    let allocate = async |n: OpenNebula, who: NebulaCredentials| {
        n.allocate_document(&who, &NebulaTemplate::new(), 1337).await
    };
    let error = refused(Exchange::named("malformed_template"), allocate).await;
    check(
        &error,
        "oned",
        NebulaErrorKind::Internal,
        "[one.document.allocate] Parse error: XML Template malformed.",
    );
}

#[tokio::test]
async fn an_older_oned_says_less() {
    let five = Exchange::named("missing_document");
    let end = five.response.find("<value><i4>2147483647").unwrap();
    let three = format!("{}</data></array></value></param></params></methodResponse>", &five.response[..end]);
    let error = refused(Exchange { response: three, ..five }, async |n, who| n.document(&who, 1).await).await;
    assert!(error.is(NebulaErrorKind::NotFound), "{error}");
}

#[tokio::test]
async fn an_election_passes() {
    let said = Exchange::named("malformed_template");
    let words = "[one.document.info] oned cluster in election mode";
    let response =
        said.response.replace("[one.document.allocate] Parse error: XML Template malformed.", words);
    assert_ne!(response, said.response);
    let error = refused(Exchange { response, ..said }, async |n, who| n.document(&who, 1).await).await;
    assert_eq!(error, NebulaError::Electing { service: "oned", message: words.to_owned() });
    assert!(error.may_heal());
}

#[tokio::test]
async fn faults_are_no_errors() {
    for name in ["too_few_parameters", "unknown_method", "malformed_call", "wrong_path"] {
        let error = refused(Exchange::named(name), async |n, who| n.document(&who, 1).await).await;
        assert!(matches!(error, NebulaError::Broken { service: "oned", .. }), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn oneflow_swaps_two_codes_and_we_swap_them_back() {
    let read = async |n: OpenNebula, who: NebulaCredentials| n.delete_service(&who, 1).await;
    let error = refused(Exchange::named("flow_wrong_password"), read).await;
    check(&error, "oneflow", NebulaErrorKind::Authentication, "Invalid credentials");
    let error = refused(Exchange::named("service_of_another_user"), read).await;
    assert!(error.is(NebulaErrorKind::Authorization), "{error}");
    let error =
        refused(Exchange::made_up(403, "[one.document.info] User couldn't be authenticated"), read).await;
    assert!(error.is(NebulaErrorKind::Authentication), "{error}");
    let error = refused(Exchange::made_up(401, "A username and password must be provided"), read).await;
    assert!(error.is(NebulaErrorKind::Authentication), "{error}");
}

#[tokio::test]
async fn oneflow_says_what_is_missing_and_what_is_in_the_wrong_state() {
    let read = async |n: OpenNebula, who: NebulaCredentials| n.delete_service(&who, 1).await;
    let error = refused(Exchange::named("missing_service"), read).await;
    check(
        &error,
        "oneflow",
        NebulaErrorKind::NotFound,
        "[one.document.info] Error getting document [999999].",
    );
    let error = refused(Exchange::named("service_of_another_kind"), read).await;
    check(&error, "oneflow", NebulaErrorKind::Internal, "[DocumentInfo] Error getting document [0].");

    let delete = async |n: OpenNebula, who: NebulaCredentials| n.delete_service(&who, 60).await;
    let error = refused(Exchange::named("delete_deploying_service"), delete).await;
    check(&error, "oneflow", NebulaErrorKind::Action, "Service cannot be undeployed in state: DEPLOYING");
    let error = refused(Exchange::named("delete_service_of_another_user"), delete).await;
    assert!(error.is(NebulaErrorKind::Authorization), "{error}");
    assert!(refused(Exchange::named("delete_missing_service"), delete).await.is(NebulaErrorKind::NotFound));

    let recover = async |n: OpenNebula, who: NebulaCredentials| n.recover_delete_service(&who, 60).await;
    assert!(refused(Exchange::named("recover_delete_fails"), recover).await.is(NebulaErrorKind::Internal));
    assert!(
        refused(Exchange::named("recover_delete_missing_service"), recover)
            .await
            .is(NebulaErrorKind::NotFound)
    );
}

#[tokio::test]
async fn a_document_of_another_kind_is_no_service() {
    let read = async |n: OpenNebula, who: NebulaCredentials| n.service(&who, 1).await;
    assert!(refused(Exchange::named("document"), read).await.is(NebulaErrorKind::NotFound));
    assert!(refused(Exchange::named("missing_document"), read).await.is(NebulaErrorKind::NotFound));
    assert!(
        refused(Exchange::named("document_of_another_user"), read).await.is(NebulaErrorKind::Authorization)
    );
    assert!(refused(Exchange::named("wrong_password"), read).await.is(NebulaErrorKind::Authentication));
}

#[tokio::test]
async fn newer_releases_complain_in_json() {
    let read = async |n: OpenNebula, who: NebulaCredentials| n.delete_service(&who, 1).await;
    let said = r#"{"message":"zone disabled","reason":"x"}"#;
    let error = refused(Exchange::made_up(500, said), read).await;
    assert_eq!(error, NebulaError::Electing { service: "oneflow", message: "zone disabled".to_owned() });
    let error = refused(Exchange::made_up(400, r#"{"message":"no roles"}"#), read).await;
    check(&error, "oneflow", NebulaErrorKind::Api, "no roles");
    // The web server of OneFlow 6 says this, and OneFlow has never seen the request.
    let error = refused(Exchange::made_up(400, "Bad Request"), read).await;
    assert!(matches!(error, NebulaError::Broken { service: "oneflow", .. }), "{error:?}");
}

#[tokio::test]
async fn a_oneflow_that_does_not_reach_oned_is_no_error() {
    let said = "Failed to open TCP connection to localhost:2633 (Connection refused - connect(2))";
    let error = refused(Exchange::made_up(500, said), async |n, who| n.delete_service(&who, 1).await).await;
    assert!(matches!(error, NebulaError::Broken { service: "oneflow", .. }), "{error:?}");
    assert!(error.may_heal() && error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn a_page_for_people_is_not_quoted() {
    let error =
        refused(Exchange::named("page_for_people"), async |n, who| n.delete_service(&who, 1).await).await;
    let NebulaError::Broken { service: "oneflow", cause } = &error else { panic!("{error:?}") };
    assert!(cause.contains("500") && !cause.contains("DOCTYPE"), "{cause}");
    let error =
        refused(Exchange::made_up(502, "bad gateway"), async |n, who| n.delete_service(&who, 1).await).await;
    assert!(matches!(error, NebulaError::Broken { .. }), "{error:?}");
}

#[tokio::test]
async fn a_template_that_is_gone_makes_no_service() {
    let gone = ServiceTemplate {
        id: 999_999,
        uid: 0,
        gid: 0,
        uname: String::new(),
        gname: String::new(),
        name: "gone".into(),
        deployment: String::new(),
        roles: Vec::new(),
    };
    let make =
        async |n: OpenNebula, who: NebulaCredentials| n.instantiate(&who, &gone, "x", &BTreeMap::new()).await;
    assert!(refused(Exchange::named("missing_service_template"), make).await.is(NebulaErrorKind::NotFound));
}

#[tokio::test]
async fn words_of_a_user_that_oneflow_would_expand_go_nowhere() {
    let mut replay = Replay::with(vec![Exchange::stored("service_templates")]).await;
    let mut templates = replay.nebula.service_templates(&cognit()).await.unwrap();
    templates.retain(|template| template.name == "Function");
    replay = Replay::of(&[]).await;
    let mut contents = NebulaTemplate::new();
    contents.set(AttributeName::of("SCHED_RANK"), Text::from_user("${FAAS.CONTEXT.SR_AUTH}").unwrap());
    let contents = BTreeMap::from([("FAAS".to_owned(), contents)]);
    let error = replay.nebula.instantiate(&cognit(), &templates[0], "x", &contents).await.unwrap_err();
    assert!(error.is(NebulaErrorKind::Api) && error.to_string().contains("SCHED_RANK"), "{error}");
    assert_eq!(replay.asked(), []);
}
