//! Everything a step may touch, and nothing more.

use std::sync::Arc;

use drivers::greeter::Greeter;

#[derive(Clone)]
pub struct Drivers {
    pub greeter: Arc<dyn Greeter>,
}
