//! Key pairs: uploaded once under a name, found by what they are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::caller::{ACCOUNT, AwsClient, AwsResponse, OTHER, SignedClient};

/// What `ssh-keygen` made, and the fingerprints that `openssl` and `ssh-keygen` give it.
const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC09/tc8qC4RokKFch3izQRBQ8CsSMNIsv6bZts1TrEZlVswIylFW/ka9CSEezF\
    UZ60xjOqkunIDwR5jGmJ4UOKoDrdl3gPNUnGdXwRuQYLo1StQKpma3CymOZRl+CaVyDnbN1Fw5RV3JUcv1O/FMfr+OtJUNJywcE2PUa0Ix7qLi0u\
    hgm09uD9yKehDinXN2NsK1jFLA1OZbXPhQnq68pchvrcFtr/L9y7Fn8iiflAPaSnTTfxzJjjHtsXXlpo6T48CNkU2LdOmcALl92/qPlUUwDIDVBL\
    GmZN+Zi0VAT0WuRsYHnDBejGj3hHWhNYmukwSRZR7pxbWMFxmCHet0Qn";
const RSA_FINGERPRINT: &str = "77:1e:47:df:dd:17:60:69:0f:34:8c:2b:2e:25:4f:1b";
pub(crate) const ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIW2VCvgFiWeHPmfs0VyQu8rwdSUbg7baw1qf3QHjl8V";
const ED25519_FINGERPRINT: &str = "lmm9F4wK2JoHrVF/DaNQnp47U7mzdv75zwQX/Uk0mzw=";

impl SignedClient<'_> {
    pub(crate) async fn import(&self, name: &str, line: &str, launch_tag: &str) -> AwsResponse {
        let fields = [
            ("KeyName", name),
            ("PublicKeyMaterial", &STANDARD.encode(line)),
            ("TagSpecification.1.ResourceType", "key-pair"),
            ("TagSpecification.1.Tag.1.Key", "provision-engine-launch"),
            ("TagSpecification.1.Tag.1.Value", launch_tag),
        ];
        self.call("ImportKeyPair", &fields).await
    }

    async fn names_by(&self, filter: &str, value: &str) -> Vec<String> {
        let fields = [("Filter.1.Name", filter), ("Filter.1.Value.1", value)];
        self.call("DescribeKeyPairs", &fields).await.done().texts("keyName")
    }
}

#[tokio::test]
async fn keys_are_found_by_their_fingerprints() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let answer = signed_client.import("old", RSA, "m1").await.done();
    assert_eq!(answer.text("keyFingerprint"), RSA_FINGERPRINT);
    assert!(answer.text("keyPairId").starts_with("key-0"), "{}", answer.body);
    signed_client.import("new", &format!("{ED25519} me@here\n"), "m2").await.done();
    assert_eq!(signed_client.names_by("fingerprint", RSA_FINGERPRINT).await, ["old"]);
    assert_eq!(signed_client.names_by("fingerprint", ED25519_FINGERPRINT).await, ["new"]);
    assert_eq!(signed_client.names_by("tag:provision-engine-launch", "m2").await, ["new"]);
    assert_eq!(signed_client.names_by("key-name", "*").await, ["new", "old"]);
    let all = signed_client.call("DescribeKeyPairs", &[]).await.done();
    assert_eq!(all.texts("keyType"), ["ed25519", "rsa"]);
    assert_eq!(all.texts("value"), ["m2", "m1"]);
}

#[tokio::test]
async fn a_name_is_taken_once_at_each_site() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    signed_client.import("key", ED25519, "m").await.done();
    let duplicate = signed_client.import("key", RSA, "m").await;
    assert_eq!(duplicate.code(), (400, "InvalidKeyPair.Duplicate".into()));
    SignedClient { region: "us-east-1", ..signed_client.clone() }.import("key", ED25519, "m").await.done();
    caller.role(OTHER, "launcher").await.import("key", ED25519, "m").await.done();
    assert_eq!(caller.standing("key_pair").await, 3);
    let effects = caller.get("/ledger").await["effects"].as_array().unwrap().clone();
    let token = effects[1]["token"].as_str().unwrap();
    assert!(token.starts_with(&format!("{ACCOUNT}/us-east-1/key-")), "{token}");
}

#[tokio::test]
async fn keys_that_ec2_does_not_take_are_refused() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let ecdsa = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA==";
    for line in [ecdsa, "", "ssh-rsa AAAA"] {
        assert_eq!(signed_client.import("key", line, "m").await.code(), (400, "InvalidKey.Format".into()));
    }
    let fields = [("KeyName", "key"), ("PublicKeyMaterial", ED25519)];
    let raw = signed_client.call("ImportKeyPair", &fields).await;
    assert_eq!(raw.code(), (400, "InvalidKey.Format".into()));
    let nameless = signed_client.import("", ED25519, "m").await;
    assert_eq!(nameless.code(), (400, "InvalidParameterValue".into()));
    assert_eq!(caller.standing("key_pair").await, 0);
}

#[tokio::test]
async fn deleting_what_is_not_there_is_success() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let id = signed_client.import("key", ED25519, "m").await.done().text("keyPairId");
    signed_client.call("DeleteKeyPair", &[("KeyName", "other")]).await.done();
    signed_client
        .call("DeleteKeyPair", &[("KeyName", "key"), ("KeyPairId", "key-00000000000000000")])
        .await
        .done();
    assert_eq!(caller.standing("key_pair").await, 1);
    let dry_run = signed_client.call("DeleteKeyPair", &[("KeyName", "key"), ("DryRun", "true")]).await;
    assert_eq!(dry_run.code(), (412, "DryRunOperation".into()));
    let deleted = signed_client.call("DeleteKeyPair", &[("KeyPairId", &id)]).await.done();
    assert_eq!((deleted.text("return"), deleted.text("keyPairId")), ("true".into(), id));
    assert_eq!(caller.standing("key_pair").await, 0);
    let gone = signed_client.call("DescribeKeyPairs", &[("KeyName.1", "key")]).await;
    assert_eq!(gone.code(), (400, "InvalidKeyPair.NotFound".into()));
    assert_eq!(signed_client.names_by("key-name", "key").await, [""; 0]);
    let nothing = signed_client.call("DeleteKeyPair", &[]).await;
    assert_eq!(nothing.code(), (400, "MissingParameter".into()));
}
