//! Small things that many pages show in the same way.

mod chip;
mod icon;
mod pager;
mod patches;
mod prose;
mod resource;
mod when;

pub(crate) use chip::{Chip, Tone};
pub(crate) use icon::Icon;
pub(crate) use pager::{NEWEST_FIRST, OLDEST_FIRST, Pager, Words};
pub(crate) use patches::{Patches, appended};
pub(crate) use prose::Prose;
pub(crate) use resource::Resource;
pub(crate) use when::{When, span};
