//! A body that comes line by line, for as long as the external system sends it.

use reqwest::Response;

use crate::answer::ExternalSystem;
use crate::error::DriverError;

/// The lines of a body. Only one of them is kept at a time, and none that is longer than the limit.
pub struct Lines {
    system: ExternalSystem,
    response: Response,
    pending: Vec<u8>,
    /// Up to here `pending` has no end of a line.
    searched: usize,
    bytes_max: usize,
}

impl Lines {
    pub fn new(system: ExternalSystem, response: Response, bytes_max: usize) -> Lines {
        Lines { system, response, pending: Vec::new(), searched: 0, bytes_max }
    }

    /// None at the end of the body. What follows the last end of a line is a line.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, DriverError> {
        loop {
            if let Some(at) = self.pending[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.pending.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                self.searched = 0;
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.pending.len();
            match self.response.chunk().await.map_err(|error| self.system.unreachable(error))? {
                Some(chunk) if self.pending.len() + chunk.len() > self.bytes_max => {
                    let bytes_max = self.bytes_max;
                    return Err(self.system.broken(format!("a line is longer than {bytes_max} bytes")));
                }
                Some(chunk) => self.pending.extend_from_slice(&chunk),
                None => {
                    self.searched = 0;
                    let line = std::mem::take(&mut self.pending);
                    return Ok((!line.is_empty()).then_some(line));
                }
            }
        }
    }
}
