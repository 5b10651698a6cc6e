//! `GET /authorize` shows the people, and `POST /authorize` sends one of them back with a code.

use std::collections::HashMap;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::people::TestUser;
use super::request::{AuthorizationError, AuthorizationRequest};
use super::{Provider, page};

type Fields = Result<Query<HashMap<String, String>>, QueryRejection>;

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(rename = "person")]
    test_user: String,
}

pub(super) async fn show(fields: Fields, RawQuery(query): RawQuery) -> Response {
    match read(fields) {
        Ok(asked) => page::sign_in(asked.client_id, &query.unwrap_or_default()),
        Err(wrong) => told(wrong),
    }
}

pub(super) async fn choose(
    State(provider): Provider,
    fields: Fields,
    choice: Result<Form<Choice>, FormRejection>,
) -> Response {
    let asked = match read(fields) {
        Ok(asked) => asked,
        Err(wrong) => return told(wrong),
    };
    let Some(test_user) = choice.ok().and_then(|Form(choice)| TestUser::find(&choice.test_user)) else {
        return page::call_error("no user of that name is known here");
    };
    let Some(code) = provider.codes.give(test_user, asked.clone(), provider.clock.now()) else {
        return Redirect::to(&asked.back_with(&[("error", "temporarily_unavailable")])).into_response();
    };
    Redirect::to(&asked.back_with(&[("code", &code)])).into_response()
}

fn read(fields: Fields) -> Result<AuthorizationRequest, AuthorizationError> {
    let Query(fields) = fields.map_err(|_| AuthorizationError::Here("the address cannot be read"))?;
    AuthorizationRequest::read(&fields)
}

fn told(wrong: AuthorizationError) -> Response {
    match wrong {
        AuthorizationError::Here(why) => page::call_error(why),
        AuthorizationError::Back(location) => Redirect::to(&location).into_response(),
    }
}
