//! What a user at a terminal is asked, and sees.

use serde_json::json;

use super::{AMI, KEY, LaunchCli};

#[test]
fn what_is_missing_is_asked_for_with_what_there_is() {
    let stage = LaunchCli::open();
    std::fs::create_dir(stage.place.path(".ssh")).unwrap();
    stage.place.write(".ssh/id_ed25519.pub", KEY);
    // The image, account, region, a search that finds one type, the own key, how many, and yes.
    let lines = [AMI, "1", "", "t3.smal", "1", "", "2", "y"];
    let (code, seen) = stage.place.typed(&["launch"], &lines);
    for part in [
        "   1  sandbox  sandbox",
        "Region [us-east-1]: ",
        "id_ed25519.pub",
        "type      t3.small",
        "count     2",
        "Launch? [Y/n]: ",
        "done      Launching the instances",
        "ssh ec2-user@",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert_eq!((code, stage.standing("ec2/instance")), (Some(0), 2), "{seen}");
    let kept = stage.json(&["pubkeys", "list"]);
    assert_eq!(kept["items"][0]["name"], "ada@example");
    stage.close();
}

#[test]
fn a_build_is_asked_for_and_its_progress_shown_and_no_means_nothing() {
    let stage = LaunchCli::open();
    stage.expect(0, &["pubkeys", "create", "mine.pub", "--name", "kept"]);
    let given =
        ["launch", "--source", "sandbox", "--type", "t3.small", "--region", "us-east-1", "--count", "1"];
    // To build, which distribution, architecture and packages, the key that is kept, and no.
    let answers = ["1", "", "1", "vim", "1"];
    let (code, seen) = stage.place.typed(&given, &[&answers[..], &["n"]].concat());
    assert!(code == Some(1) && seen.contains("nothing was launched"), "{seen}");
    assert!(seen.contains("image     rhel-9 for x86_64, built first"), "{seen}");
    assert_eq!(stage.standing("image_builder/compose"), 0);
    // Long enough to be seen also while the machine is busy.
    let delay_times =
        json!({"pending_ms": 50, "building_ms": 3000, "uploading_ms": 50, "registering_ms": 50});
    stage.turn("image-builder/pace", &delay_times);
    let (code, seen) = stage.place.typed(&[&given[..], &["--yes"]].concat(), &answers);
    assert!(code == Some(0) && seen.contains("Building the image ["), "{seen}");
    assert!(seen.contains("\x1b[K") && seen.contains("ssh ec2-user@"), "{seen}");
    stage.close();
}

#[test]
fn something_that_cannot_be_undone_is_asked_about() {
    let stage = LaunchCli::open();
    stage.expect(0, &["pubkeys", "create", "mine.pub", "--name", "kept"]);
    let delete = ["pubkeys", "delete", "kept"];
    let (code, seen) = stage.place.typed(&delete, &[""]);
    assert!(code == Some(1) && seen.contains("Delete public key kept? [y/N]"), "{seen}");
    assert_eq!(stage.place.typed(&delete, &["y"]).0, Some(0));
    assert_eq!(stage.expect(0, &["pubkeys", "list", "-o", "name"]).out, "");
    stage.close();
}
