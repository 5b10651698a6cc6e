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

pub use error::{ConfigError, Origin, Problem, Warning};
pub use layers::{Found, Layers, Source, Surroundings, utf8};
pub use period::{NotAPeriod, Period};
pub use program::{in_own_name, is_renamed, own_variable, program, set_program};
pub use reader::{Origins, Reader, Section};
pub use setting::{DAY, HOUR, Kind, Preset, SECOND, Setting, YEAR, set};
pub use table::{Shape, Table, variable};
pub use tree::{Entry, Malformed, Node, Spot, Value, parse};
pub use value::{FromNode, HttpUrl, complaint, masked_url, text};
