//! What oned answers when it understood and says no.

pub(crate) const AUTHENTICATION: i32 = 0x0100;
pub(crate) const AUTHORIZATION: i32 = 0x0200;
pub(crate) const NO_EXISTS: i32 = 0x0400;
pub(crate) const ACTION: i32 = 0x0800;
pub(crate) const XML_RPC_API: i32 = 0x1000;
pub(crate) const INTERNAL: i32 = 0x2000;
pub(crate) const ALLOCATE: i32 = 0x4000;

/// A refusal without the name of the method, because the same one is met by several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NebulaError {
    pub(crate) errno: i32,
    pub(crate) message: String,
    /// What does not exist, or -1.
    pub(crate) object: i32,
}

impl NebulaError {
    pub(crate) fn new(errno: i32, message: impl Into<String>) -> Self {
        NebulaError { errno, message: message.into(), object: -1 }
    }

    pub(crate) fn missing(object: &str, id: i32) -> Self {
        NebulaError { errno: NO_EXISTS, message: format!("Error getting {object} [{id}]."), object: id }
    }

    /// The same refusal, with words before its own.
    pub(crate) fn after(self, words: &str) -> Self {
        NebulaError { message: format!("{words} {}", self.message), ..self }
    }

    /// The text as it is answered, such as `[one.vm.info] Error getting virtual machine [7].`
    pub(crate) fn text(&self, method: &str) -> String {
        format!("[{method}] {}", self.message)
    }
}
