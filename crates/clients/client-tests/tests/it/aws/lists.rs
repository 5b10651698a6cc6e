//! What an account has to choose from.

use cloud::{
    Architecture, Category, CloudIdentity, CloudImage, InstanceType, LaunchTemplate, Page, Provider,
    ProviderKind,
};

use super::fake::{FakeAws, done, place, refused, role};

#[tokio::test]
async fn an_identity_is_the_account_and_our_name_in_it() {
    let body = "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
                <Arn>arn:aws:sts::123456789012:assumed-role/launch/launch-1</Arn><UserId>AROA:launch-1</UserId>\
                <Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>";
    let fake = FakeAws::answering(vec![("GetCallerIdentity", 200, body.to_owned())]).await;
    assert_eq!(fake.aws.kind(), ProviderKind::Aws);
    let name = "arn:aws:sts::123456789012:assumed-role/launch/launch-1".to_owned();
    let expect = CloudIdentity { account_id: "123456789012".to_owned(), name };
    assert_eq!(fake.aws.identity(&place(&role())).await.unwrap(), expect);
    // The role itself is asked who it is.
    assert_eq!(fake.last().credential(), "ASIATAKEN/20260301/us-east-1/sts/aws4_request");
}

#[tokio::test]
async fn regions_come_in_their_order() {
    let set = "<regionInfo><item><regionName>us-east-1</regionName><regionEndpoint>x</regionEndpoint></item>\
               <item><regionName>ap-south-1</regionName></item></regionInfo>";
    let fake = FakeAws::answering(vec![done("DescribeRegions", set)]).await;
    assert_eq!(fake.aws.regions(&place(&role())).await.unwrap(), ["ap-south-1", "us-east-1"]);
}

fn kind(name: &str, architectures: &[&str], more: &str) -> String {
    let all = format!("<item>{}</item>", architectures.join("</item><item>"));
    format!(
        "<item><instanceType>{name}</instanceType><processorInfo><supportedArchitectures>{all}</supportedArchitectures>\
         </processorInfo><memoryInfo><sizeInMiB>2048</sizeInMiB></memoryInfo>{more}</item>"
    )
}

#[tokio::test]
async fn all_pages_of_instance_types_are_read_and_machines_of_other_kinds_left_out() {
    let cpus = "<vCpuInfo><defaultVCpus>4</defaultVCpus><defaultCores>2</defaultCores></vCpuInfo>";
    let disk = "<instanceStorageInfo><totalSizeInGB>75</totalSizeInGB></instanceStorageInfo>";
    let first = format!(
        "<instanceTypeSet>{}{}</instanceTypeSet><nextToken>2</nextToken>",
        kind("t3.small", &["i386", "x86_64"], cpus),
        kind("mac2.metal", &["arm64_mac"], cpus)
    );
    let second = format!(
        "<instanceTypeSet>{}</instanceTypeSet>",
        kind("m6gd.large", &["arm64"], &format!("<vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo>{disk}"))
    );
    let fake = FakeAws::answering(vec![
        done("DescribeInstanceTypes", &first),
        done("DescribeInstanceTypes", &second),
    ])
    .await;
    let types = fake.aws.instance_types(&place(&role())).await.unwrap();
    let expect = [
        InstanceType {
            name: "m6gd.large".to_owned(),
            vcpus: 2,
            cores: 2,
            memory_mib: 2048,
            storage_gb: 75,
            architecture: Architecture::Arm64,
            generations: Vec::new(),
        },
        InstanceType {
            name: "t3.small".to_owned(),
            vcpus: 4,
            cores: 2,
            memory_mib: 2048,
            storage_gb: 0,
            architecture: Architecture::X86_64,
            generations: Vec::new(),
        },
    ];
    assert_eq!(types, expect);
    assert_eq!(fake.last().get("NextToken"), Some("2"));
}

#[tokio::test]
async fn an_image_is_there_or_it_is_not() {
    let image = |architecture: &str, state: &str| {
        let set = format!(
            "<imagesSet><item><imageId>ami-1</imageId><imageState>{state}</imageState>\
             <architecture>{architecture}</architecture></item></imagesSet>"
        );
        done("DescribeImages", &set)
    };
    let fake = FakeAws::answering(vec![
        image("arm64", "available"),
        image("i386", "pending"),
        done("DescribeImages", "<imagesSet/>"),
        refused("DescribeImages", 400, "InvalidAMIID.NotFound"),
        refused("DescribeImages", 400, "InvalidAMIID.Malformed"),
    ])
    .await;
    let account = role();
    let place = place(&account);
    let found = |architecture, is_available| {
        Some(CloudImage {
            id: "ami-1".to_owned(),
            architecture,
            is_available,
            region: None,
            generation: None,
        })
    };
    assert_eq!(fake.aws.image(&place, "ami-1").await.unwrap(), found(Some(Architecture::Arm64), true));
    assert_eq!(fake.last().get("ImageId.1"), Some("ami-1"));
    assert_eq!(fake.aws.image(&place, "ami-1").await.unwrap(), found(None, false));
    assert_eq!(fake.aws.image(&place, "ami-1").await.unwrap(), None);
    assert_eq!(fake.aws.image(&place, "ami-1").await.unwrap(), None);
    assert!(fake.aws.image(&place, "no").await.unwrap_err().is(Category::Invalid));
}

#[tokio::test]
async fn templates_come_page_by_page() {
    let set = "<launchTemplates><item><launchTemplateId>lt-1</launchTemplateId><launchTemplateName>web</launchTemplateName>\
               </item></launchTemplates>";
    let fake = FakeAws::answering(vec![
        done("DescribeLaunchTemplates", &format!("{set}<nextToken>2</nextToken>")),
        done("DescribeLaunchTemplates", "<launchTemplates/><nextToken></nextToken>"),
    ])
    .await;
    let account = role();
    let place = place(&account);
    let first = fake.aws.templates(&place, &Page { limit: 50, token: None }).await.unwrap();
    assert_eq!(first.items, [LaunchTemplate { id: "lt-1".to_owned(), name: "web".to_owned() }]);
    assert_eq!((fake.last().get("MaxResults"), fake.last().get("NextToken")), (Some("50"), None));
    let second = fake.aws.templates(&place, &Page { limit: 9999, token: first.next }).await.unwrap();
    assert_eq!((second.items.len(), second.next), (0, None));
    assert_eq!((fake.last().get("MaxResults"), fake.last().get("NextToken")), (Some("200"), Some("2")));
}
