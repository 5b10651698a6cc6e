//! Components that many pages share.

mod chip;
mod icon;
mod pager;
mod patches;
mod prose;
mod resource;
mod short_id;
mod when;

pub use chip::{Chip, Tone};
pub use icon::Icon;
pub use pager::{NEWEST_FIRST, Pager, PagerTexts};
pub use patches::{Patches, appended};
pub use prose::Prose;
pub(crate) use resource::ResourceLink;
pub use short_id::ShortId;
pub use when::{Clock, Since, When, span};
