//! Clouds in our words. A provider makes instances with a token, finds them by their mark, describes them and
//! deletes them; whatever else it offers, a launch does not need to know.

mod error;
mod external_id;
pub mod noop;
pub mod spec;
mod types;

use async_trait::async_trait;

pub use error::{Category, CloudError};
pub use external_id::{EXTERNAL_ID_PREFIX, external_id};
pub use spec::{ProviderSpec, ssh_command};
pub use types::{
    Access, Account, Architecture, CloudKey, Created, Fingerprints, Identity, Image, Instance, InstanceState,
    InstanceType, KeyMaterial, Order, Page, Place, ProviderKind, Template, Templates,
};

/// The tag by whose value everything of one launch is found again.
pub const MARK_TAG: &str = "provision-engine-launch";

/// One cloud. Every call is made on behalf of an account, in a region.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    fn kind(&self) -> ProviderKind;

    /// Who the account is, as the cloud sees it. The cheapest call that proves that we may act for it.
    async fn identity(&self, place: &Place<'_>) -> Result<Identity, CloudError>;

    async fn regions(&self, place: &Place<'_>) -> Result<Vec<String>, CloudError>;

    /// What the account can have in the region.
    async fn instance_types(&self, place: &Place<'_>) -> Result<Vec<InstanceType>, CloudError>;

    async fn templates(&self, place: &Place<'_>, page: &Page) -> Result<Templates, CloudError>;

    /// `None` when the account cannot see it.
    async fn image(&self, place: &Place<'_>, id: &str) -> Result<Option<Image>, CloudError>;

    /// Asks whether the order would be carried out, and makes nothing. An order without an image is asked with
    /// one that does not exist: that it is missing is then no error.
    async fn rehearse(&self, place: &Place<'_>, order: &Order) -> Result<(), CloudError>;

    /// A key pair with the same key, whoever uploaded it.
    async fn find_key(
        &self,
        place: &Place<'_>,
        fingerprints: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError>;

    /// Uploads a key under this name with this mark. A name that is taken is `Category::Duplicate`.
    async fn upload_key(
        &self,
        place: &Place<'_>,
        name: &str,
        key: &KeyMaterial,
        mark: &str,
    ) -> Result<CloudKey, CloudError>;

    /// Finding nothing to delete is success.
    async fn delete_key(&self, place: &Place<'_>, key: &CloudKey) -> Result<(), CloudError>;

    /// Makes the instances of an order. The same token with the same order brings the same instances.
    async fn create(&self, place: &Place<'_>, order: &Order, token: &str) -> Result<Created, CloudError>;

    /// The instances that carry this mark, also those that are gone for a short while only.
    async fn find(&self, place: &Place<'_>, mark: &str) -> Result<Vec<Instance>, CloudError>;

    /// What the cloud does not know is missing in the answer.
    async fn describe(&self, place: &Place<'_>, ids: &[String]) -> Result<Vec<Instance>, CloudError>;

    /// Begins to delete. What is not there is no error.
    async fn delete(&self, place: &Place<'_>, ids: &[String]) -> Result<(), CloudError>;
}
