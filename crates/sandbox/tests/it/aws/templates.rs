//! Launch templates: what they say counts where a call says nothing else.

use serde_json::json;

use super::caller::{AMI, Answer, Caller, OTHER, Somebody};

impl Somebody<'_> {
    async fn template(&self, name: &str) -> Answer {
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
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    let id = somebody.template("base").await.done().text("launchTemplateId");
    let counts = [("MinCount", "1"), ("MaxCount", "1")];
    let by_id = [&counts[..], &[("LaunchTemplate.LaunchTemplateId", &id)]].concat();
    let made = somebody.call("RunInstances", &by_id).await.done();
    assert_eq!((made.text("imageId"), made.text("instanceType")), (AMI.into(), "m5.large".into()));
    let other = [
        ("LaunchTemplate.LaunchTemplateName", "base"),
        ("LaunchTemplate.Version", "$Latest"),
        ("InstanceType", "t3.small"),
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "Name"),
        ("TagSpecification.1.Tag.1.Value", "web"),
    ];
    let made = somebody.call("RunInstances", &[&counts[..], &other].concat()).await.done();
    assert_eq!(
        (made.text("instanceType"), made.texts("value")),
        ("t3.small".into(), vec!["web".into(), "blue".into()])
    );
    let shown = caller.get("/aws/instances").await;
    assert_eq!(shown["instances"][1]["user_data"]["bytes"], json!(1));
    let versions =
        [&counts[..], &[("LaunchTemplate.LaunchTemplateName", "base"), ("LaunchTemplate.Version", "2")]];
    let answer = somebody.call("RunInstances", &versions.concat()).await;
    assert_eq!(answer.code(), (400, "InvalidLaunchTemplateId.VersionNotFound".into()));
    let bare = somebody.call("RunInstances", &counts).await;
    assert_eq!(bare.code(), (400, "MissingParameter".into()));
}

#[tokio::test]
async fn templates_come_in_pages_and_belong_to_one_site() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    for name in ["one", "two", "three"] {
        somebody.template(name).await.done();
    }
    let first = somebody.call("DescribeLaunchTemplates", &[("MaxResults", "2")]).await.done();
    assert_eq!(first.texts("launchTemplateName"), ["one", "two"]);
    let next = first.text("nextToken");
    let rest = somebody.call("DescribeLaunchTemplates", &[("MaxResults", "2"), ("NextToken", &next)]).await;
    let rest = rest.done();
    assert_eq!((rest.texts("launchTemplateName"), rest.texts("nextToken")), (vec!["three".into()], vec![]));
    let stranger = caller.role(OTHER, "launcher").await;
    let theirs = stranger.call("DescribeLaunchTemplates", &[]).await.done();
    assert_eq!(theirs.texts("launchTemplateName"), [""; 0]);
    let named = stranger.call("DescribeLaunchTemplates", &[("LaunchTemplateName.1", "one")]).await;
    assert_eq!(named.code(), (400, "InvalidLaunchTemplateName.NotFoundException".into()));
}

#[tokio::test]
async fn a_template_is_made_once_and_can_be_deleted() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    let id = somebody.template("base").await.done().text("launchTemplateId");
    let again = somebody.template("base").await;
    assert_eq!(again.code(), (400, "InvalidLaunchTemplateName.AlreadyExistsException".into()));
    let odd = somebody.template("a name").await;
    assert_eq!(odd.code(), (400, "InvalidLaunchTemplateName.MalformedException".into()));
    assert_eq!(caller.standing("launch_template").await, 1);
    somebody.call("DeleteLaunchTemplate", &[("LaunchTemplateId", &id)]).await.done();
    assert_eq!(caller.standing("launch_template").await, 0);
    let gone = somebody.run(&[("LaunchTemplate.LaunchTemplateId", &id)]).await;
    assert_eq!(gone.code(), (400, "InvalidLaunchTemplateId.NotFound".into()));
    let odd = somebody.call("DescribeLaunchTemplates", &[("LaunchTemplateId.1", "x")]).await;
    assert_eq!(odd.code(), (400, "InvalidLaunchTemplateId.Malformed".into()));
}
