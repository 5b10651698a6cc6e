//! Azure as one of the clouds.

use std::time::Duration;

use async_trait::async_trait;
use cloud::{
    CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, Created, InstanceRequest,
    InstanceType, Page, Part, Permissions, Provider, ProviderKind, Templates, UploadTarget,
};

use super::{Azure, catalog, create, dry_run, image, instances, ownership, prepare, sweep};

/// A call that was sent and not answered has arrived after this time, or never does.
const SETTLE: Duration = Duration::from_secs(60);

#[async_trait]
impl Provider for Azure {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Azure
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        ownership::identity(self, place).await
    }

    async fn upload_target(&self, place: &CloudAccount<'_>) -> Result<UploadTarget, CloudError> {
        ownership::upload_target(self, place).await
    }

    async fn permissions(&self, place: &CloudAccount<'_>) -> Result<Permissions, CloudError> {
        let mut found = Permissions::default();
        found.note("Microsoft.Resources/subscriptions/read", self.identity(place).await)?;
        if found.is_valid() {
            found.missing = dry_run::all_missing(self, place).await?;
        }
        Ok(found)
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        catalog::regions(self, place).await
    }

    async fn instance_types(&self, place: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        catalog::instance_types(self, place).await
    }

    /// Azure has none.
    async fn templates(&self, _: &CloudAccount<'_>, _: &Page) -> Result<Templates, CloudError> {
        Ok(Templates { items: Vec::new(), next: None })
    }

    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        image::image(self, place, id).await
    }

    async fn image_region(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<String>, CloudError> {
        image::region(self, place, id).await
    }

    async fn dry_run(&self, place: &CloudAccount<'_>, request: &InstanceRequest) -> Result<(), CloudError> {
        dry_run::dry_run(self, place, request).await
    }

    async fn prepare(
        &self,
        place: &CloudAccount<'_>,
        request: &InstanceRequest,
    ) -> Result<Option<Duration>, CloudError> {
        prepare::prepare(self, place, request).await
    }

    /// The names follow from the launch tag, so the key is not needed to find what an earlier call made.
    async fn create(
        &self,
        place: &CloudAccount<'_>,
        request: &InstanceRequest,
        _: &str,
    ) -> Result<Created, CloudError> {
        create::create(self, place, request).await
    }

    fn resumes(&self) -> bool {
        true
    }

    fn settle(&self) -> Option<Duration> {
        Some(SETTLE.min(self.poll * 6))
    }

    async fn find(
        &self,
        place: &CloudAccount<'_>,
        request: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        instances::find(self, place, request).await
    }

    async fn describe(
        &self,
        place: &CloudAccount<'_>,
        ids: &[String],
    ) -> Result<Vec<CloudInstance>, CloudError> {
        instances::describe(self, place, ids).await
    }

    async fn delete(&self, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
        instances::delete(self, place, ids).await
    }

    async fn sweep(
        &self,
        place: &CloudAccount<'_>,
        request: &InstanceRequest,
    ) -> Result<Vec<Part>, CloudError> {
        sweep::sweep(self, place, request).await
    }
}
