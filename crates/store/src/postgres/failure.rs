//! What an error of the database means for those who wait for an answer.

use std::error::Error as _;

use engine::store::StoreError;
use tokio_postgres::Error;

/// Why a transaction did not happen.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something in it is not acceptable. Without that, the rest may be; `Fenced` when a number was given
    /// before.
    Data(StoreError),
    /// Others were in the way. Nothing was written, and the same may work in a moment.
    Clash(String),
    /// Somebody holds a row or a lock for longer than one waits. Nothing was written.
    Locked(String),
    /// It is not about the data. Whether it happened is unknown.
    Down(StoreError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let Some(database) = error.as_db_error() else {
            // What cannot be put into a message is the data's fault; everything else is the connection's.
            let text = with_sources(&error);
            let is_transport =
                error.is_closed() || error.source().is_none_or(<dyn std::error::Error>::is::<std::io::Error>);
            return if is_transport {
                Failure::Down(StoreError::Unavailable(text))
            } else {
                Failure::Data(StoreError::Refused(text))
            };
        };
        let text = database.message().to_owned();
        let code = database.code().code();
        match (&code[..2], code) {
            (_, "23505") if is_fence(database.constraint()) => Failure::Data(StoreError::Fenced),
            (_, "40001" | "40P01") => Failure::Clash(text),
            (_, "55P03") => Failure::Locked(text),
            // Wrong values, broken constraints, and what is too long for an index.
            ("22" | "23" | "54", _) => Failure::Data(StoreError::Refused(text)),
            (_, "53100") => Failure::Down(StoreError::Full(text)),
            // A wrong password, or a database that is not there.
            ("28" | "3D", _) => Failure::Down(StoreError::Refused(text)),
            _ => Failure::Down(StoreError::Unavailable(text)),
        }
    }
}

/// A number of an operation, or an operation, exists already.
fn is_fence(constraint: Option<&str>) -> bool {
    matches!(constraint, Some("journal_pkey" | "operations_pkey"))
}

fn with_sources(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> StoreError {
        match failure {
            Failure::Data(error) | Failure::Down(error) => error,
            Failure::Clash(text) | Failure::Locked(text) => StoreError::Unavailable(text),
        }
    }
}

impl From<StoreError> for Failure {
    /// What we find ourselves to be wrong is wrong with the data.
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Refused(_) | StoreError::Fenced => Failure::Data(error),
            StoreError::Unavailable(_) | StoreError::Full(_) => Failure::Down(error),
        }
    }
}

pub(super) fn fault(error: Error) -> StoreError {
    Failure::from(error).into()
}
