//! Google Cloud as one of the clouds.

use std::time::Duration;

use async_trait::async_trait;
use cloud::{
    Account, CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, Created, InstanceRequest,
    InstanceType, Page, Part, Permissions, Provider, ProviderKind, Templates, UploadTarget,
};

use crate::{
    Google, create, disks, dry_run, images, instances, machine_types, ownership, paths, templates, zones,
};

#[async_trait]
impl Provider for Google {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Gcp
    }

    fn resumes(&self) -> bool {
        true
    }

    fn settle(&self) -> Option<Duration> {
        self.settle
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        ownership::identity(self, place).await
    }

    /// Images stay in the project of the Image Builder, which lets the service account use them that launches.
    async fn upload_target(&self, place: &CloudAccount<'_>) -> Result<UploadTarget, CloudError> {
        let (account_id, principal) = (paths::project(place)?, self.tokens.email(place)?);
        Ok(UploadTarget { account_id, principal: Some(principal), ..UploadTarget::default() })
    }

    fn principal(&self, account: &Account) -> Option<String> {
        self.tokens.email(&CloudAccount { account, region: "", session: "" }).ok()
    }

    async fn permissions(&self, place: &CloudAccount<'_>) -> Result<Permissions, CloudError> {
        let mut found = Permissions::default();
        found.note("compute.projects.get", self.identity(place).await)?;
        if found.is_valid() {
            found.missing = dry_run::missing(self, place, true).await?;
        }
        Ok(found)
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        zones::zones(self, place).await
    }

    async fn instance_types(&self, place: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        machine_types::machine_types(self, place).await
    }

    async fn templates(&self, place: &CloudAccount<'_>, page: &Page) -> Result<Templates, CloudError> {
        templates::templates(self, place, page).await
    }

    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        images::image(self, place, id).await
    }

    async fn dry_run(&self, place: &CloudAccount<'_>, request: &InstanceRequest) -> Result<(), CloudError> {
        dry_run::dry_run(self, place, request).await
    }

    async fn create(
        &self,
        place: &CloudAccount<'_>,
        request: &InstanceRequest,
        key: &str,
    ) -> Result<Created, CloudError> {
        create::create(self, place, request, key).await
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
        disks::sweep(self, place, request).await
    }
}
