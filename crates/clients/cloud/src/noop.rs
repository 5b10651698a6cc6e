//! A cloud that makes nothing. It has every permission, every image and no instances, so that a launch can be
//! carried through where no cloud is.

use async_trait::async_trait;

use super::{
    CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, Created, InstanceRequest,
    InstanceType, Page, Provider, ProviderKind, Templates,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

#[async_trait]
impl Provider for Noop {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Noop
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        Ok(CloudIdentity { account_id: place.account.source.clone(), name: "noop".to_owned() })
    }

    async fn regions(&self, _: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        Ok(Vec::new())
    }

    async fn instance_types(&self, _: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        Ok(Vec::new())
    }

    async fn templates(&self, _: &CloudAccount<'_>, _: &Page) -> Result<Templates, CloudError> {
        Ok(Templates { items: Vec::new(), next: None })
    }

    async fn image(&self, _: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        let id = id.to_owned();
        Ok(Some(CloudImage { id, architecture: None, is_available: true, region: None, generation: None }))
    }

    async fn dry_run(&self, _: &CloudAccount<'_>, _: &InstanceRequest) -> Result<(), CloudError> {
        Ok(())
    }

    async fn create(
        &self,
        _: &CloudAccount<'_>,
        _: &InstanceRequest,
        _: &str,
    ) -> Result<Created, CloudError> {
        Ok(Created { reservation: None, instances: Vec::new(), again: None })
    }

    async fn find(
        &self,
        _: &CloudAccount<'_>,
        _: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        Ok(Vec::new())
    }

    async fn describe(&self, _: &CloudAccount<'_>, _: &[String]) -> Result<Vec<CloudInstance>, CloudError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &CloudAccount<'_>, _: &[String]) -> Result<(), CloudError> {
        Ok(())
    }
}
