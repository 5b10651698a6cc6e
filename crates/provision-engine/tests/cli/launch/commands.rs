//! Every command once, in the forms for people and for scripts.

use serde_json::json;

use super::{AMI, HOW, KEY, LaunchCli};
use crate::stage::DataDirectory;

#[test]
fn an_image_of_the_cloud_is_launched_and_every_list_shows_it() {
    let stage = LaunchCli::open();
    let more = ["--image", AMI, "--count", "2", "--name", "web", "--wait"];
    let ran = stage.expect(0, &[&["launch"], &HOW[..], &more].concat());
    let logins: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("ssh ec2-user@")).collect();
    assert!(ran.out.starts_with("INSTANCE") && logins.len() == 2, "{ran:?}");
    assert!(
        ran.err.contains("done      Launching the instances") && ran.err.contains(": succeeded"),
        "{ran:?}"
    );
    assert_eq!(stage.standing("ec2/instance"), 2);

    let listed = stage.json(&["launches", "list", "--state", "succeeded"]);
    let (id, number) = (listed["items"][0]["id"].as_str().unwrap(), &listed["items"][0]["reservation_id"]);
    assert_eq!(stage.json(&["launches", "list", "--state", "failed"]), json!({"items": []}));
    let row = stage.expect(0, &["launches", "list", "-o", "wide"]).out;
    for part in [id, "succeeded", "web", "t3.small", "2/2", AMI] {
        assert!(row.contains(part), "{part}: {row}");
    }
    assert_eq!(stage.expect(0, &["launches", "list", "-o", "name"]).out.trim(), id);

    let shown = stage.expect(0, &["launches", "show", &number.to_string()]).out;
    for part in [id, "launch_instances", "us-east-1", logins[0], logins[1]] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(stage.json(&["launches", "show", id])["profile"]["detach"], "continue", "nothing is left out");
    let table = stage.expect(0, &["launches", "show", id, "--csv"]).out;
    assert!(table.starts_with("launch,instance,state,") && table.lines().count() == 3, "{table}");

    let watched = stage.expect(0, &["launches", "watch", id, "-o", "json"]).out;
    assert!(watched.lines().count() == 1 && watched.contains("\"state\":\"succeeded\""), "{watched}");

    let inventory = stage.json(&["inventory", "--state", "running", "--name", "web"]);
    assert_eq!(inventory["items"].as_array().unwrap().len(), 2, "{inventory}");
    assert_eq!(stage.json(&["inventory", "--name", "db"]), json!({"items": []}));
    let table = stage.expect(0, &["inventory", "--csv", "--launch", id]).out;
    assert!(table.starts_with("launch,reservation,") && table.lines().count() == 3, "{table}");
    stage.close();
}

#[test]
fn machines_are_terminated_when_that_is_meant() {
    let stage = LaunchCli::open();
    stage.expect(0, &[&["launch", "--image", AMI, "--count", "3", "--wait"], &HOW[..]].concat());
    let listed = stage.expect(0, &["inventory", "-o", "name"]).out;
    let ids: Vec<&str> = listed.lines().collect();
    assert!(stage.expect(1, &["inventory", "terminate", ids[0]]).err.contains("give --yes"));
    assert_eq!(stage.standing("ec2/instance"), 3);
    let gone = stage.expect(0, &["inventory", "terminate", ids[0], ids[1], "--yes", "--wait"]);
    assert_eq!(gone.out.matches("terminated").count(), 2, "{gone:?}");
    assert_eq!(stage.standing("ec2/instance"), 1);
    let again = stage.expect(0, &["inventory", "terminate", ids[0], "--yes", "-o", "name"]);
    assert_eq!(again.out.trim(), ids[0]);
    let mixed = stage.expect(1, &["inventory", "terminate", "i-0", ids[2], "--yes", "--wait"]);
    assert!(mixed.err.contains("i-0:") && mixed.out.contains(ids[2]), "{mixed:?}");
    assert_eq!(stage.standing("ec2/instance"), 0, "the one that is there goes all the same");
    let states = stage.json(&["inventory"]);
    let states = states["items"].as_array().unwrap().iter().map(|item| &item["state"]);
    assert!(states.eq([&json!("terminated"); 3]), "the inventory shows what has been");
    stage.close();
}

#[test]
fn an_image_is_built_launched_and_launched_again() {
    let stage = LaunchCli::open();
    let build = ["--distribution", "rhel-9", "--package", "vim", "--image-name", "web", "--wait"];
    let ran = stage.expect(0, &[&["launch"], &HOW[..], &build].concat());
    assert!(ran.err.contains("Building the image") && ran.out.contains("ssh ec2-user@"), "{ran:?}");
    let images = stage.json(&["images", "--ready"]);
    let image = &images["items"][0];
    assert_eq!((&image["name"], &image["launches"][0]["instances"]), (&json!("web"), &json!(1)), "{images}");
    let table = stage.expect(0, &["images"]).out;
    assert!(table.contains("success") && table.contains("x86_64"), "{table}");
    let compose = image["id"].as_str().unwrap();
    let again =
        stage.expect(0, &[&["launch", "--compose", compose, "--wait", "-o", "name"], &HOW[..]].concat());
    let watched = stage.expect(0, &["launches", "watch", again.out.trim()]);
    assert!(watched.out.contains("ssh ec2-user@"), "{watched:?}");
    assert_eq!(stage.standing("image_builder/compose"), 1, "nothing was built twice");
    stage.close();
}

