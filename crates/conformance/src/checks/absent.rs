//! The first row of the table of states: an instance that never was.

use serde_json::json;

use crate::checker::{Checker, new_id};

pub(crate) async fn run(checker: &Checker) {
    let check = |id: &str, title: &str, answer: &crate::answer::BrokerResponse, expect: &[u16]| {
        checker.check(format!("absent.{id}"), "1.4", title, answer.is(expect).with_description());
    };
    let (id, bid) = (&new_id(), &new_id());
    let update = json!({ "service_id": checker.service["id"] });
    let answer = checker.send(checker.patch(id, &update)).await;
    check("update", "an instance that is not there cannot be updated", &answer, &[404]);
    let answer = checker.send(checker.last_operation(id)).await;
    check("last_operation", "an instance that is not there has no last operation", &answer, &[404]);
    let answer = checker.send(checker.last_operation_with_query(id).query("operation", "conformance")).await;
    check("last_operation.named", "not even one with a name", &answer, &[404]);
    let answer = checker.send(checker.fetch(id)).await;
    check("fetch", "an instance that is not there cannot be fetched", &answer, &[404]);
    let answer = checker.send(checker.fetch_binding(id, bid)).await;
    check("fetch_binding", "a binding that is not there cannot be fetched", &answer, &[404]);
    let answer = checker.send(checker.last_operation_of_binding(id, bid)).await;
    check("binding_last_operation", "a binding that is not there has no last operation", &answer, &[404]);
    let answer = checker.send(checker.unbind(id, bid)).await;
    check("unbind", "a binding that is not there is gone", &answer, &[410]);
    let answer = checker.send(checker.bind(id, &new_id())).await;
    if checker.is_bindable() {
        check("bind", "an instance that is not there cannot be bound", &answer, &[404]);
    } else {
        check("bind", "a plan that is not bindable cannot be bound", &answer, &[400, 404, 422]);
    }
    deletion(checker).await;
}

/// A deletion that finds nothing leaves nothing, so that no client can use up ids of others.
async fn deletion(checker: &Checker) {
    let id = &new_id();
    let answer = checker.send(checker.delete(id).impatient()).await;
    checker.check(
        "order.async-before-gone",
        "1.5",
        "AsyncRequired comes before 410",
        answer.is_error("AsyncRequired"),
    );
    let answer = checker.send(checker.delete(id)).await;
    checker.check(
        "absent.deprovision",
        "1.4",
        "an instance that is not there is gone",
        answer.is(&[410]).with_description(),
    );
    let answer = checker.send(checker.delete(id)).await;
    checker.check("absent.deprovision.again", "1.4", "it stays gone", answer.is(&[410]));
    let answer = checker.send(checker.put(id)).await;
    checker.check("absent.reuse", "1.6", "the deletion did not use up the id", answer.is(&[200, 201, 202]));
}
