//! XML-RPC as far as `oned` speaks it.

mod decode;
mod encode;

pub(super) use self::decode::{CallOutcome, XmlRpcValue, decode};
pub(super) use self::encode::{Param, encode};
