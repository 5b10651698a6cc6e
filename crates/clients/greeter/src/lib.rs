//! The greeter: creates greetings and deletes them.

mod http;
mod types;

use async_trait::async_trait;
use http_client::{DriverError, ExternalSystem};
use secrecy::SecretString;

pub use self::http::HttpGreeter;

pub(crate) const SYSTEM: ExternalSystem = ExternalSystem("greeter");

/// A greeting as it stands at the external system.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub text: String,
    /// What the greeted one needs to prove the greeting. A secret: it never goes into a log or a saved type.
    pub token: SecretString,
}

#[async_trait]
pub trait Greeter: Send + Sync {
    /// Makes the greeting of this token, or answers the one that stands already.
    ///
    /// May be called any number of times with the same token and name: the external system has one greeting
    /// afterwards. After an error other than `Refused` the greeting may stand or not. The same token with
    /// another name is refused.
    async fn greet(&self, token: &str, name: &str) -> Result<Greeting, DriverError>;

    /// The greeting of this token, if one stands. Changes nothing.
    async fn find(&self, token: &str) -> Result<Option<Greeting>, DriverError>;

    /// Takes the greeting of this token back.
    ///
    /// May be called any number of times, also when there never was a greeting: finding nothing is success.
    async fn forget(&self, token: &str) -> Result<(), DriverError>;
}
