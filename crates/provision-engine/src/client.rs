//! The clients of the four APIs, as commands use them: where the server is, who asks, and what an error means.

mod address;
mod credentials;
mod explain;
mod platform;

use api::client::{Api, CallError, ErrorFormat};

pub(crate) use address::Address;
pub(crate) use credentials::{BrokerArgs, OpenNebulaArgs};
pub(crate) use explain::{aftermath, exit, more};
pub(crate) use platform::{PlatformClient, word};

/// What a call gives.
pub(crate) type Answered<T> = Result<T, CallError>;

pub(crate) static PLATFORM: Api =
    Api { format: ErrorFormat::Problem, noun: "", question: "is it a provision-engine?" };
pub(crate) static BROKER: Api =
    Api { format: ErrorFormat::Osb, noun: "the broker at ", question: "is it a service broker?" };
pub(crate) static LAUNCH: Api = Api {
    format: ErrorFormat::Insights,
    noun: "",
    question: "does it offer launches? Its setting launch.enabled says so",
};
pub(crate) static SERVERLESS: Api = Api {
    format: ErrorFormat::Cognit,
    noun: "",
    question: "does it offer serverless runtimes? Its setting serverless.enabled says so",
};
