//! Shows the instances in the inventory. It is made of the records of launches, so a word in the record is enough,
//! and the record loses it when the instances are taken back.

use engine::prelude::*;

use crate::workflows::launch::Launch;

pub(crate) struct RegisterInInventory;

#[async_trait]
impl Step<Launch> for RegisterInInventory {
    named!("register_in_inventory", "Registering the instances in the inventory");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        op.state.registered = true;
        done()
    }
}
