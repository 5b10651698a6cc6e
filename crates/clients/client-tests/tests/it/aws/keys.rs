//! Key pairs: the same key found again, uploaded, taken back.

use cloud::{Category, CloudKey, Fingerprints, KeyMaterial, Provider};

use super::fake::{CannedResponse, FakeAws, done, place, refused, role};

const HEX: &str = "1f:51:ae:28:bf:89:e9:d8:1f:25:5d:37:2d:7d:b8:ca:9f:f5:f1:6f";
const BASE64: &str = "qXc2DLE5KRnEDPXDFAYzBOyHnKVwXjhtLFcE2D3b3Xs=";

fn item(name: &str, fingerprint: &str, tags: &str) -> String {
    format!(
        "<item><keyPairId>key-{name}</keyPairId><keyFingerprint>{fingerprint}</keyFingerprint><keyName>{name}</keyName>\
         <tagSet>{tags}</tagSet></item>"
    )
}

fn listed(items: &[String]) -> CannedResponse {
    done("DescribeKeyPairs", &format!("<keySet>{}</keySet>", items.concat()))
}

fn tagged(launch_tag: &str) -> String {
    format!(
        "<item><key>Name</key><value>x</value></item><item><key>provision-engine-launch</key><value>{launch_tag}</value></item>"
    )
}

fn key(name: &str, launch_tag: Option<&str>) -> CloudKey {
    CloudKey { id: format!("key-{name}"), name: name.to_owned(), launch_tag: launch_tag.map(str::to_owned) }
}

fn wanted() -> Fingerprints {
    Fingerprints { any_of: vec![HEX.to_owned(), BASE64.to_owned()] }
}

#[tokio::test]
async fn a_key_is_found_by_any_of_its_fingerprints() {
    for shown in [HEX, BASE64] {
        let fake = FakeAws::answering(vec![listed(&[item("alice", shown, &tagged("mark-1"))])]).await;
        let found = fake.aws.find_key(&place(&role()), &wanted()).await.unwrap();
        assert_eq!(found, Some(key("alice", Some("mark-1"))));
        let asked = fake.last();
        assert_eq!(asked.get("Filter.1.Name"), Some("fingerprint"));
        assert_eq!(asked.list("Filter.1.Value"), [HEX, BASE64]);
    }
}

#[tokio::test]
async fn a_key_that_only_looks_alike_is_not_found() {
    let alike = [&HEX[..20], &HEX.to_uppercase(), &BASE64.to_lowercase(), ""];
    let items: Vec<String> = alike.iter().map(|shown| item("alice", shown, "")).collect();
    let fake = FakeAws::answering(vec![listed(&items)]).await;
    assert_eq!(fake.aws.find_key(&place(&role()), &wanted()).await.unwrap(), None);
    let nothing = Fingerprints { any_of: Vec::new() };
    assert_eq!(fake.aws.find_key(&place(&role()), &nothing).await.unwrap(), None);
    assert_eq!(fake.actions().len(), 2);
}

#[tokio::test]
async fn a_key_that_no_one_will_take_back_is_preferred() {
    let items = [item("a", HEX, &tagged("mark-1")), item("c", HEX, ""), item("b", HEX, "")];
    let fake = FakeAws::answering(vec![listed(&items)]).await;
    assert_eq!(fake.aws.find_key(&place(&role()), &wanted()).await.unwrap(), Some(key("b", None)));
}

#[tokio::test]
async fn an_uploaded_key_carries_the_mark() {
    let answer = format!(
        "<keyFingerprint>{HEX}</keyFingerprint><keyName>alice</keyName><keyPairId>key-alice</keyPairId>"
    );
    let fake = FakeAws::answering(vec![done("ImportKeyPair", &answer)]).await;
    let material = KeyMaterial { line: "ssh-ed25519 AAAAC3Nz".to_owned() };
    let uploaded = fake.aws.upload_key(&place(&role()), "alice", &material, "mark-1").await.unwrap();
    assert_eq!(uploaded, key("alice", Some("mark-1")));
    let asked = fake.last();
    for (name, value) in [
        ("KeyName", "alice"),
        ("PublicKeyMaterial", "c3NoLWVkMjU1MTkgQUFBQUMzTno="),
        ("TagSpecification.1.ResourceType", "key-pair"),
        ("TagSpecification.1.Tag.1.Key", "provision-engine-launch"),
        ("TagSpecification.1.Tag.1.Value", "mark-1"),
    ] {
        assert_eq!(asked.get(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_name_that_is_taken_is_told_as_such() {
    let fake = FakeAws::answering(vec![refused("ImportKeyPair", 400, "InvalidKeyPair.Duplicate")]).await;
    let material = KeyMaterial { line: "ssh-ed25519 AAAAC3Nz".to_owned() };
    let error = fake.aws.upload_key(&place(&role()), "alice", &material, "mark-1").await.unwrap_err();
    assert!(error.is(Category::Duplicate) && !error.may_have_happened(), "{error}");
}

#[tokio::test]
async fn a_key_is_deleted_by_its_name_when_it_is_still_the_same() {
    let gone = done("DeleteKeyPair", "<return>true</return>");
    let fake = FakeAws::answering(vec![listed(&[item("alice", HEX, "")]), gone.clone()]).await;
    fake.aws.delete_key(&place(&role()), &key("alice", None)).await.unwrap();
    assert_eq!(fake.asked()[1].get("KeyName.1"), Some("alice"));
    assert_eq!((fake.last().action(), fake.last().get("KeyName")), ("DeleteKeyPair", Some("alice")));

    // Another caller took the name in the meantime.
    let fake = FakeAws::answering(vec![listed(&[item("alice", HEX, "")]), gone.clone()]).await;
    let ours = CloudKey { id: "key-older".to_owned(), ..key("alice", None) };
    fake.aws.delete_key(&place(&role()), &ours).await.unwrap();
    assert_eq!(fake.actions(), ["AssumeRole", "DescribeKeyPairs"]);

    // Only the name is known.
    let fake = FakeAws::answering(vec![listed(&[item("alice", HEX, "")]), gone]).await;
    let named = CloudKey { id: String::new(), ..key("alice", None) };
    fake.aws.delete_key(&place(&role()), &named).await.unwrap();
    assert_eq!(fake.last().action(), "DeleteKeyPair");
}

#[tokio::test]
async fn a_key_that_is_not_there_needs_no_deleting() {
    let fake = FakeAws::answering(vec![refused("DescribeKeyPairs", 400, "InvalidKeyPair.NotFound")]).await;
    fake.aws.delete_key(&place(&role()), &key("alice", None)).await.unwrap();
    let fake = FakeAws::answering(vec![
        listed(&[item("alice", HEX, "")]),
        refused("DeleteKeyPair", 400, "InvalidKeyPair.NotFound"),
    ])
    .await;
    fake.aws.delete_key(&place(&role()), &key("alice", None)).await.unwrap();
    let fake = FakeAws::answering(vec![
        listed(&[item("alice", HEX, "")]),
        refused("DeleteKeyPair", 403, "UnauthorizedOperation"),
    ])
    .await;
    let error = fake.aws.delete_key(&place(&role()), &key("alice", None)).await.unwrap_err();
    assert!(error.is(Category::Permission), "{error}");
}
