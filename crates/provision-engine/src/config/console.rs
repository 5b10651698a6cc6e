//! The settings of the console.

use super::{HttpUrl, Period, Reader};

#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) enabled: bool,
    pub(crate) public_url: Option<HttpUrl>,
    pub(crate) idle: Period,
    pub(crate) session: Period,
    pub(crate) attempts: u32,
    pub(crate) lock: Period,
}

impl Reader<'_> {
    pub(super) fn console(&mut self) -> Console {
        Console {
            enabled: self.get("console.enabled"),
            public_url: self.get("console.public_url"),
            idle: self.get("console.idle"),
            session: self.get("console.session"),
            attempts: self.get("console.attempts"),
            lock: self.get("console.lock"),
        }
    }
}
