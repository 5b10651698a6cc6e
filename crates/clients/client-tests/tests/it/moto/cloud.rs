//! What there is to choose from.

use cloud::{Access, Account, Architecture, Category, CloudAccount, CloudImage, InstanceType, Provider};

use super::checks::Checks;
use super::server::{ACCOUNT, Moto, REGION, place, role};

/// A RHEL image that moto has from the beginning.
pub(crate) const IMAGE: &str = "ami-bb9a6bc2";
const IMAGE_ARM: &str = "ami-0e9271c829888680e";
pub(crate) const NO_IMAGE: &str = "ami-0123456789abcdef0";

pub(crate) async fn is_seen(moto: &Moto, checks: &mut Checks) {
    identities(moto, checks).await;
    regions_and_types(moto, checks).await;
    images(moto, checks).await;
}

async fn identities(moto: &Moto, checks: &mut Checks) {
    for account_id in ["210987654321", ACCOUNT] {
        let identity = moto.aws.identity(&place(&role(account_id))).await.unwrap();
        checks.same(identity.account_id.as_str(), account_id);
        let name = format!("arn:aws:sts::{account_id}:assumed-role/launch/launch-of-moto");
        checks.same(identity.name, name);
    }
    let access = Access::Keys { id: "AKIATHEIRS".to_owned(), secret: "theirs".into() };
    let account = Account { access, ..role(ACCOUNT) };
    let identity = moto.aws.identity(&place(&account)).await.unwrap();
    checks.same(identity.account_id, ACCOUNT);
    checks.that(!identity.name.contains("assumed-role"), &identity.name);
}

async fn regions_and_types(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let regions = moto.aws.regions(&place(&account)).await.unwrap();
    checks.that(regions.is_sorted() && regions.len() > 10, &regions);
    for region in [REGION, "eu-central-1"] {
        checks.that(regions.iter().any(|name| name == region), region);
    }
    let types = moto.aws.instance_types(&place(&account)).await.unwrap();
    checks.that(types.len() > 300, types.len());
    checks.that(types.is_sorted_by_key(|one| one.name.clone()), "the types are in their order");
    checks.that(!types.iter().any(|one| one.name.starts_with("mac")), "no machine of Apple");
    for (name, vcpus, cores, memory_mib, architecture, has_disk) in [
        ("t3.micro", 2, 1, 1024, Architecture::X86_64, false),
        ("t4g.small", 2, 2, 2048, Architecture::Arm64, false),
        ("m5d.large", 2, 1, 8192, Architecture::X86_64, true),
    ] {
        let found = types.iter().find(|one| one.name == name).unwrap();
        let storage_gb = found.storage_gb;
        let expect = InstanceType {
            name: name.to_owned(),
            vcpus,
            cores,
            memory_mib,
            storage_gb,
            architecture,
            generations: Vec::new(),
        };
        checks.same(found, &expect);
        checks.same(storage_gb > 0, has_disk);
    }
    let elsewhere = CloudAccount { region: "eu-central-1", ..place(&account) };
    checks.that(moto.aws.instance_types(&elsewhere).await.unwrap().len() > 300, "another region has its own");
}

async fn images(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let place = place(&account);
    for (id, architecture) in [(IMAGE, Architecture::X86_64), (IMAGE_ARM, Architecture::Arm64)] {
        let image = moto.aws.image(&place, id).await.unwrap();
        let expect = CloudImage {
            id: id.to_owned(),
            architecture: Some(architecture),
            is_available: true,
            region: None,
            generation: None,
        };
        checks.same(image, Some(expect));
    }
    checks.same(moto.aws.image(&place, NO_IMAGE).await.unwrap(), None);
    let error = moto.aws.image(&place, "no image").await.unwrap_err();
    checks.that(error.is(Category::Invalid) && error.code.starts_with("InvalidAMIID"), &error);
}
