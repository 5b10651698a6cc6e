//! Answers that are too much of something.

use opennebula::{NebulaError, NebulaUser};

use super::recorded::{Exchange, Replay, cognit};

const USER: &str = "<USER><ID>2</ID><GID>1</GID><NAME>cognit</NAME><GNAME>users</GNAME></USER>";

async fn user(exchange: Exchange) -> Result<NebulaUser, NebulaError> {
    Replay::with(vec![exchange]).await.nebula.user(&cognit()).await
}

async fn check_broken(exchange: Exchange, words: &str) {
    let error = user(exchange).await.unwrap_err();
    let NebulaError::Broken { service: "oned", cause } = &error else { panic!("{error:?}") };
    assert!(cause.contains(words), "{cause}");
}

#[tokio::test]
async fn a_small_answer_is_read() {
    assert_eq!(user(Exchange::answer(USER)).await.unwrap().name, "cognit");
}

#[tokio::test]
async fn what_is_too_deep_or_too_much_is_not_read() {
    check_broken(Exchange::answer(&format!("{}{}", "<A>".repeat(40), "</A>".repeat(40))), "deeper than 32")
        .await;
    let deep = format!("{}{}", "<value>".repeat(100_000), "</value>".repeat(100_000));
    check_broken(Exchange::made_up(200, deep), "deeper than 32").await;
    check_broken(Exchange::answer(&format!("<USER>{}</USER>", "<A/>".repeat(400_001))), "more than 400000")
        .await;
    check_broken(Exchange::answer(&"x".repeat(17 << 20)), "longer than 16777216 bytes").await;
}

#[tokio::test]
async fn no_document_type_and_no_entity_of_its_own_is_read() {
    let typed = format!("<!DOCTYPE USER [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>{USER}");
    check_broken(Exchange::answer(&typed), "document type").await;
    check_broken(Exchange::made_up(200, typed), "document type").await;
    check_broken(Exchange::answer("<USER><NAME>&lol;</NAME></USER>"), "entity").await;
    check_broken(Exchange::answer("<USER><NAME>&#0;</NAME></USER>"), "entity").await;
}

#[tokio::test]
async fn half_an_answer_is_none() {
    let whole = Exchange::answer(USER).response.trim_end().to_owned();
    let answers = (0..whole.len()).map(|end| Exchange::made_up(200, &whole[..end]));
    let objects = (0..USER.len()).map(|end| Exchange::answer(&USER[..end]));
    let halves: Vec<Exchange> = answers.chain(objects).collect();
    let replay = Replay::with(halves.clone()).await;
    for half in halves {
        let error = replay.nebula.user(&cognit()).await.unwrap_err();
        assert!(matches!(error, NebulaError::Broken { .. }), "{error:?} for {half:?}");
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    check_broken(Exchange::answer("<VM><ID>1</ID></VM>"), "another object than a USER").await;
    check_broken(Exchange::answer("<USER><ID>x</ID></USER>"), "without its ID").await;
    check_broken(Exchange::answer("<USER/><USER/>"), "not right").await;
    check_broken(Exchange::made_up(200, "<html><body>Welcome</body></html>"), "no methodResponse").await;
    check_broken(Exchange::made_up(200, "<methodResponse/>"), "no value").await;
    check_broken(Exchange::made_up(500, "<html/>"), "500").await;
    let number = Exchange::named("delete_document");
    check_broken(number, "did not answer with an object").await;
}

#[tokio::test]
async fn json_is_read_within_limits_too() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for body in ["", "{}", "[]", "null", "<html/>", "{\"state\":{}}", deep.as_str()] {
        let xml = "<DOCUMENT><ID>1</ID><UID>2</UID><GID>1</GID><TYPE>100</TYPE><TEMPLATE><BODY><![CDATA[";
        let document = Exchange::answer(&format!("{xml}{body}]]></BODY></TEMPLATE></DOCUMENT>"));
        let replay = Replay::with(vec![document]).await;
        let error = replay.nebula.service(&cognit(), 1).await.unwrap_err();
        assert!(matches!(error, NebulaError::Broken { service: "oneflow", .. }), "{error:?}");
    }
}
