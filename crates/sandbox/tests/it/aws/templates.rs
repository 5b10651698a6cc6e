//! Launch templates: what they say counts where a call says nothing else.

use serde_json::json;

use super::caller::{AMI, AwsClient, AwsResponse, OTHER, SignedClient};

impl SignedClient<'_> {
    async fn template(&self, name: &str) -> AwsResponse {
        let fields = [
            ("LaunchTemplateName", name),
            ("LaunchTemplateData.ImageId", AMI),
            ("LaunchTemplateData.InstanceType", "m5.large"),
            ("LaunchTemplateData.UserData", "eA=="),
            ("LaunchTemplateData.TagSpecification.1.ResourceType", "instance"),
            ("LaunchTemplateData.TagSpecification.1.Tag.1.Key", "team"),
            ("LaunchTemplateData.TagSpecification.1.Tag.1.Value", "blue"),
        ];
        self.call("CreateLaunchTemplate", &fields).await
    }
}

#[tokio::test]
async fn a_template_fills_in_what_the_call_leaves_out() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let id = signed_client.template("base").await.done().text("launchTemplateId");
    let counts = [("MinCount", "1"), ("MaxCount", "1")];
    let by_id = [&counts[..], &[("LaunchTemplate.LaunchTemplateId", &id)]].concat();
    let made = signed_client.call("RunInstances", &by_id).await.done();
    assert_eq!((made.text("imageId"), made.text("instanceType")), (AMI.into(), "m5.large".into()));
    let other = [
        ("LaunchTemplate.LaunchTemplateName", "base"),
        ("LaunchTemplate.Version", "$Latest"),
        ("InstanceType", "t3.small"),
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "Name"),
        ("TagSpecification.1.Tag.1.Value", "web"),
    ];
    let made = signed_client.call("RunInstances", &[&counts[..], &other].concat()).await.done();
    assert_eq!(
        (made.text("instanceType"), made.texts("value")),
        ("t3.small".into(), vec!["web".into(), "blue".into()])
    );
    let shown = caller.get("/aws/instances").await;
    assert_eq!(shown["instances"][1]["user_data"]["bytes"], json!(1));
    let versions =
        [&counts[..], &[("LaunchTemplate.LaunchTemplateName", "base"), ("LaunchTemplate.Version", "2")]];
    let answer = signed_client.call("RunInstances", &versions.concat()).await;
    assert_eq!(answer.code(), (400, "InvalidLaunchTemplateId.VersionNotFound".into()));
    let bare = signed_client.call("RunInstances", &counts).await;
    assert_eq!(bare.code(), (400, "MissingParameter".into()));
}

#[tokio::test]
async fn templates_come_in_pages_and_belong_to_one_site() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    for name in ["one", "two", "three"] {
        signed_client.template(name).await.done();
    }
    let first = signed_client.call("DescribeLaunchTemplates", &[("MaxResults", "2")]).await.done();
    assert_eq!(first.texts("launchTemplateName"), ["one", "two"]);
    let next = first.text("nextToken");
    let rest =
        signed_client.call("DescribeLaunchTemplates", &[("MaxResults", "2"), ("NextToken", &next)]).await;
    let rest = rest.done();
    assert_eq!((rest.texts("launchTemplateName"), rest.texts("nextToken")), (vec!["three".into()], vec![]));
    let outsider = caller.role(OTHER, "launcher").await;
    let theirs = outsider.call("DescribeLaunchTemplates", &[]).await.done();
    assert_eq!(theirs.texts("launchTemplateName"), [""; 0]);
    let named = outsider.call("DescribeLaunchTemplates", &[("LaunchTemplateName.1", "one")]).await;
    assert_eq!(named.code(), (400, "InvalidLaunchTemplateName.NotFoundException".into()));
}

#[tokio::test]
async fn a_template_is_made_once_and_can_be_deleted() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let id = signed_client.template("base").await.done().text("launchTemplateId");
    let again = signed_client.template("base").await;
    assert_eq!(again.code(), (400, "InvalidLaunchTemplateName.AlreadyExistsException".into()));
    let odd = signed_client.template("a name").await;
    assert_eq!(odd.code(), (400, "InvalidLaunchTemplateName.MalformedException".into()));
    assert_eq!(caller.standing("launch_template").await, 1);
    signed_client.call("DeleteLaunchTemplate", &[("LaunchTemplateId", &id)]).await.done();
    assert_eq!(caller.standing("launch_template").await, 0);
    let gone = signed_client.run(&[("LaunchTemplate.LaunchTemplateId", &id)]).await;
    assert_eq!(gone.code(), (400, "InvalidLaunchTemplateId.NotFound".into()));
    let odd = signed_client.call("DescribeLaunchTemplates", &[("LaunchTemplateId.1", "x")]).await;
    assert_eq!(odd.code(), (400, "InvalidLaunchTemplateId.Malformed".into()));
}
