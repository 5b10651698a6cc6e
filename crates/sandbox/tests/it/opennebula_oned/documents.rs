//! Documents: what is kept of them, who may do what, and which names are refused.

use super::caller::{COGNIT, Int, ONEADMIN, OTHER, OnedClient, Text};
use super::outline::values;

impl OnedClient {
    /// The texts in the template of a document.
    async fn template(&self, id: i32) -> Vec<(String, String)> {
        let xml = self.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
        let inside = |(path, text): (String, String)| {
            path.strip_prefix("DOCUMENT/TEMPLATE/").map(|name| (name.to_owned(), text))
        };
        values(&xml).into_iter().filter_map(inside).collect()
    }

    async fn update(&self, id: i32, template: &str, append: i32) -> Result<String, (String, i64)> {
        self.call(COGNIT, "one.document.update", &[Int(id), Text(template), Int(append)]).await
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn an_update_replaces_or_adds() {
    let caller = OnedClient::new().await;
    let id = caller.allocate(COGNIT, "NAME=a\nBODY=\"{\\\"x\\\": 1}\"\nTOKEN=t", 1337).await.unwrap();
    assert_eq!(caller.template(id).await, pairs(&[("BODY", "{\"x\": 1}"), ("TOKEN", "t")]));
    caller.update(id, "<T><DELETING>YES</DELETING><TOKEN>u</TOKEN></T>", 1).await.unwrap();
    let all = pairs(&[("BODY", "{\"x\": 1}"), ("DELETING", "YES"), ("TOKEN", "u")]);
    assert_eq!(caller.template(id).await, all);
    caller.update(id, "<T><BODY>{}</BODY></T>", 0).await.unwrap();
    assert_eq!(caller.template(id).await, pairs(&[("BODY", "{}")]));
    let (why, errno) = caller.update(id, "BODY=\"a\" b", 0).await.unwrap_err();
    let words = "[one.document.update] Cannot update template. Parse error: syntax error, unexpected $end";
    assert!(why.starts_with(words), "{why}");
    assert_eq!(errno, 8192);
    let refused = caller.update(id, "BODY=2", 2).await.unwrap_err();
    assert_eq!(refused, ("[one.document.update] Wrong update type".into(), 4096));
    assert_eq!(caller.template(id).await, pairs(&[("BODY", "{}")]));
}

/// oned writes values and names without escaping them.
#[tokio::test]
async fn what_leaves_its_place_is_refused_or_becomes_something_else() {
    let caller = OnedClient::new().await;
    let refused = Err(("[one.document.allocate] Error transforming the Document to XML.".to_owned(), 8192));
    for template in [
        "<T><BODY>a]]&gt;b&amp;c</BODY></T>",
        "<T><NAME>a &lt; b</NAME></T>",
        "<T><NAME>a &amp; b</NAME></T>",
        "<T><NAME>a&lt;b&gt;&amp;c</NAME></T>",
    ] {
        assert_eq!(caller.allocate(COGNIT, template, 1337).await, refused, "{template}");
    }
    let escaped =
        "<T><BODY>x]]&gt;&lt;/BODY&gt;&lt;EVIL&gt;1&lt;/EVIL&gt;&lt;BODY&gt;&lt;![CDATA[</BODY></T>";
    let id = caller.allocate(COGNIT, escaped, 1337).await.unwrap();
    assert_eq!(caller.template(id).await, pairs(&[("BODY", "x"), ("EVIL", "1"), ("BODY", "")]));
    // A section that is divided is not there at all.
    let divided = "<T><BODY><![CDATA[a]]]]><![CDATA[>b]]></BODY></T>";
    let id = caller.allocate(COGNIT, divided, 1337).await.unwrap();
    assert_eq!(caller.template(id).await, pairs(&[("", "")]).split_off(1));
}

#[tokio::test]
async fn names_are_free_at_first_and_strict_later() {
    let caller = OnedClient::new().await;
    let named = |name: &str| format!("<T><NAME>{name}</NAME><BODY>1</BODY></T>");
    let id = caller.allocate(COGNIT, &named("a:b/c"), 1337).await.unwrap();
    let long = "x".repeat(129);
    let (why, errno) = caller.allocate(COGNIT, &named(&long), 1337).await.unwrap_err();
    assert_eq!((errno, why.ends_with("NAME is too long; max length is 128 chars.")), (8192, true), "{why}");
    for name in
        ["a:b", "a&b", "a|b", "a\\b", "a\"b", "a;b", "a/b", "a'b", "a#b", "a{b", "a$b", "a<b", &long, ""]
    {
        let refused = caller.call(COGNIT, "one.document.rename", &[Int(id), Text(name)]).await.unwrap_err();
        assert!(refused.0.starts_with("[one.document.rename] Invalid NAME, "), "{refused:?}");
        assert_eq!(refused.1, 2048);
    }
    caller.call(COGNIT, "one.document.rename", &[Int(id), Text("b c")]).await.unwrap();
    let info = caller.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
    assert!(info.contains("<NAME>b c</NAME>"), "{info}");
}

#[tokio::test]
async fn a_document_is_its_owners_unless_that_one_shares_it() {
    let caller = OnedClient::new().await;
    let id = caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap();
    let denied = |method: &str, right: &str| {
        (format!("[{method}] User [3] : Not authorized to perform {right} DOCUMENT [{id}]."), 512)
    };
    let read = caller.call(OTHER, "one.document.info", &[Int(id)]).await;
    assert_eq!(read.unwrap_err(), denied("one.document.info", "USE"));
    let share = [Int(id), Int(-1), Int(-1), Int(-1), Int(1), Int(0), Int(0), Int(-1), Int(-1), Int(-1)];
    caller.call(COGNIT, "one.document.chmod", &share).await.unwrap();
    caller.call(OTHER, "one.document.info", &[Int(id)]).await.unwrap();
    let delete = caller.call(OTHER, "one.document.delete", &[Int(id)]).await;
    assert_eq!(delete.unwrap_err(), denied("one.document.delete", "MANAGE"));
    assert_eq!(caller.standing("oned/document").await, 1);
    caller.call(ONEADMIN, "one.document.delete", &[Int(id)]).await.unwrap();
    assert_eq!(caller.standing("oned/document").await, 0);
}

#[tokio::test]
async fn a_lock_stops_everyone_but_administrators() {
    let caller = OnedClient::new().await;
    let id = caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap();
    caller.call(COGNIT, "one.document.lock", &[Int(id), Int(4)]).await.unwrap();
    let xml = caller.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
    let lock: Vec<_> = values(&xml).into_iter().filter(|(path, _)| path.contains("/LOCK/")).collect();
    assert_eq!((lock[0].1.as_str(), lock[1].1.as_str()), ("1", "2"));
    let request: i32 = lock[3].1.parse().unwrap();
    assert!(request > 0, "{lock:?}");
    let denied = |method| {
        let why = format!("[{method}] User [2] : Not authorized to perform MANAGE DOCUMENT [{id}].");
        Err((why, 512))
    };
    assert_eq!(caller.update(id, "BODY=2", 0).await, denied("one.document.update"));
    let renamed = caller.call(COGNIT, "one.document.rename", &[Int(id), Text("b")]).await;
    assert_eq!(renamed, denied("one.document.rename"));
    assert_eq!(caller.call(COGNIT, "one.document.delete", &[Int(id)]).await, denied("one.document.delete"));
    caller.call(ONEADMIN, "one.document.rename", &[Int(id), Text("c")]).await.unwrap();
    caller.call(COGNIT, "one.document.unlock", &[Int(id)]).await.unwrap();
    caller.update(id, "BODY=2", 0).await.unwrap();
    caller.call(COGNIT, "one.document.lock", &[Int(id), Int(3)]).await.unwrap();
    caller.update(id, "BODY=3", 0).await.unwrap();
}

#[tokio::test]
async fn names_are_as_long_and_as_bare_as_the_release_has_them() {
    let caller = OnedClient::new().await;
    let long = format!("<T><NAME>{}</NAME></T>", "n".repeat(129));
    let refused = caller.allocate(COGNIT, &long, 1337).await.unwrap_err();
    assert_eq!(refused, ("[one.document.allocate] NAME is too long; max length is 128 chars.".into(), 8192));
    let spaced = "<T><NAME>  spaced  </NAME><BODY>  body  </BODY></T>";
    for (release, name, body) in [("6.8", "  spaced", "  body  "), ("7.4", "spaced", "body")] {
        caller.release(release).await;
        let id = caller.allocate(COGNIT, spaced, 1337).await.unwrap();
        let xml = caller.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
        assert!(xml.contains(&format!("<NAME>{name}</NAME>")), "{xml}");
        assert_eq!(caller.template(id).await, pairs(&[("BODY", body)]));
        caller.call(COGNIT, "one.document.rename", &[Int(id), Text("x  ")]).await.unwrap();
        let xml = caller.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
        assert!(xml.contains("<NAME>x  </NAME>"), "{xml}");
    }
}

#[tokio::test]
async fn an_element_with_two_levels_below_it_is_dropped() {
    let caller = OnedClient::new().await;
    let deep = "<T><A><B><C>1</C></B></A><V><K>1</K></V></T>";
    let id = caller.allocate(COGNIT, deep, 1337).await.unwrap();
    let xml = caller.call(COGNIT, "one.document.info", &[Int(id)]).await.unwrap();
    assert!(xml.contains("<TEMPLATE><V><K><![CDATA[1]]></K></V></TEMPLATE>"), "{xml}");
}

#[tokio::test]
async fn a_pool_of_no_one_is_refused() {
    let caller = OnedClient::new().await;
    let args = [Int(-9), Int(-1), Int(-1), Int(1337)];
    let refused = caller.call(COGNIT, "one.documentpool.info", &args).await.unwrap_err();
    assert_eq!(refused, ("[one.documentpool.info] Incorrect filter_flag".into(), 4096));
}
