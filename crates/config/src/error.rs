//! Where a value came from, and what to say when it cannot be used.

use std::fmt;

/// The layer, and for files the exact place, that gave a setting its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        file: String,
        line: u64,
        column: u64,
    },
    /// The file says nothing about it, but that the file is there does.
    Implied {
        file: String,
    },
    Environment {
        variable: String,
    },
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Origin::Implied { file } => write!(f, "default with {file}"),
            Origin::Environment { variable } => write!(f, "environment variable {variable}"),
            Origin::Flag => f.write_str("command line"),
        }
    }
}

/// Something the configuration says that is suspicious but harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub origin: Origin,
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// One value, or one file, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// Nothing when the file could not be read at all.
    pub origin: Option<Origin>,
    /// The dotted path of the setting, empty when the whole file is meant.
    pub path: String,
    pub message: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with the configuration, one line each, so that it can be mended in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<SettingError>,
    /// What is suspicious beside that, such as unknown keys.
    pub warnings: Vec<Warning>,
}

impl ConfigError {
    pub fn of(problems: Vec<SettingError>) -> ConfigError {
        ConfigError { problems, warnings: Vec::new() }
    }

    /// A failure that belongs to no single setting, such as a file that cannot be opened.
    pub fn whole(message: impl Into<String>) -> ConfigError {
        ConfigError::of(vec![SettingError { origin: None, path: String::new(), message: message.into() }])
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
