//! How an API writes its errors. Four public contracts have four formats; each is also what its clients read.

mod cognit;
mod insights;
mod osb;
mod problem;

use std::borrow::Cow;

use http::StatusCode;

use crate::Error;

pub use cognit::{Cognit, CognitBody};
pub use insights::{Insights, InsightsBody};
pub use osb::{Osb, OsbBody};
pub use problem::{Problem, ProblemBody};

/// The bytes of errors in one API.
pub trait Format: Clone + Send + Sync + 'static {
    const CONTENT_TYPE: &'static str = "application/json";

    /// The body of the answer.
    fn write(&self, error: &Error) -> Vec<u8>;

    /// `None` for a body of another form: a proxy on the way answers in its own words.
    fn read(&self, status: StatusCode, body: &[u8]) -> Option<Error>;

    /// The code as this format spells it.
    fn code<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        Cow::Borrowed(&error.code)
    }
}
