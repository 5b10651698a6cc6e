//! The files of the configuration: where they are looked for, and how much of them is read.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ConfigError;
use crate::layers::{Layers, Surroundings};
use crate::program::{own_variable, program};

/// A configuration is a page or two; anything larger is the wrong file.
const LARGEST: u64 = 1024 * 1024;

/// A file and what it says.
pub type Text = (PathBuf, Vec<u8>);

/// What was found, not yet understood.
#[derive(Default)]
pub struct Files {
    pub own: Option<Text>,
    /// What lies below it.
    pub base: Option<Text>,
}

/// A file of another program that lies below our own.
#[derive(Debug, Clone, Copy)]
pub struct BaseFile {
    /// The variable that names it.
    pub variable: &'static str,
    /// Where it is in an installation.
    pub installed: &'static str,
    /// Lays it over the defaults, and answers what is to be kept of it beside the settings.
    pub lay_over: fn(&mut Layers<'_>, &Path, &[u8]) -> Arc<dyn Any + Send + Sync>,
}

pub fn own(named: Option<&Path>, around: &Surroundings) -> Result<Option<Text>, ConfigError> {
    // The second one belongs to the installation.
    let usual = format!("{}.yaml", program());
    let installed = around.installed(&format!("/etc/{}/config.yaml", program()));
    find(named, around, &own_variable("CONFIG"), &[&usual, &installed])
}

pub fn base(
    file: &BaseFile,
    named: Option<&Path>,
    around: &Surroundings,
) -> Result<Option<Text>, ConfigError> {
    find(named, around, file.variable, &[&around.installed(file.installed)])
}

/// A file that an operator named must exist; a usual one may be missing.
fn find(
    named: Option<&Path>,
    around: &Surroundings,
    variable: &str,
    usual: &[&str],
) -> Result<Option<Text>, ConfigError> {
    if let Some(path) = named.or(around.variable(variable).map(Path::new)) {
        let hint = if named.is_none() { format!(" (named by {variable})") } else { String::new() };
        return match read(path) {
            Ok(text) => Ok(Some((path.to_owned(), text))),
            Err(error) => Err(unreadable(path, &error, &hint)),
        };
    }
    for path in usual.iter().map(Path::new) {
        match read(path) {
            Ok(text) => return Ok(Some((path.to_owned(), text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(path, &error, "")),
        }
    }
    Ok(None)
}

fn unreadable(path: &Path, error: &io::Error, hint: &str) -> ConfigError {
    ConfigError::whole(format!("cannot read the configuration {}{hint}: {error}", path.display()))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("larger than {LARGEST} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: BaseFile = BaseFile {
        variable: "V",
        installed: "/etc/provision-engine/engine.conf",
        lay_over: |_, _, _| Arc::new(()),
    };

    #[test]
    fn a_named_file_must_exist_and_a_usual_one_may_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, present) = (dir.path().join("missing.yaml"), dir.path().join("present.yaml"));
        std::fs::write(&present, "server: {listen: '1.1.1.1:1'}").unwrap();
        let [gone, here] = [&missing, &present].map(|path| path.to_str().unwrap());
        let (nothing, variable) = (Surroundings::default(), Surroundings::of([pair("V", gone)].into_iter()));
        let path = |found: Option<Text>| found.map(|(path, _)| path);

        assert_eq!(path(find(None, &nothing, "V", &[gone, here]).unwrap()), Some(present.clone()));
        assert_eq!(path(find(None, &nothing, "V", &[gone]).unwrap()), None);
        assert_eq!(path(find(Some(&present), &variable, "V", &[]).unwrap()), Some(present.clone()));
        assert_eq!(
            find(Some(&missing), &nothing, "V", &[here]).unwrap_err().to_string(),
            format!("cannot read the configuration {gone}: No such file or directory (os error 2)"),
        );
        assert_eq!(
            find(None, &variable, "V", &[here]).unwrap_err().to_string(),
            format!(
                "cannot read the configuration {gone} (named by V): No such file or directory (os error 2)"
            ),
        );
        assert!(find(None, &nothing, "V", &[dir.path().to_str().unwrap()]).is_err());
    }

    #[test]
    fn the_files_of_an_installation_are_below_its_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let etc = dir.path().join("etc/provision-engine");
        std::fs::create_dir_all(&etc).unwrap();
        let prefix = format!("{}/", dir.path().display());
        let around = Surroundings::of([pair("PROVISION_ENGINE_PREFIX", &prefix)].into_iter());
        assert!(base(&BASE, None, &around).unwrap().is_none());
        std::fs::write(etc.join("engine.conf"), ":port: 1\n").unwrap();
        std::fs::write(etc.join("config.yaml"), "server: {}\n").unwrap();
        assert_eq!(base(&BASE, None, &around).unwrap().unwrap().0, etc.join("engine.conf"));
        assert_eq!(own(None, &around).unwrap().unwrap().1, b"server: {}\n");
    }

    #[test]
    fn a_file_that_is_far_too_large_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.yaml");
        std::fs::write(&path, "#".repeat(1024 * 1024 + 1)).unwrap();
        let error = own(Some(&path), &Surroundings::default()).unwrap_err().to_string();
        assert!(error.ends_with("larger than 1048576 bytes"), "{error}");
        assert_eq!(base(&BASE, Some(&path), &Surroundings::default()).unwrap_err().to_string(), error);
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }
}
