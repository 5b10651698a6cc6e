//! The first row of the table of states: an instance that never was.

use serde_json::json;

use crate::exam::{Exam, new_id};

pub(crate) async fn run(exam: &Exam) {
    let check = |id: &str, title: &str, answer: &crate::answer::Answer, expect: &[u16]| {
        exam.check(format!("absent.{id}"), "1.4", title, answer.is(expect).with_description());
    };
    let (id, bid) = (&new_id(), &new_id());
    let update = json!({ "service_id": exam.service["id"] });
    let answer = exam.send(exam.patch(id, &update)).await;
    check("update", "an instance that is not there cannot be updated", &answer, &[404]);
    let answer = exam.send(exam.last_operation(id)).await;
    check("last_operation", "an instance that is not there has no last operation", &answer, &[404]);
    let answer = exam.send(exam.last_operation_with_hints(id).query("operation", "conformance")).await;
    check("last_operation.named", "not even one with a name", &answer, &[404]);
    let answer = exam.send(exam.fetch(id)).await;
    check("fetch", "an instance that is not there cannot be fetched", &answer, &[404]);
    let answer = exam.send(exam.fetch_binding(id, bid)).await;
    check("fetch_binding", "a binding that is not there cannot be fetched", &answer, &[404]);
    let answer = exam.send(exam.last_operation_of_binding(id, bid)).await;
    check("binding_last_operation", "a binding that is not there has no last operation", &answer, &[404]);
    let answer = exam.send(exam.unbind(id, bid)).await;
    check("unbind", "a binding that is not there is gone", &answer, &[410]);
    let answer = exam.send(exam.bind(id, &new_id())).await;
    if exam.is_bindable() {
        check("bind", "an instance that is not there cannot be bound", &answer, &[404]);
    } else {
        check("bind", "a plan that is not bindable cannot be bound", &answer, &[400, 404, 422]);
    }
    deletion(exam).await;
}

/// A deletion that finds nothing leaves nothing, so that no client can use up ids of others.
async fn deletion(exam: &Exam) {
    let id = &new_id();
    let answer = exam.send(exam.delete(id).impatient()).await;
    exam.check(
        "order.async-before-gone",
        "1.5",
        "AsyncRequired comes before 410",
        answer.is_error("AsyncRequired"),
    );
    let answer = exam.send(exam.delete(id)).await;
    exam.check(
        "absent.deprovision",
        "1.4",
        "an instance that is not there is gone",
        answer.is(&[410]).with_description(),
    );
    let answer = exam.send(exam.delete(id)).await;
    exam.check("absent.deprovision.again", "1.4", "it stays gone", answer.is(&[410]));
    let answer = exam.send(exam.put(id)).await;
    exam.check("absent.reuse", "1.6", "the deletion did not use up the id", answer.is(&[200, 201, 202]));
}
