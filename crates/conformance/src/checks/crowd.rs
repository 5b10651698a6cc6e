//! Concurrency: equal and different requests for one id at the same time.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use crate::answer::BrokerResponse;
use crate::call::BrokerCall;
use crate::checker::{Checker, new_id};

const CROWD: usize = 20;

pub(crate) async fn run(checker: &Checker) {
    tokio::join!(alike(checker), differing(checker));
}

async fn alike(checker: &Checker) {
    let id = &new_id();
    let answers = at_once(checker, (0..CROWD).map(|_| checker.put(id))).await;
    let fault = others(&answers, &[200, 201, 202]);
    checker.check("crowd.put.accepted", "1.4", "the same PUT many times at once is accepted", fault);
    let fault = (operations(&answers).len() > 1).then(|| format!("operations {:?}", operations(&answers)));
    checker.check("crowd.put.operation", "1.4", "it begins one operation", fault);
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    let fault = (created > 1).then(|| format!("{created} answers say 201"));
    checker.check("crowd.put.created", "1.4", "it creates at most once", fault);
    let last = checker.settle(checker.last_operation(id)).await;
    checker.check("crowd.put.end", "1.4", "it ends well", last.is(&[200]).with("state", &json!("succeeded")));
    let update = json!({ "service_id": checker.service["id"] });
    let answers = at_once(checker, (0..CROWD).map(|_| checker.patch(id, &update))).await;
    let fault = others(&answers, &[200, 202, 422]);
    checker.check("crowd.update", "1.4", "many updates at once are taken or have to wait", fault);
    checker.settle(checker.last_operation(id)).await;
    let answers = at_once(checker, (0..CROWD).map(|_| checker.delete(id))).await;
    let fault = others(&answers, &[200, 202, 410]);
    checker.check(
        "crowd.deprovision.accepted",
        "1.4",
        "the same DELETE many times at once is accepted",
        fault,
    );
    let fault = (operations(&answers).len() > 1).then(|| format!("operations {:?}", operations(&answers)));
    checker.check("crowd.deprovision.operation", "1.4", "it begins one operation", fault);
    checker.settle(checker.last_operation(id)).await;
    let answer = checker.send(checker.put(id)).await;
    checker.check("crowd.deprovision.end", "1.4", "then the id is not used again", answer.is(&[409]));
}

async fn differing(checker: &Checker) {
    let id = &new_id();
    let bodies = (0..CROWD).map(|_| checker.body_with(&[("/organization_guid", json!(new_id()))]));
    let answers = at_once(checker, bodies.map(|body| checker.put_with(id, &body))).await;
    let won = answers.iter().filter(|answer| answer.has(&[200, 201, 202])).count();
    let fault = (won != 1).then(|| format!("{won} of {CROWD} were accepted"));
    checker.check("crowd.differing.one", "1.4", "of many PUTs that differ one is accepted", fault);
    let losers: Vec<Arc<BrokerResponse>> =
        answers.into_iter().filter(|answer| !answer.has(&[200, 201, 202])).collect();
    let fault =
        others(&losers, &[409]).or_else(|| losers.is_empty().then(|| "no PUT was refused".to_owned()));
    checker.check("crowd.differing.others", "1.4", "all others conflict", fault);
    checker.settle(checker.last_operation(id)).await;
}

async fn at_once(checker: &Checker, calls: impl Iterator<Item = BrokerCall>) -> Vec<Arc<BrokerResponse>> {
    join_all(calls.map(|call| checker.send(call))).await
}

fn operations(answers: &[Arc<BrokerResponse>]) -> BTreeSet<&str> {
    answers.iter().filter_map(|answer| answer.operation()).collect()
}

fn others(answers: &[Arc<BrokerResponse>], expect: &[u16]) -> Option<String> {
    let other = answers.iter().find(|answer| !answer.has(expect))?;
    Some(format!("{} -> {} {}", other.request, other.status, other.text))
}
