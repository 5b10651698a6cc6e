//! Clouds in our words. A provider makes instances with a token, finds them by their mark, describes them and
//! deletes them; whatever else it offers, a launch does not need to know.

mod error;
mod external_id;
pub mod noop;
pub mod spec;
mod types;

use std::time::Duration;

use async_trait::async_trait;

pub use error::{Category, CloudError};
pub use external_id::{EXTERNAL_ID_PREFIX, external_id};
pub use spec::{ProviderKind, ProviderSpec, ssh_command};
pub use types::{
    Access, Account, Architecture, CloudAccount, CloudIdentity, CloudImage, CloudInstance, CloudKey, Created,
    Fingerprints, InstanceRequest, InstanceState, InstanceType, KeyMaterial, LaunchTemplate, Page, Part,
    PartKind, Permissions, Templates, UploadTarget,
};

/// The tag by whose value everything of one launch is found again.
pub const LAUNCH_TAG: &str = "provision-engine-launch";

/// One cloud. Every call is made on behalf of an account, in a region.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    fn kind(&self) -> ProviderKind;

    /// Whether a call of `create` whose answer is unknown is made again with the same token, because it makes what is
    /// missing and nothing twice. Otherwise what `find` shows decides.
    fn resumes(&self) -> bool {
        false
    }

    /// How long what a lost call made may take to be shown. Nothing: as long as the settings say.
    fn settle(&self) -> Option<Duration> {
        None
    }

    /// Who the account is, as the cloud sees it. The cheapest call that proves that we may act for it.
    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError>;

    /// Where the Image Builder puts images for the account.
    async fn upload_target(&self, place: &CloudAccount<'_>) -> Result<UploadTarget, CloudError> {
        let CloudIdentity { account_id, .. } = self.identity(place).await?;
        Ok(UploadTarget { account_id, ..UploadTarget::default() })
    }

    /// The only region where an image starts that has this id, or will have it once it is built. Nothing where it starts
    /// in every region, or where its region is named before it.
    async fn image_region(&self, _place: &CloudAccount<'_>, _id: &str) -> Result<Option<String>, CloudError> {
        Ok(None)
    }

    /// Who we are to the owner of an image that must be shared with us. Nothing where images are shared with accounts.
    fn principal(&self, _account: &Account) -> Option<String> {
        None
    }

    /// Which of the actions that a launch and its undo need the account forbids, asked with calls that change nothing.
    async fn permissions(&self, place: &CloudAccount<'_>) -> Result<Permissions, CloudError> {
        let mut found = Permissions::default();
        found.note("sign-in", self.identity(place).await)?;
        Ok(found)
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError>;

    /// What the account can have in the region.
    async fn instance_types(&self, place: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError>;

    async fn templates(&self, place: &CloudAccount<'_>, page: &Page) -> Result<Templates, CloudError>;

    /// `None` when the account cannot see it.
    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError>;

    /// Asks whether the order would be carried out, and makes nothing. An order without an image is asked with
    /// one that does not exist: that it is missing is then no error.
    async fn dry_run(&self, place: &CloudAccount<'_>, order: &InstanceRequest) -> Result<(), CloudError>;

    /// A key pair with the same key, no matter which caller uploaded it.
    ///
    /// Where keys are given with the instances there is none to find, to upload or to delete, and a cloud has nothing to
    /// add to these three.
    async fn find_key(
        &self,
        _place: &CloudAccount<'_>,
        _fingerprints: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError> {
        Ok(None)
    }

    /// Uploads a key under this name with this mark. A name that is taken is `Category::Duplicate`.
    async fn upload_key(
        &self,
        _place: &CloudAccount<'_>,
        name: &str,
        _key: &KeyMaterial,
        launch_tag: &str,
    ) -> Result<CloudKey, CloudError> {
        Ok(CloudKey { id: name.to_owned(), name: name.to_owned(), launch_tag: Some(launch_tag.to_owned()) })
    }

    /// Finding nothing to delete is success.
    async fn delete_key(&self, _place: &CloudAccount<'_>, _key: &CloudKey) -> Result<(), CloudError> {
        Ok(())
    }

    /// Makes what must be there before the instances, such as their network. May be called often; answers when to ask
    /// again while the cloud is at it, and nothing once all is there.
    async fn prepare(
        &self,
        _place: &CloudAccount<'_>,
        _order: &InstanceRequest,
    ) -> Result<Option<Duration>, CloudError> {
        Ok(None)
    }

    /// Makes the instances of an order. The same token with the same order brings the same instances. `Capacity` that
    /// the cloud finds late is answered once what it made of this call is gone again.
    async fn create(
        &self,
        place: &CloudAccount<'_>,
        order: &InstanceRequest,
        token: &str,
    ) -> Result<Created, CloudError>;

    /// The instances of an order, by its mark and by the names that follow from it, also those that are gone for a
    /// short while only.
    async fn find(
        &self,
        place: &CloudAccount<'_>,
        order: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError>;

    /// What the cloud does not know is missing in the answer.
    async fn describe(
        &self,
        place: &CloudAccount<'_>,
        ids: &[String],
    ) -> Result<Vec<CloudInstance>, CloudError>;

    /// Begins to delete. What is not there is no error.
    async fn delete(&self, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError>;

    /// Begins to delete whatever else an order made and no instance needs any longer. Answers what is still there;
    /// finding nothing is success.
    async fn sweep(
        &self,
        _place: &CloudAccount<'_>,
        _order: &InstanceRequest,
    ) -> Result<Vec<Part>, CloudError> {
        Ok(Vec::new())
    }
}
