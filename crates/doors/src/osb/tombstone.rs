//! Marks an id that was deleted before it was ever seen, so that a request for it that comes late makes nothing.

use engine::Resource;
use engine::store::Expect;
use serde_json::Map;
use workflows::runtime::{Binding, Instance, seal_json};

use super::error::Refusal;
use super::record::Offer;
use super::standing::portrait;
use super::submit::refused;
use super::{Broker, record};

/// Nobody who ever asked for anything has this name.
const NOBODY: &str = "nobody";

impl Broker {
    /// `false` when there is something under that id by now.
    pub(super) async fn bury_instance(&self, id: &str, offer: Offer<'_>) -> Result<bool, Refusal> {
        let name = Instance::resource(id);
        let nothing = seal_json(&Map::new(), &self.hall.engine.sealer(NOBODY, &name));
        let mut instance = record::instance(id, offer, nothing.clone(), nothing);
        instance.gone_at = Some(self.hall.engine.now());
        self.bury(&name, &instance).await
    }

    pub(super) async fn bury_binding(&self, ids: (&str, &str), offer: Offer<'_>) -> Result<bool, Refusal> {
        let name = Binding::resource(ids.0, ids.1);
        let nothing = seal_json(&Map::new(), &self.hall.engine.sealer(NOBODY, &name));
        let mut binding = record::binding(ids, offer, nothing);
        binding.gone_at = Some(self.hall.engine.now());
        self.bury(&name, &binding).await
    }

    async fn bury(&self, name: &str, record: &impl Resource) -> Result<bool, Refusal> {
        let portrait = portrait(record)?;
        let written = self.hall.engine.write_resource(name, NOBODY, Expect::Absent, Some(portrait)).await;
        written.or_else(|error| refused(error).map_or(Ok(false), Err))
    }
}
