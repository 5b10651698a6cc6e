//! Kills while images are built and launched. EC2 and the Image Builder count what they were asked for, so what counts
//! is what was ever made, what stands in the end, and how often others were told of it.

mod calls;
mod clouds;
mod notices;
pub(crate) mod pad;
mod random;
