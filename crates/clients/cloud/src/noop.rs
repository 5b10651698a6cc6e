//! A cloud that makes nothing. It has every permission, every image and no instances, so that a launch can be
//! carried through where no cloud is.

use async_trait::async_trait;

use super::{
    CloudError, CloudKey, Created, Fingerprints, Identity, Image, Instance, InstanceType, KeyMaterial, Order,
    Page, Place, Provider, ProviderKind, Templates,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

#[async_trait]
impl Provider for Noop {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Noop
    }

    async fn identity(&self, place: &Place<'_>) -> Result<Identity, CloudError> {
        Ok(Identity { account_id: place.account.source.clone(), name: "noop".to_owned() })
    }

    async fn regions(&self, _: &Place<'_>) -> Result<Vec<String>, CloudError> {
        Ok(Vec::new())
    }

    async fn instance_types(&self, _: &Place<'_>) -> Result<Vec<InstanceType>, CloudError> {
        Ok(Vec::new())
    }

    async fn templates(&self, _: &Place<'_>, _: &Page) -> Result<Templates, CloudError> {
        Ok(Templates { items: Vec::new(), next: None })
    }

    async fn image(&self, _: &Place<'_>, id: &str) -> Result<Option<Image>, CloudError> {
        Ok(Some(Image { id: id.to_owned(), architecture: None, is_available: true }))
    }

    async fn rehearse(&self, _: &Place<'_>, _: &Order) -> Result<(), CloudError> {
        Ok(())
    }

    async fn find_key(&self, _: &Place<'_>, _: &Fingerprints) -> Result<Option<CloudKey>, CloudError> {
        Ok(None)
    }

    async fn upload_key(
        &self,
        _: &Place<'_>,
        name: &str,
        _: &KeyMaterial,
        mark: &str,
    ) -> Result<CloudKey, CloudError> {
        Ok(CloudKey { id: name.to_owned(), name: name.to_owned(), mark: Some(mark.to_owned()) })
    }

    async fn delete_key(&self, _: &Place<'_>, _: &CloudKey) -> Result<(), CloudError> {
        Ok(())
    }

    async fn create(&self, _: &Place<'_>, _: &Order, _: &str) -> Result<Created, CloudError> {
        Ok(Created { reservation: None, instances: Vec::new() })
    }

    async fn find(&self, _: &Place<'_>, _: &str) -> Result<Vec<Instance>, CloudError> {
        Ok(Vec::new())
    }

    async fn describe(&self, _: &Place<'_>, _: &[String]) -> Result<Vec<Instance>, CloudError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &Place<'_>, _: &[String]) -> Result<(), CloudError> {
        Ok(())
    }
}
