//! The identity of a launch in every call to the Image Builder, however often the process dies in between.

use engine::prelude::*;
use identity::CallerIdentity;

use crate::model::settings::Launches;
use crate::workflows::launch::Launch;

pub(crate) fn saved_identity(launches: &Launches, op: &Operation<Launch>) -> Result<CallerIdentity, Halt> {
    launches.saved_identity(&op.params, |sealed| op.open(sealed))
}
