//! The base: the same calls, in the same order, by the drivers alone.

use std::sync::Arc;
use std::time::Duration;

use ::aws::{self, Aws};
use ::cloud::{Access, Account, CloudAccount, InstanceRequest, Provider, ProviderKind};
use ::identity::{CallerIdentity, Organisation};
use ::image_builder::{BuildStatus, ImageBuilder};
use ::launch::model::public_key::PublicKey;
use anyhow::{Context, Result, ensure};
use engine::{Clock, WallClock};
use sandbox::Sandbox;

use super::asking::{ACCOUNT, DISTRIBUTION, INSTANCE_TYPE, KEY, REGION, build, each, organisation};
use super::fake::FakeClouds;
use super::{AT_ONCE, Carried};
use crate::load::as_float;

const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Direct {
    builder: ImageBuilder,
    aws: Aws,
    account: Account,
    key: PublicKey,
}

/// Makes so many launches in a sandbox of their own.
pub(super) async fn all(count: usize) -> Result<Carried> {
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
    let (fake, direct) = (FakeClouds::at(&sandbox.url())?, Arc::new(Direct::new(&sandbox.url())?));
    fake.at_once().await?;
    direct.bring_key().await?;
    let before = fake.calls().await?;
    let began = WallClock.now();
    let work = |number| {
        let direct = Arc::clone(&direct);
        async move { direct.launch(number).await }
    };
    each(AT_ONCE, count, work).await?;
    let elapsed = WallClock.now().since(began).as_secs_f64();
    let (count, calls) = (as_float(u64::try_from(count)?), fake.calls().await?.since(&before));
    sandbox.stop().await;
    Ok(Carried { per_second: count / elapsed, calls_each: as_float(calls.total()) / count, calls })
}

impl Direct {
    pub(super) fn new(sandbox: &str) -> Result<Direct> {
        let access =
            Access::Role { arn: format!("arn:aws:iam::{ACCOUNT}:role/provision-engine"), external_id: None };
        Ok(Direct {
            builder: ImageBuilder::new(&format!("{sandbox}/api/image-builder/v1"), TIMEOUT)?,
            aws: Aws::new(&aws::Options { timeout: TIMEOUT, ..aws::Options::beside(sandbox) })?,
            account: Account {
                org: "bench".to_owned(),
                source: "sandbox".to_owned(),
                provider: ProviderKind::Aws,
                access,
            },
            key: PublicKey::parse(KEY)?,
        })
    }

    fn place<'a>(&'a self, session: &'a str) -> CloudAccount<'a> {
        CloudAccount { account: &self.account, region: REGION, session }
    }

    /// The account has the key from the beginning, so that every launch makes the same calls.
    pub(super) async fn bring_key(&self) -> Result<()> {
        self.aws.upload_key(&self.place("key"), "bench", &self.key.material(), "bench").await?;
        Ok(())
    }

    async fn launch(&self, number: usize) -> Result<()> {
        let name = format!("base-{number}");
        let place = self.place(&name);
        let who = Organisation { org: organisation(number), account: Some("1".to_owned()) };
        let who = CallerIdentity::from(&who);
        self.builder.architectures(&who, DISTRIBUTION).await?;
        self.aws.identity(&place).await?;
        self.aws.dry_run(&place, &order(&name, None, None)).await?;
        let id = self.builder.submit(&who, &build(&name)).await?;
        let compose = self.builder.status(&who, id).await?;
        ensure!(compose.status == BuildStatus::Success, "an image is not ready at once");
        let image = compose.upload.and_then(|upload| upload.ami).context("an image has no name")?;
        self.aws.identity(&place).await?;
        self.aws.image(&place, &image).await?.context("an image cannot be seen")?;
        let order_of = |key| order(&name, Some(image.clone()), key);
        self.aws.dry_run(&place, &order_of(None)).await?;
        let key =
            self.aws.find_key(&place, &self.key.aws_fingerprints()).await?.context("the key is gone")?;
        let made = self.aws.create(&place, &order_of(Some(key.name)), &name).await?.instances;
        let ids: Vec<String> = made.into_iter().map(|instance| instance.id).collect();
        let seen = self.aws.describe(&place, &ids).await?;
        let has_address = seen.iter().all(|instance| instance.public_ipv4.is_some());
        ensure!(has_address && seen.len() == 1, "an instance has no address at once");
        self.aws.find(&place, &InstanceRequest::new(name.clone())).await?;
        Ok(())
    }
}

fn order(name: &str, image: Option<String>, key_name: Option<String>) -> InstanceRequest {
    let tag = |key: &str| (key.to_owned(), name.to_owned());
    InstanceRequest {
        name: Some(name.to_owned()),
        image,
        instance_type: Some(INSTANCE_TYPE.to_owned()),
        key_name,
        tags: ["rh-rid", "rh-org"].map(tag).into(),
        ..InstanceRequest::new(name)
    }
}
