//! Google Cloud as one of the clouds.

use async_trait::async_trait;
use cloud::{
    CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, CloudKey, Created, Fingerprints,
    InstanceRequest, InstanceType, KeyMaterial, Page, Part, Provider, ProviderKind, Templates,
};

use crate::error::invalid;
use crate::{Google, create, disks, dry_run, images, instances, machine_types, ownership, templates, zones};

#[async_trait]
impl Provider for Google {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Gcp
    }

    fn resumes(&self) -> bool {
        true
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        ownership::identity(self, place).await
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

    /// There are no key pairs: the key is a part of the instance.
    async fn find_key(&self, _: &CloudAccount<'_>, _: &Fingerprints) -> Result<Option<CloudKey>, CloudError> {
        Ok(None)
    }

    async fn upload_key(
        &self,
        _: &CloudAccount<'_>,
        _: &str,
        _: &KeyMaterial,
        _: &str,
    ) -> Result<CloudKey, CloudError> {
        Err(invalid("NoKeyPairs", "Google Cloud has no key pairs: the key is given with the instances"))
    }

    async fn delete_key(&self, _: &CloudAccount<'_>, _: &CloudKey) -> Result<(), CloudError> {
        Ok(())
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
