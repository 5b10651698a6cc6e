//! Who may come in, with a password or with a token.

use super::caller::{COGNIT, EMPTY, Int, ONEADMIN, OTHER, OnedClient, Text};

impl OnedClient {
    async fn log_in(&self, session: &str, user: &str, seconds: i32) -> Result<String, (String, i64)> {
        let args = [Text(user), Text(""), Int(seconds), Int(-1)];
        self.call(session, "one.user.login", &args).await
    }

    async fn comes_in(&self, session: &str) -> bool {
        self.call(session, "one.user.info", &[Int(-1)]).await.is_ok()
    }
}

#[tokio::test]
async fn a_token_opens_until_it_expires_or_is_taken_back() {
    let caller = OnedClient::new().await;
    let token = caller.log_in(COGNIT, "cognit", 600).await.unwrap();
    assert!(token.len() == 64 && token.chars().all(|c| c.is_ascii_hexdigit()), "{token}");
    let session = format!("cognit:{token}");
    assert!(caller.comes_in(&session).await);
    let user = caller.call(COGNIT, "one.user.info", &[Int(-1)]).await.unwrap();
    let shown: Vec<&str> = user.split("<LOGIN_TOKEN><TOKEN>").skip(1).collect();
    assert!(shown.len() == 1 && shown[0].starts_with(&token), "{user}");
    assert!(!caller.comes_in(&format!("other:{token}")).await);
    caller.advance(600_000).await;
    assert!(!caller.comes_in(&session).await);
    let token = caller.log_in(COGNIT, "cognit", -1).await.unwrap();
    let session = format!("cognit:{token}");
    caller.advance(1_000_000_000).await;
    assert!(caller.comes_in(&session).await);
    let forget = [Text("cognit"), Text(&token), Int(0)];
    caller.call(COGNIT, "one.user.login", &forget).await.unwrap();
    assert!(!caller.comes_in(&session).await);
    let again = caller.call(COGNIT, "one.user.login", &forget).await.unwrap_err();
    assert_eq!(again, (format!("[one.user.login] Could not find token: {token}"), 4096));
}

#[tokio::test]
async fn an_eleventh_token_is_refused() {
    let caller = OnedClient::new().await;
    for _ in 0..10 {
        caller.log_in(COGNIT, "cognit", 600).await.unwrap();
    }
    let refused = caller.log_in(COGNIT, "cognit", 600).await.unwrap_err();
    assert_eq!(refused, ("[one.user.login] Max number of tokens limit reached.".into(), 4096));
    caller.advance(600_000).await;
    caller.log_in(COGNIT, "cognit", 600).await.unwrap();
    assert_eq!(caller.log_in(COGNIT, "cognit", -2).await.unwrap_err().1, 4096);
}

#[tokio::test]
async fn users_know_themselves_and_administrators_everyone() {
    let caller = OnedClient::new().await;
    for (session, head) in [
        (ONEADMIN, "<USER><ID>0</ID><GID>0</GID><GROUPS><ID>0</ID></GROUPS><GNAME>oneadmin</GNAME>"),
        (COGNIT, "<USER><ID>2</ID><GID>1</GID><GROUPS><ID>1</ID></GROUPS><GNAME>users</GNAME>"),
        (OTHER, "<USER><ID>3</ID><GID>1</GID><GROUPS><ID>1</ID></GROUPS><GNAME>users</GNAME>"),
        (EMPTY, "<USER><ID>4</ID><GID>100</GID><GROUPS><ID>100</ID></GROUPS><GNAME>empty</GNAME>"),
    ] {
        let user = caller.call(session, "one.user.info", &[Int(-1)]).await.unwrap();
        assert!(user.starts_with(head), "{user}");
        for (begin, end) in
            [("<PASSWORD><![CDATA[", "]]></PASSWORD>"), ("<TOKEN_PASSWORD><![CDATA[", "]]></TOKEN_")]
        {
            let (_, rest) = user.split_once(begin).unwrap();
            assert_eq!(rest.find(end), Some(64), "{user}");
        }
    }
    caller.call(ONEADMIN, "one.user.info", &[Int(3)]).await.unwrap();
    assert_eq!(caller.call(COGNIT, "one.user.info", &[Int(3)]).await.unwrap_err().1, 512);
    assert_eq!(caller.call(ONEADMIN, "one.user.info", &[Int(99)]).await.unwrap_err().1, 1024);
    assert_eq!(caller.log_in(COGNIT, "other", 600).await.unwrap_err().1, 512);
    for outsider in ["joe:mama", "cognit:", ":", "cognit", ""] {
        let (why, errno) = caller.call(outsider, "one.user.info", &[Int(-1)]).await.unwrap_err();
        assert_eq!(why, "[one.user.info] User couldn't be authenticated, aborting call.");
        assert_eq!(errno, 256);
    }
}
