//! Wire types of the greeter.

use serde::{Deserialize, Serialize};

use super::Greeting;

#[derive(Debug, Serialize)]
pub(super) struct GreetBody<'a> {
    pub(super) name: &'a str,
}

/// No `Debug`, because the token is a secret.
#[derive(Deserialize)]
pub(super) struct GreetingBody {
    text: String,
    token: String,
}

impl From<GreetingBody> for Greeting {
    fn from(body: GreetingBody) -> Self {
        Greeting { text: body.text, token: body.token.into() }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ErrorBody {
    pub(super) error: String,
}