#[test]
fn a_file_is_a_request_and_a_key_makes_it_one_launch() {
    let stage = LaunchCli::open();
    let request = format!(
        "provider: aws\nimage: {{id: {AMI}}}\nprofile: inventory\noptions: {{partial: keep}}\nparameters:\n  \
         source_id: sandbox\n  instance_type: t3.small\n  amount: 3\n  pubkey: {{name: mine, body: '{}'}}\n",
        KEY.trim()
    );
    stage.place.write("launch.yaml", &request);
    stage.place.write("first.sh", "#!/bin/sh\necho hush\n");
    let more = ["--count", "1", "--option", "image_deadline_s=60", "--user-data", "first.sh"];
    let launch = |key: &str, more: &[&str]| {
        stage.expect(
            0,
            &[&["launch", "-f", "launch.yaml", "--wait", "--idempotency-key", key, "-o", "json"], more]
                .concat(),
        )
    };
    let first = launch("order-1", &more);
    assert!(!first.out.contains("hush") && !first.err.contains("hush"), "{first:?}");
    let first: serde_json::Value = serde_json::from_str(&first.out).unwrap();
    assert_eq!(first["instances"].as_array().unwrap().len(), 1, "a flag counts more than the file");
    assert_eq!(
        (&first["profile"]["partial"], &first["profile"]["image_deadline_s"]),
        (&json!("keep"), &json!(60))
    );
    let second: serde_json::Value = serde_json::from_str(&launch("order-1", &more).out).unwrap();
    assert_eq!(first["id"], second["id"]);
    let other = ["launch", "-f", "launch.yaml", "--no-wait", "--idempotency-key", "order-1"];
    let refused = stage.expect(5, &other);
    assert!(refused.err.contains("status: 409"), "{refused:?}");
    assert_eq!(stage.standing("ec2/instance"), 1);
    stage.close();
}

#[test]
fn keys_and_accounts_are_kept_shown_checked_and_forgotten() {
    let stage = LaunchCli::open();
    let added = stage.expect(0, &["pubkeys", "create", "mine.pub"]);
    assert!(added.err.contains("ada@example is saved"), "{added:?}");
    let again = stage.expect(1, &["pubkeys", "create", "mine.pub", "--name", "other"]);
    assert!(again.err.contains("code: duplicate_pubkey"), "{again:?}");
    assert_eq!(stage.json(&["pubkeys", "list"])["items"][0]["type"], "ssh-ed25519");
    assert!(stage.expect(0, &["pubkeys", "show", "ada@example"]).out.contains(KEY.trim()));
    assert!(stage.expect(1, &["pubkeys", "delete", "ada@example"]).err.contains("give --yes"));
    stage.expect(0, &["pubkeys", "delete", "ada@example", "--yes"]);
    assert!(stage.expect(1, &["pubkeys", "show", "ada@example"]).err.contains("pubkeys list"));
    stage.place.write("secret.pub", "-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n");
    assert!(stage.expect(1, &["pubkeys", "create", "secret.pub"]).err.contains("private key"));

    let listed = stage.expect(0, &["sources", "list"]).out;
    let words: Vec<&str> = listed.split_whitespace().collect();
    for (name, provider) in [("sandbox", "aws"), ("sandbox-azure", "azure"), ("sandbox-gcp", "gcp")] {
        assert!(words.windows(2).any(|pair| pair == [name, provider]), "{listed}");
    }
    let checked = stage.expect(0, &["sources", "status", "sandbox"]);
    assert!(
        checked.out.lines().any(|line| line.starts_with("can launch") && line.ends_with("yes")),
        "{checked:?}"
    );
    let role = "arn:aws:iam::123456789012:role/other";
    let added = stage.expect(0, &["sources", "create", "--name", "dev", "--role", role]);
    let id = added.out.trim();
    assert_eq!(stage.json(&["sources", "list", "--provider", "aws"])["items"].as_array().unwrap().len(), 2);
    assert!(stage.expect(1, &["sources", "delete", id]).err.contains("give --yes"));
    stage.expect(0, &["sources", "delete", id, "--yes"]);
    let gone = stage.expect(1, &["sources", "status", id]);
    assert!(gone.err.contains("status: 404") && gone.err.contains("fix: "), "{gone:?}");
    assert!(stage.expect(1, &["sources", "add", "--name", "x"]).err.contains("--role"));
    stage.close();
}

#[test]
fn an_account_that_lacks_a_permission_is_found() {
    let stage = LaunchCli::open();
    let denied =
        json!({"action": "RunInstances", "code": "UnauthorizedOperation", "dry_run": true, "times": 0});
    stage.turn("aws/faults/fail", &denied);
    let checked = stage.expect(7, &["sources", "status", "sandbox"]);
    assert!(checked.out.contains("missing") && checked.out.contains("ec2:RunInstances"), "{checked:?}");
    assert_eq!(
        stage.expect(7, &["sources", "status", "sandbox", "-o", "name"]).out.trim(),
        "ec2:RunInstances"
    );
    stage.close();
}

