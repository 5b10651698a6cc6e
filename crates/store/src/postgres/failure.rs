//! What an error of the database means for those who wait for an answer.

use std::error::Error as _;

use engine::store::StoreError;
use tokio_postgres::Error;

/// Why a transaction did not happen.
#[derive(Debug)]
pub(super) enum TransactionFailure {
    /// Something in it is not acceptable. Without that, the rest may be; `Fenced` when a number was given
    /// before.
    Data(StoreError),
    /// Others were in the way. Nothing was written, and the same may work in a moment.
    Clash(String),
    /// A transaction holds a row or a lock for longer than one waits. Nothing was written.
    Locked(String),
    /// It is not about the data. Whether it happened is unknown.
    Down(StoreError),
}

impl From<Error> for TransactionFailure {
    fn from(error: Error) -> TransactionFailure {
        let Some(database) = error.as_db_error() else {
            // What cannot be put into a message is the data's fault; everything else is the connection's.
            let text = with_sources(&error);
            let is_transport =
                error.is_closed() || error.source().is_none_or(<dyn std::error::Error>::is::<std::io::Error>);
            return if is_transport {
                TransactionFailure::Down(StoreError::Unavailable(text))
            } else {
                TransactionFailure::Data(StoreError::Refused(text))
            };
        };
        let text = database.message().to_owned();
        let code = database.code().code();
        match (&code[..2], code) {
            (_, "23505") if is_fence(database.constraint()) => TransactionFailure::Data(StoreError::Fenced),
            (_, "40001" | "40P01") => TransactionFailure::Clash(text),
            (_, "55P03") => TransactionFailure::Locked(text),
            // Wrong values, broken constraints, and what is too long for an index.
            ("22" | "23" | "54", _) => TransactionFailure::Data(StoreError::Refused(text)),
            (_, "53100") => TransactionFailure::Down(StoreError::Full(text)),
            // A wrong password, or a database that is not there.
            ("28" | "3D", _) => TransactionFailure::Down(StoreError::Refused(text)),
            _ => TransactionFailure::Down(StoreError::Unavailable(text)),
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

impl From<TransactionFailure> for StoreError {
    fn from(failure: TransactionFailure) -> StoreError {
        match failure {
            TransactionFailure::Data(error) | TransactionFailure::Down(error) => error,
            TransactionFailure::Clash(text) | TransactionFailure::Locked(text) => {
                StoreError::Unavailable(text)
            }
        }
    }
}

impl From<StoreError> for TransactionFailure {
    /// What we find ourselves to be wrong is wrong with the data.
    fn from(error: StoreError) -> TransactionFailure {
        match error {
            StoreError::Refused(_) | StoreError::Fenced => TransactionFailure::Data(error),
            StoreError::Unavailable(_) | StoreError::Full(_) => TransactionFailure::Down(error),
        }
    }
}

pub(super) fn fault(error: Error) -> StoreError {
    TransactionFailure::from(error).into()
}
