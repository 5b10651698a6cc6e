//! `GET /authorize` shows the people, and `POST /authorize` sends one of them back with a code.

use std::collections::HashMap;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::people::Person;
use super::request::{Asked, Wrong};
use super::{Provider, page};

type Fields = Result<Query<HashMap<String, String>>, QueryRejection>;

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    person: String,
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
    let Some(person) = choice.ok().and_then(|Form(choice)| Person::find(&choice.person)) else {
        return page::refusal("nobody of that name is known here");
    };
    let Some(code) = provider.codes.give(person, asked.clone(), provider.clock.now()) else {
        return Redirect::to(&asked.back_with(&[("error", "temporarily_unavailable")])).into_response();
    };
    Redirect::to(&asked.back_with(&[("code", &code)])).into_response()
}

fn read(fields: Fields) -> Result<Asked, Wrong> {
    let Query(fields) = fields.map_err(|_| Wrong::Here("the address cannot be read"))?;
    Asked::read(&fields)
}

fn told(wrong: Wrong) -> Response {
    match wrong {
        Wrong::Here(why) => page::refusal(why),
        Wrong::Back(location) => Redirect::to(&location).into_response(),
    }
}