#[test]
fn instance_types_are_searched_and_refreshed() {
    let stage = LaunchCli::open();
    let found = stage.json(&["instance-types", "--search", "vcpus = 2 and memory < 4000", "--supported"]);
    let items = found["items"].as_array().unwrap();
    assert!(items.iter().any(|one| one["name"] == "t3.small"), "{found}");
    assert!(items.iter().all(|one| one["vcpus"] == 2 && one["supported"] == true), "{found}");
    let table = stage.expect(0, &["instance-types", "--search", "t3.small"]).out;
    assert!(table.starts_with("NAME") && table.contains("2048 MiB"), "{table}");
    let wrong = stage.expect(1, &["instance-types", "--search", "vcpus = = 2"]);
    assert!(wrong.err.contains("search: "), "{wrong:?}");
    assert!(stage.expect(1, &["instance-types", "--region", "atlantis-1"]).err.contains("region: "));
    let refreshed =
        stage.expect(0, &["instance-types", "refresh", "--source", "sandbox", "--region", "us-east-1"]);
    assert!(refreshed.err.contains("instance types now"), "{refreshed:?}");
    stage.close();
}

#[test]
fn what_is_missing_or_wrong_is_told_with_its_flag_and_nothing_is_launched() {
    let stage = LaunchCli::open();
    let nothing = stage.expect(1, &["launch"]);
    for flag in ["--image", "--compose", "--build", "--distribution", "--source", "--type", "--key"] {
        assert!(nothing.err.contains(flag), "{flag}: {nothing:?}");
    }
    for (arguments, part) in [
        (&["--image", AMI, "--source", "sandbox", "--key", "mine.pub"][..], "--type"),
        (&["--image", AMI, "--key", "nowhere.pub"], "--key: there is no file nowhere.pub"),
        (&["--image", AMI, "--compose", "00000000-0000-4000-8000-000000000001"], "cannot be used with"),
        (&["--build", "nowhere.yaml"], "--build: cannot read nowhere.yaml"),
        (&["--package", "vim"], "--distribution"),
        (&["--image", AMI, "--option", "detahc=cancel"], "--option: there is no \"detahc\""),
        (&["--image", AMI, "--deferred"], "leave --deferred out"),
        (&["--distribution", "rhel-9", "--deferred"], "--share-with"),
        (&["--distribution", "rhel-9", "--deferred", "--type", "t3.small"], "--type can come later"),
        (&["--provider", "ibm"], "aws"),
    ] {
        let ran = stage.place.run(&[&["launch"], arguments].concat());
        // What the parser finds is a wrong command line.
        let expect = if ["cannot be used with", "--distribution", "aws"].contains(&part) { 2 } else { 1 };
        assert_eq!(ran.code, Some(expect), "{part}: {ran:?}");
        assert!(ran.err.contains(part) && ran.out.is_empty(), "{part}: {ran:?}");
    }
    // What only the server knows comes with all that is wrong.
    let refused = stage
        .expect(1, &[&["launch", "--image", AMI, "--count", "99"], &HOW[..], &["--region", "x-1"]].concat());
    for part in ["amount: must be 1 to", "region: ", "status: 400"] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(stage.json(&["launches", "list"]), json!({"items": []}));
    assert_eq!(stage.standing("ec2/instance"), 0);
    stage.close();
}

#[test]
fn organisations_see_their_own_and_only_admins_choose_one() {
    let stage = LaunchCli::open();
    stage.begin(&[&["--image", AMI], &HOW[..]].concat());
    assert_eq!(stage.json(&["launches", "list", "--org", "elsewhere"]), json!({"items": []}));
    let token = stage.json(&["tokens", "create", "--name", "ada", "--role", "launcher"])["token"].clone();
    let token = token.as_str().unwrap();
    assert_eq!(stage.json(&["launches", "list", "--token", token])["items"].as_array().unwrap().len(), 1);
    let denied = stage.expect(6, &["launches", "list", "--token", token, "--org", "elsewhere"]);
    assert!(denied.err.contains("only an admin"), "{denied:?}");
    let unknown = stage.expect(6, &["launches", "list", "--token", "wrong"]);
    assert!(unknown.err.contains("status: 401"), "{unknown:?}");
    stage.close();
}

#[test]
fn a_server_that_is_away_or_offers_nothing_is_told() {
    let place = DataDirectory::new().env("PROVISION_ENGINE_SERVER", "http://127.0.0.1:1");
    let away = place.expect(1, &["launches", "list"]);
    assert!(
        away.err.contains("cannot reach http://127.0.0.1:1") && away.err.contains("--server"),
        "{away:?}"
    );
    let place = DataDirectory::new().env("PROVISION_ENGINE_LAUNCH__ENABLED", "false");
    let server = place.serve(&[]);
    let none = place.expect(1, &["launches", "list"]);
    assert!(none.err.contains("launch.enabled"), "{none:?}");
    server.stop();
}
