//! Services of other people that do steps of a workflow: we call them over HTTP, sign each call, and they answer what
//! became of it. All go through one kind of call.
//!
//! Version 1 of the contract is for one step inside a workflow of ours, [`ExternalService`]. It knows no undo: the step of
//! another workflow does that, such as one of the deprovisioning. Version 2 is for all steps of a declared workflow,
//! [`StepClient`].

mod http;
mod post;
mod step_answer;
mod step_call;
mod steps;
mod types;

pub use self::http::ExternalService;
pub use self::post::ANSWER_BYTES_MAX;
pub use self::step_answer::{Secrets, StepAnswer, Until};
pub use self::step_call::{Action, CallOperation, CallParams, CallSignal, Own, StepCall};
pub use self::steps::{NoStepAnswer, Outgoing, Reach, StepClient};
pub use self::types::{Override, OwnerContext, StepContext, StepRequest, StepResponse, Verdict};
pub use http_client::signature;
