//! AWS as one of the clouds.

use async_trait::async_trait;
use cloud::{
    CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, CloudKey, Created, Fingerprints,
    InstanceRequest, InstanceType, KeyMaterial, Page, Permissions, Provider, ProviderKind, Templates,
};

use super::{
    Aws, identity, images, instance_request, instance_types, instances, keys, permissions, regions, templates,
};

#[async_trait]
impl Provider for Aws {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Aws
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        identity::identity(self, place).await
    }

    async fn permissions(&self, place: &CloudAccount<'_>) -> Result<Permissions, CloudError> {
        permissions::permissions(self, place).await
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        regions::regions(self, place).await
    }

    async fn instance_types(&self, place: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        instance_types::instance_types(self, place).await
    }

    async fn templates(&self, place: &CloudAccount<'_>, page: &Page) -> Result<Templates, CloudError> {
        templates::templates(self, place, page).await
    }

    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        images::image(self, place, id).await
    }

    async fn dry_run(
        &self,
        place: &CloudAccount<'_>,
        instance_request: &InstanceRequest,
    ) -> Result<(), CloudError> {
        instance_request::dry_run(self, place, instance_request).await
    }

    async fn find_key(
        &self,
        place: &CloudAccount<'_>,
        fingerprints: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError> {
        keys::find(self, place, fingerprints).await
    }

    async fn upload_key(
        &self,
        place: &CloudAccount<'_>,
        name: &str,
        key: &KeyMaterial,
        launch_tag: &str,
    ) -> Result<CloudKey, CloudError> {
        keys::upload(self, place, name, key, launch_tag).await
    }

    async fn delete_key(&self, place: &CloudAccount<'_>, key: &CloudKey) -> Result<(), CloudError> {
        keys::delete(self, place, key).await
    }

    async fn create(
        &self,
        place: &CloudAccount<'_>,
        instance_request: &InstanceRequest,
        token: &str,
    ) -> Result<Created, CloudError> {
        instance_request::create(self, place, instance_request, token).await
    }

    async fn find(
        &self,
        place: &CloudAccount<'_>,
        instance_request: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        instances::find(self, place, &instance_request.launch_tag).await
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
}
