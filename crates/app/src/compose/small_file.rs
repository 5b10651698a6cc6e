//! Small files that settings name: text that people wrote, and secrets.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use engine::secret::SecretString;

/// Small files only: a configuration is read by people.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

pub fn read(path: &Path) -> Result<String> {
    let name = path.display();
    let size = fs::metadata(path).with_context(|| format!("cannot read {name}"))?.len();
    if size > FILE_BYTES_MAX {
        return Err(anyhow!("{name} is larger than {FILE_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {name}"))
}

/// Without the end of its line, which is not part of a password.
pub fn secret(path: &Path) -> Result<SecretString> {
    Ok(SecretString::from(read(path)?.trim_end_matches(['\n', '\r'])))
}
