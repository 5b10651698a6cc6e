//! Launches that do not go straight: parameters that come later, failures, cancels, and what is left behind.

use rustix::process::Signal;
use serde_json::json;

use super::{AMI, HOW, LaunchCli};
use crate::stage::until_or;

const BUILD: [&str; 6] = ["--distribution", "rhel-9", "--image-name", "slow", "--source", "sandbox"];

#[test]
fn parameters_that_come_later_make_a_launch_of_a_build() {
    let stage = LaunchCli::open();
    let request = json!({"distribution": "rhel-9", "image_requests": [{
        "architecture": "x86_64", "image_type": "aws",
        "upload_request": {"type": "aws", "options": {"share_with_accounts": ["123456789012"]}},
    }]});
    stage.place.write("request.json", &request.to_string());
    let ran = stage.expect(0, &["launch", "--build", "request.json", "--deferred"]);
    let id = ran.out.trim();
    assert!(ran.err.contains(&format!("launches parameters {id}")), "{ran:?}");
    assert!(stage.expect(1, &["launches", "parameters", id]).err.contains("--source"));
    let wrong =
        stage.expect(2, &[&["launches", "parameters", id], &HOW[..], &["--type", "t9.none"]].concat());
    assert!(wrong.err.contains("cannot be used multiple times"), "{wrong:?}");
    let with_field_errors =
        ["launches", "parameters", id, "--source", "sandbox", "--type", "t9.none", "--key", "mine.pub"];
    assert!(stage.expect(1, &with_field_errors).err.contains("t9.none"));
    let ran = stage.expect(0, &[&["launches", "parameters", id, "--wait"], &HOW[..]].concat());
    assert!(ran.out.contains("ssh ec2-user@"), "{ran:?}");
    let late =
        ["launches", "parameters", id, "--source", "sandbox", "--type", "t3.large", "--key", "mine.pub"];
    stage.expect(5, &late);
    stage.close();
}

#[test]
fn a_launch_that_fails_is_a_failure_for_the_shell_and_can_be_retried() {
    let stage = LaunchCli::open();
    stage.turn("image-builder/faults/fail", &json!({"at": "building", "times": 1}));
    let ran = stage.expect(3, &[&["launch", "--distribution", "rhel-9", "--wait"], &HOW[..]].concat());
    assert!(ran.err.contains("failed    Building the image") && ran.err.contains("error: "), "{ran:?}");
    assert!(!ran.out.contains("ssh"), "{ran:?}");
    let id = stage.expect(0, &["launches", "list", "--state", "failed", "-o", "name"]).out;
    let id = id.trim();
    assert_eq!(stage.expect(3, &["launches", "watch", id, "-o", "name"]).out.trim(), "failed");
    stage.expect(5, &["launches", "cleanup", id]);
    let again = stage.expect(0, &["launches", "retry", id, "--wait"]);
    assert!(again.out.contains("ssh ec2-user@") && again.err.contains(": succeeded"), "{again:?}");
    stage.expect(5, &["launches", "retry", id]);
    stage.close();
}

#[test]
fn a_launch_is_cancelled_and_leaves_nothing() {
    let stage = LaunchCli::open();
    stage.turn("image-builder/faults/hold", &json!({"times": 1}));
    let id = stage.begin(&[&BUILD[..], &["--type", "t3.small", "--key", "mine.pub"]].concat());
    until_or(|| (stage.state(&id) == "building").then_some(()), || stage.state(&id));
    let short = stage.expect(4, &["launches", "watch", &id, "--timeout", "100ms"]);
    assert!(short.err.contains(&format!("launches watch {id}")), "{short:?}");
    let unsure = stage.expect(1, &["launches", "cancel", &id, "--terminate"]);
    assert!(unsure.err.contains("give --yes"), "{unsure:?}");
    let ran = stage.expect(0, &["launches", "cancel", &id, "--wait"]);
    assert!(ran.err.contains("is cancelled"), "{ran:?}");
    assert_eq!(stage.state(&id), "cancelled");
    assert_eq!((stage.standing("ec2/instance"), stage.standing("ec2/key_pair")), (0, 0));
    stage.expect(5, &["launches", "cancel", &id]);
    stage.close();
}

#[test]
fn who_leaves_closes_the_window_and_the_profile_says_what_that_means() {
    let stage = LaunchCli::open();
    stage.turn("image-builder/faults/hold", &json!({"times": 0}));
    for (detach, state, words) in
        [("continue", "building", "it continues"), ("cancel", "cancelled", "being cancelled")]
    {
        let option = format!("detach={detach}");
        let more = ["--type", "t3.small", "--key", "mine.pub", "--wait", "--option", &option, "-o", "name"];
        let going = stage.place.begin(&[&["launch"], &BUILD[..], &more].concat());
        let id = until_or(|| Some(going.out().trim().to_owned()).filter(|id| !id.is_empty()), || going.err());
        until_or(|| going.err().contains("Building the image").then_some(()), || going.err());
        going.signal(Signal::INT);
        let ran = going.end();
        assert!(ran.code == Some(130) && ran.err.contains(words), "{ran:?}");
        until_or(|| (stage.state(&id) == state).then_some(()), || stage.state(&id));
    }
    stage.close();
}

#[test]
fn what_is_left_behind_is_told_and_cleaned_up() {
    let stage = LaunchCli::open();
    stage.turn("aws/faults/die", &json!({"code": "Server.InternalError"}));
    let denied = json!({"action": "DeleteKeyPair", "code": "UnauthorizedOperation", "times": 0});
    stage.turn("aws/faults/fail", &denied);
    let ran = stage.expect(3, &[&["launch", "--image", AMI, "--wait"], &HOW[..]].concat());
    let id = stage.expect(0, &["launches", "list", "--state", "dirty", "-o", "name"]).out;
    let id = id.trim();
    assert!(
        ran.err.contains("failed dirty") && ran.err.contains(&format!("launches cleanup {id}")),
        "{ran:?}"
    );
    stage.expect(5, &["launches", "retry", id]);
    stage.expect(3, &["launches", "cleanup", id, "--wait"]);
    stage.clear("aws/faults/fail");
    let clean = stage.expect(0, &["launches", "cleanup", id, "--wait"]);
    assert!(clean.err.contains(": failed"), "{clean:?}");
    assert_eq!((stage.standing("ec2/instance"), stage.standing("ec2/key_pair")), (0, 0));
    stage.close();
}
