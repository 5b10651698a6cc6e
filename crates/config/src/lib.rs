//! The configuration of a program: one YAML file, the environment and the flags, laid over the defaults of one table.
//!
//! Each part of a program has a [`Section`]: its rows of the table and the type that they are read into. The table also
//! gives the reference manual, hints for unknown names, and the ranges that values are checked against.

mod error;
pub mod file;
mod layers;
pub mod manual;
pub mod nearest;
mod period;
mod program;
mod reader;
mod setting;
mod table;
mod tree;
mod value;

pub use error::{ConfigError, Origin, SettingError, Warning};
pub use layers::{EffectiveValue, Layers, Surroundings, ValueSource, utf8};
pub use period::{NotAPeriod, Period};
pub use program::{in_own_name, is_renamed, own_variable, program, set_program};
pub use reader::{Origins, Section, SectionReader};
pub use setting::{DAY, HOUR, Preset, SECOND, Setting, ValueKind, YEAR, set};
pub use table::{SettingShape, Table, variable};
pub use tree::{ConfigValue, Malformed, Spot, TreeEntry, TreeNode, parse};
pub use value::{FromNode, HttpUrl, error_body, masked_url, text};
