//! Ids that are no UUIDs: all characters are legal, within limits.

use futures_util::future::join_all;

use crate::call::{BrokerCall, segment};
use crate::checker::{Checker, new_id};

const ID_BYTES_MAX: usize = 255;

pub(crate) async fn run(checker: &Checker) {
    let lives = [
        ("spaces", format!("an id {}", new_id())),
        ("unicode", format!("ïd-名-🦀-{}", new_id())),
        ("percent", format!("100%25%zz-{}", new_id())),
        ("reserved", format!("a?b#c&d=e+f:g@h;i,{}", new_id())),
    ];
    join_all(lives.iter().map(|(kind, id)| life(checker, kind, id))).await;
    let longest = format!("{}{}", new_id(), "x".repeat(ID_BYTES_MAX - 36));
    let answer = checker.send(checker.last_operation(&longest)).await;
    checker.check("id.longest", "1.1", "an id of 255 bytes is an id", answer.is(&[404]));
    for (kind, id) in [("too-long", format!("{longest}x")), ("nul", format!("a\0{}", new_id()))] {
        for (endpoint, call) in
            [("provision", checker.put(&id)), ("last_operation", checker.last_operation(&id))]
        {
            let answer = checker.send(call).await;
            let title = format!("{endpoint}: an id that is none is refused: {kind}");
            checker.check(
                format!("id.{kind}.{endpoint}"),
                "1.1",
                title,
                answer.is(&[400]).with_description(),
            );
        }
    }
    let slash = format!("/v2/service_instances/{}/last_operation", segment("a/b"));
    let answer = checker.send(BrokerCall::get(slash)).await;
    checker.check("id.slash", "1.1", "a slash in an id is refused", answer.is(&[400, 404]));
}

async fn life(checker: &Checker, kind: &str, id: &str) {
    let check = |part: &str, title: &str, verdict: crate::answer::Verdict<'_>| {
        checker.check(format!("id.{kind}.{part}"), "1.1", format!("an id with {kind}: {title}"), verdict);
    };
    let begin = checker.send(checker.put(id)).await;
    check("put", "is accepted", begin.is(&[201, 202]));
    let last = checker.settle(checker.last_operation(id)).await;
    check("ready", "becomes ready", last.is(&[200]).with("state", &"succeeded".into()));
    let again = checker.send(checker.put(id)).await;
    check("same", "is found again", again.is(&[200]));
    let delete = checker.send(checker.delete(id)).await;
    check("delete", "is deleted", delete.is(&[200, 202]));
    if delete.status == 202 {
        checker.settle(checker.last_operation(id)).await;
    }
    let gone = checker.send(checker.delete(id)).await;
    check("gone", "is gone", gone.is(&[410]));
}
