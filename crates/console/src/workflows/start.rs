//! `POST /console/workflows/{name}/start`: an operation by hand.

use api::types::{Operation, Submit};
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::show::{Form, again};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

pub(super) async fn start(visitor: Visitor, Path(name): Path<String>, fields: Fields) -> Response {
    let mut form = Form {
        tenant: fields.text("tenant").to_owned(),
        resource: fields.text("resource").to_owned(),
        params: fields.text("params").to_owned(),
        queue: fields.text("queue") == "yes",
        error: None,
    };
    let error = match params(&form.params) {
        Ok(params) => match submit(&visitor, &name, &form, params).await {
            Ok(operation) => {
                let place = format!("/console/operations/{}", operation.id);
                return Flash::good("Started. This page updates live.").while_running().at(&place);
            }
            // Who may not start anything has no form that could say it.
            Err(trouble) if trouble.status == StatusCode::FORBIDDEN => return trouble.page(&visitor),
            Err(trouble) => (blamed(&trouble), trouble.line()),
        },
        Err(error) => ("params", error),
    };
    form.error = Some(error);
    again(&visitor, &name, form).await
}

/// An object, because every workflow takes one.
fn params(text: &str) -> Result<Value, String> {
    match serde_json::from_str(if text.is_empty() { "{}" } else { text }) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("This is JSON, but not an object. Write something like {\"name\": \"Ada\"}.".to_owned()),
        Err(error) => {
            let place = format!("line {}, column {}", error.line(), error.column());
            Err(format!("This is not JSON: it breaks at {place}. Names and texts stand in double quotes."))
        }
    }
}

async fn submit(visitor: &Visitor, name: &str, form: &Form, params: Value) -> Result<Operation, Trouble> {
    let body = Submit {
        workflow: name.to_owned(),
        resource: Some(form.resource.clone()).filter(|resource| !resource.is_empty()),
        tenant: if form.tenant.is_empty() { Submit::default_tenant() } else { form.tenant.clone() },
        params,
        queue: form.queue,
    };
    visitor.api.post("/operations", &body).await?.json()
}

/// The field that a refusal is about. What the API says about a command begins with the name of what is wrong.
fn blamed(trouble: &Trouble) -> &'static str {
    let flaw = trouble.flaws.first().map(|flaw| flaw.field.as_str()).unwrap_or_default();
    let first = trouble.detail.split([' ', ':']).next().unwrap_or_default();
    let is_busy = trouble.status == StatusCode::CONFLICT;
    match (flaw, first) {
        _ if is_busy => "resource",
        ("tenant", _) | (_, "tenant") => "tenant",
        ("resource", _) | (_, "resource") => "resource",
        _ => "params",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_an_object_and_the_place_of_an_error_is_told() {
        assert_eq!(params(""), Ok(serde_json::json!({})));
        assert!(params("[]").unwrap_err().contains("not an object"));
        assert!(params("{\n\"a\": x}").unwrap_err().contains("line 2, column 6"));
    }

    #[test]
    fn a_refusal_stands_at_its_field() {
        let trouble = |status, text: &str| Trouble::new(status, "No", text);
        assert_eq!(blamed(&trouble(StatusCode::CONFLICT, "operation x is working")), "resource");
        assert_eq!(blamed(&trouble(StatusCode::UNPROCESSABLE_ENTITY, "tenant: too long")), "tenant");
        assert_eq!(blamed(&trouble(StatusCode::UNPROCESSABLE_ENTITY, "name must have")), "params");
    }
}
