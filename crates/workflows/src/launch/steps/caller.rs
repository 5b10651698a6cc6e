//! The identity of a launch in every call to the Image Builder, however often the process dies in between.

use drivers::identity::CallerIdentity;
use engine::prelude::*;

use crate::launch::Launch;
use crate::launch::settings::Launches;

pub(super) fn caller(launches: &Launches, op: &Operation<Launch>) -> Result<CallerIdentity, Halt> {
    launches.saved_identity(&op.params, |sealed| op.open(sealed))
}
