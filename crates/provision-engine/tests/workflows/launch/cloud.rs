//! A cloud in memory, for launches whose waits last for hours: time is turned, so nothing may wait for a socket.

use std::sync::Mutex;
use std::time::Duration;

use ::launch::model::cloud::{
    Category, CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, CloudKey, Created,
    Fingerprints, InstanceRequest, InstanceState, InstanceType, KeyMaterial, Page, Provider, ProviderKind,
    Templates,
};
use async_trait::async_trait;

/// What it has, and what is wrong with it.
#[derive(Default)]
pub(crate) struct ScriptedCloud {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    instances: Vec<CloudInstance>,
    keys: Vec<CloudKey>,
    create_fails: Option<Category>,
    delete_fails: Option<Category>,
    has_no_addresses: bool,
    creates: u32,
    /// Calls that make something have no answer, and what they make appears when it is told to.
    is_mute: bool,
    late_instances: Vec<CloudInstance>,
    late_keys: Vec<CloudKey>,
    settle: Option<Duration>,
}

fn no_answer() -> CloudError {
    CloudError::new(Category::Timeout, "", "no answer came")
}

fn failing(category: Option<Category>) -> Result<(), CloudError> {
    category.map_or(Ok(()), |category| Err(CloudError::new(category, "Told", "as it was told")))
}

impl ScriptedCloud {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    pub(crate) fn fail_create(&self, category: Option<Category>) {
        self.change(|state| state.create_fails = category);
    }

    pub(crate) fn fail_delete(&self, category: Option<Category>) {
        self.change(|state| state.delete_fails = category);
    }

    pub(crate) fn give_no_addresses(&self) {
        self.change(|state| state.has_no_addresses = true);
    }

    /// It shows what was made only after this time, and says so.
    pub(crate) fn shows_after(&self, settle: Duration) {
        self.change(|state| state.settle = Some(settle));
    }

    /// All instances are gone, and it does not know them any longer.
    pub(crate) fn forget_instances(&self) {
        self.change(|state| state.instances.clear());
    }

    /// What is made from now on is made in silence, and later.
    pub(crate) fn fall_silent(&self) {
        self.change(|state| state.is_mute = true);
    }

    /// What was made in silence is there.
    pub(crate) fn arrive(&self) {
        self.change(|state| {
            state.instances.append(&mut state.late_instances);
            state.keys.append(&mut state.late_keys);
        });
    }

    pub(crate) fn creates(&self) -> u32 {
        self.state.lock().unwrap().creates
    }

    /// Instances that live, and key pairs.
    pub(crate) fn standing(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap();
        (state.instances.iter().filter(|one| !one.state.is_gone()).count(), state.keys.len())
    }
}

#[async_trait]
impl Provider for ScriptedCloud {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Aws
    }

    fn settle(&self) -> Option<Duration> {
        self.state.lock().unwrap().settle
    }

    async fn identity(&self, _: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        Ok(CloudIdentity { account_id: "1".into(), name: "us".into() })
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

    async fn find_key(&self, _: &CloudAccount<'_>, _: &Fingerprints) -> Result<Option<CloudKey>, CloudError> {
        Ok(self.state.lock().unwrap().keys.first().cloned())
    }

    async fn upload_key(
        &self,
        _: &CloudAccount<'_>,
        name: &str,
        _: &KeyMaterial,
        launch_tag: &str,
    ) -> Result<CloudKey, CloudError> {
        let key = CloudKey { id: "key-1".into(), name: name.into(), launch_tag: Some(launch_tag.into()) };
        let mut state = self.state.lock().unwrap();
        if state.is_mute {
            state.late_keys = vec![key];
            return Err(no_answer());
        }
        state.keys.push(key.clone());
        Ok(key)
    }

    async fn delete_key(&self, _: &CloudAccount<'_>, key: &CloudKey) -> Result<(), CloudError> {
        self.change(|state| state.keys.retain(|other| other != key));
        Ok(())
    }

    async fn create(
        &self,
        _: &CloudAccount<'_>,
        order: &InstanceRequest,
        _: &str,
    ) -> Result<Created, CloudError> {
        let mut state = self.state.lock().unwrap();
        state.creates += 1;
        failing(state.create_fails)?;
        let address = (!state.has_no_addresses).then(|| "192.0.2.1".to_owned());
        let instance = |number: u32| CloudInstance {
            id: format!("i-{number}"),
            state: InstanceState::Running,
            public_dns: None,
            public_ipv4: address.clone(),
            private_ipv4: None,
            private_ipv6: None,
            reason: None,
        };
        let made: Vec<CloudInstance> = (1..=order.most).map(instance).collect();
        if state.is_mute {
            state.late_instances = made;
            return Err(no_answer());
        }
        state.instances = made;
        Ok(Created { reservation: None, instances: state.instances.clone(), again: None })
    }

    async fn find(
        &self,
        _: &CloudAccount<'_>,
        _: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        Ok(self.state.lock().unwrap().instances.clone())
    }

    async fn describe(&self, _: &CloudAccount<'_>, _: &[String]) -> Result<Vec<CloudInstance>, CloudError> {
        Ok(self.state.lock().unwrap().instances.clone())
    }

    async fn delete(&self, _: &CloudAccount<'_>, _: &[String]) -> Result<(), CloudError> {
        let mut state = self.state.lock().unwrap();
        failing(state.delete_fails)?;
        for instance in &mut state.instances {
            instance.state = InstanceState::Terminated;
        }
        Ok(())
    }
}
