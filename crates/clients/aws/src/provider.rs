//! AWS as one of the clouds.

use async_trait::async_trait;
use cloud::{
    CloudError, CloudKey, Created, Fingerprints, Identity, Image, Instance, InstanceType, KeyMaterial, Order,
    Page, Place, Provider, ProviderKind, Templates,
};

use super::{Aws, identity, images, instance_types, instances, keys, order, regions, templates};

#[async_trait]
impl Provider for Aws {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Aws
    }

    async fn identity(&self, place: &Place<'_>) -> Result<Identity, CloudError> {
        identity::identity(self, place).await
    }

    async fn regions(&self, place: &Place<'_>) -> Result<Vec<String>, CloudError> {
        regions::regions(self, place).await
    }

    async fn instance_types(&self, place: &Place<'_>) -> Result<Vec<InstanceType>, CloudError> {
        instance_types::instance_types(self, place).await
    }

    async fn templates(&self, place: &Place<'_>, page: &Page) -> Result<Templates, CloudError> {
        templates::templates(self, place, page).await
    }

    async fn image(&self, place: &Place<'_>, id: &str) -> Result<Option<Image>, CloudError> {
        images::image(self, place, id).await
    }

    async fn rehearse(&self, place: &Place<'_>, order: &Order) -> Result<(), CloudError> {
        order::rehearse(self, place, order).await
    }

    async fn find_key(
        &self,
        place: &Place<'_>,
        fingerprints: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError> {
        keys::find(self, place, fingerprints).await
    }

    async fn upload_key(
        &self,
        place: &Place<'_>,
        name: &str,
        key: &KeyMaterial,
        mark: &str,
    ) -> Result<CloudKey, CloudError> {
        keys::upload(self, place, name, key, mark).await
    }

    async fn delete_key(&self, place: &Place<'_>, key: &CloudKey) -> Result<(), CloudError> {
        keys::delete(self, place, key).await
    }

    async fn create(&self, place: &Place<'_>, order: &Order, token: &str) -> Result<Created, CloudError> {
        order::create(self, place, order, token).await
    }

    async fn find(&self, place: &Place<'_>, mark: &str) -> Result<Vec<Instance>, CloudError> {
        instances::find(self, place, mark).await
    }

    async fn describe(&self, place: &Place<'_>, ids: &[String]) -> Result<Vec<Instance>, CloudError> {
        instances::describe(self, place, ids).await
    }

    async fn delete(&self, place: &Place<'_>, ids: &[String]) -> Result<(), CloudError> {
        instances::delete(self, place, ids).await
    }
}
