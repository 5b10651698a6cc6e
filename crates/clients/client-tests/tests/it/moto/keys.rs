//! Key pairs of both kinds.

use cloud::{Category, CloudKey, Fingerprints, KeyMaterial, Provider};

use super::checks::Checks;
use super::server::{ACCOUNT, Moto, place, role};

/// Keys that no caller has the other half of, and their fingerprints as `openssl` computes them: MD5 and SHA-256 of the
/// public key in DER.
const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC0XQaoRmRw1l8X9ZDn76PqTcwOHLpKyMvux2tWeSerdC8YaKXhTuo3z8Vx4pfxN\
                   3NYtA50rxQTJi48elwJEE23HeXc3IMlBZQAc6t/T+mzwJYVqlJEbEfB/vbvCHwBPkbHYVldLSEUfveeZIepmUmvi3UeB490K6lJDc\
                   Nd9k7N14V44kv5bdeKwxBGqO2oJLsDgahP9w1v4ysv4jDnBKmmc2DnrwRxBE2JLkyYP+9d43pAN0WhSFsGEJ/L1DtxHHsVbBi+x2A\
                   D2J0R9CZsqdxuepRfo2YrATtizoPcjduseXKed3Y10Va9eAEYroMhMD73A9jEtN6R23PL5A6PZ0z3";
const RSA_MD5: &str = "f006f49f34b7b0506604d5d9e1401d0a";
const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGASG1mVRNQdz4oI1DHtsJOpwUp+yfyo+W4UYma5fa/3";
const ED25519_SHA256: &str = "dddac79cae2476ce853288024ec4e010f0fde484f7aca007813b2ad872df99dc";

fn colons(hex: &str) -> String {
    let pairs: Vec<&str> = (0..hex.len()).step_by(2).map(|at| &hex[at..at + 2]).collect();
    pairs.join(":")
}

pub(crate) async fn come_and_go(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let place = place(&account);
    for (name, line, fingerprint) in [("rsa key", RSA, RSA_MD5), ("ed25519", ED25519, ED25519_SHA256)] {
        let material = KeyMaterial { line: line.to_owned() };
        // As AWS would list it is among them, and is not what moto has.
        let any_of = vec!["rGhW/e54bLlmQjNgZkRBXd2PYCKPVhCObPOPxCHuMac=".to_owned(), colons(fingerprint)];
        let fingerprints = Fingerprints { any_of };
        checks.same(moto.aws.find_key(&place, &fingerprints).await.unwrap(), None);
        let uploaded = moto.aws.upload_key(&place, name, &material, "mark-of-key").await.unwrap();
        checks.same((uploaded.name.as_str(), uploaded.launch_tag.as_deref()), (name, Some("mark-of-key")));
        checks.that(uploaded.id.starts_with("key-"), &uploaded);
        checks.same(moto.aws.find_key(&place, &fingerprints).await.unwrap().as_ref(), Some(&uploaded));
        let again = moto.aws.upload_key(&place, name, &material, "mark-of-key").await.unwrap_err();
        checks.that(again.is(Category::Duplicate) && again.code == "InvalidKeyPair.Duplicate", &again);

        let older = CloudKey { id: "key-0".to_owned(), ..uploaded.clone() };
        moto.aws.delete_key(&place, &older).await.unwrap();
        checks.that(
            moto.aws.find_key(&place, &fingerprints).await.unwrap().is_some(),
            "another key of that name",
        );
        moto.aws.delete_key(&place, &uploaded).await.unwrap();
        checks.same(moto.aws.find_key(&place, &fingerprints).await.unwrap(), None);
        moto.aws.delete_key(&place, &uploaded).await.unwrap();
        checks.that(true, "deleting it again is no error");
    }
    let broken = KeyMaterial { line: "ssh-rsa AAAA".to_owned() };
    let error = moto.aws.upload_key(&place, "broken", &broken, "mark-of-key").await.unwrap_err();
    checks.that(error.is(Category::Invalid), &error);
}

/// A key pair for launches.
pub(crate) async fn uploaded(moto: &Moto) -> CloudKey {
    let account = role(ACCOUNT);
    let material = KeyMaterial { line: ED25519.to_owned() };
    moto.aws.upload_key(&place(&account), "of launches", &material, "mark-of-key").await.unwrap()
}
