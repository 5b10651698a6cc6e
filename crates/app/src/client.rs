//! API clients of the commands: address, credentials and errors.

mod address;
mod explain;
mod find;
mod platform;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use api::client::{Api, CallError, ErrorFormat};
use secrecy::{ExposeSecret, SecretString};

pub use address::{Address, parse_server};
pub use explain::{aftermath, exit, more};
pub use platform::{PlatformClient, word};

const FILE_BYTES_MAX: u64 = 8_192;

/// What a call gives.
pub type CallResult<T> = Result<T, CallError>;

pub static PLATFORM: Api =
    Api { format: ErrorFormat::Problem, noun: "", question: "is it a provision-engine?" };
/// The text of a small file, without the end of its line.
pub fn secret_in(path: &Path) -> io::Result<SecretString> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let text = SecretString::from(text);
    Ok(SecretString::from(text.expose_secret().trim_end_matches(['\r', '\n'])))
}
