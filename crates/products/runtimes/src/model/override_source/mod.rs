//! Where overrides come from that no step makes: labelled files and labelled objects.

mod document;
mod files;
mod labelled;
mod objects;

use async_trait::async_trait;
use http_client::DriverError;

pub use self::files::OverrideFiles;
pub use self::objects::OverrideObjects;
use engine::overrides::Value;

/// The overrides of one file or object.
#[derive(Debug, Clone)]
pub struct OverrideSet {
    /// The name of the file or object, for people.
    pub origin: String,
    /// `None` is for all components.
    pub component: Option<String>,
    pub entries: Vec<(String, Value)>,
}

#[async_trait]
pub trait OverrideSource: Send + Sync {
    /// The name of the step that reads it, which is saved.
    fn name(&self) -> &'static str;

    /// What that step does, for people.
    fn title(&self) -> &'static str;

    /// The external system that it asks.
    fn driver(&self) -> Option<&'static str> {
        None
    }

    /// What applies to a plan and a version of Kyma, in the order in which it is applied: secrets first, then the
    /// rest, each in the order of their names, so that the last one wins and always the same.
    async fn overrides(&self, plan: &str, version: &str) -> Result<Vec<OverrideSet>, DriverError>;
}
