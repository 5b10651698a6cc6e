//! The greeter of a server that was configured with none.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::greeter::{Greeter, Greeting};
use ::http_client::DriverError;
use async_trait::async_trait;

/// Refuses everything and says how to change that.
///
/// It remembers whom it refused: nothing was made for them, so there is nothing to take back. What an earlier
/// run with a real greeter made is another matter, and taking that back is refused, too.
#[derive(Debug, Default)]
pub(crate) struct NoGreeter {
    refused: Mutex<BTreeSet<String>>,
}

impl NoGreeter {
    fn refused(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn error_response() -> DriverError {
    let message = "no greeter configured: set drivers.greeter.url, or serve with --sandbox or --sandbox-url";
    DriverError::Refused { system: "greeter", message: message.to_owned() }
}

#[async_trait]
impl Greeter for NoGreeter {
    async fn greet(&self, token: &str, _name: &str) -> Result<Greeting, DriverError> {
        self.refused().insert(token.to_owned());
        Err(error_response())
    }

    async fn find(&self, token: &str) -> Result<Option<Greeting>, DriverError> {
        if self.refused().contains(token) { Ok(None) } else { Err(error_response()) }
    }

    async fn forget(&self, token: &str) -> Result<(), DriverError> {
        if self.refused().remove(token) { Ok(()) } else { Err(error_response()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_was_refused_here_can_be_forgotten() {
        let no_greeter = NoGreeter::default();
        let refused = no_greeter.greet("t1", "Ada").await.unwrap_err().to_string();
        assert!(refused.contains("--sandbox"), "{refused}");
        assert!(no_greeter.find("t1").await.unwrap().is_none());
        no_greeter.forget("t1").await.unwrap();
        no_greeter.forget("t2").await.unwrap_err();
    }
}
