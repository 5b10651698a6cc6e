//! `POST /console/workflows/{name}/start`: an operation by hand.

use api::types::{Operation, Submit};
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::show::{StartForm, again, params_form};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::signed_in::SignedIn;

pub(super) async fn start(signed_in: SignedIn, Path(name): Path<String>, fields: Fields) -> Response {
    let mut form = StartForm {
        fields: params_form(&signed_in, &name),
        tenant: fields.text("tenant").to_owned(),
        resource: fields.text("resource").to_owned(),
        params: fields.text("params").to_owned(),
        queue: fields.text("queue") == "yes",
        error: None,
    };
    let params = match &mut form.fields {
        Some(typed) => {
            let params = Value::Object(typed.take(&fields));
            if typed.is_good() { Ok(params) } else { Err(AT_THE_FIELDS.to_owned()) }
        }
        None => params(&form.params),
    };
    let error = match params {
        Ok(params) => match submit(&signed_in, &name, &form, params).await {
            Ok(operation) => {
                let page = format!("/console/operations/{}", operation.id);
                return Flash::good("Started. This page updates live.").while_running().at(&page);
            }
            // Who may not start anything has no form that could say it.
            Err(page_error) if page_error.status == StatusCode::FORBIDDEN => {
                return page_error.page(&signed_in);
            }
            Err(page_error) => refused(&mut form, &page_error),
        },
        Err(error) => ("params", error),
    };
    form.error = Some(error);
    again(&signed_in, &name, form).await
}

const AT_THE_FIELDS: &str = "Please fix the highlighted fields. Nothing was started.";

/// Puts an error of the API where it belongs: at a field of the params, or at the part of the form that it is about.
fn refused(form: &mut StartForm, page_error: &PageError) -> (&'static str, String) {
    let part = blamed(page_error);
    match &mut form.fields {
        Some(typed) if part == "params" => match typed.blame_params(&page_error.detail) {
            Some(_) if typed.is_good() => (part, page_error.line()),
            Some(left) => (part, format!("{AT_THE_FIELDS} {left}")),
            None => (part, AT_THE_FIELDS.to_owned()),
        },
        _ => (part, page_error.line()),
    }
}

/// An object, because every workflow takes one.
fn params(text: &str) -> Result<Value, String> {
    match serde_json::from_str(if text.is_empty() { "{}" } else { text }) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("This is JSON, but not an object. Write something like {\"name\": \"Ada\"}.".to_owned()),
        Err(error) => {
            let location = format!("line {}, column {}", error.line(), error.column());
            Err(format!(
                "This is not JSON: the error is at {location}. Put names and texts in double quotes."
            ))
        }
    }
}

async fn submit(
    signed_in: &SignedIn,
    name: &str,
    form: &StartForm,
    params: Value,
) -> Result<Operation, PageError> {
    let body = Submit {
        workflow: name.to_owned(),
        resource: Some(form.resource.clone()).filter(|resource| !resource.is_empty()),
        tenant: if form.tenant.is_empty() { Submit::default_tenant() } else { form.tenant.clone() },
        name: None,
        params,
        queue: form.queue,
    };
    signed_in.api.post("/operations", &body).await?.json()
}

/// The field that a refusal is about. What the API says about a command begins with the name of what is wrong.
fn blamed(page_error: &PageError) -> &'static str {
    let field_error =
        page_error.field_errors.first().map(|field_error| field_error.field.as_str()).unwrap_or_default();
    let first = page_error.detail.split([' ', ':']).next().unwrap_or_default();
    let is_busy = page_error.status == StatusCode::CONFLICT;
    match (field_error, first) {
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
    fn an_error_stands_at_its_field() {
        let page_error = |status, text: &str| PageError::new(status, "No", text);
        assert_eq!(blamed(&page_error(StatusCode::CONFLICT, "operation x is working")), "resource");
        assert_eq!(blamed(&page_error(StatusCode::UNPROCESSABLE_ENTITY, "tenant: too long")), "tenant");
        assert_eq!(blamed(&page_error(StatusCode::UNPROCESSABLE_ENTITY, "name must have")), "params");
    }
}
