//! Who may not do something does not see the button, and cannot do it without one either.

use reqwest::Method;
use serde_json::json;

use crate::house::House;
use crate::person::Person;
use crate::pictures::look;

#[test]
fn who_may_only_read_sees_everything_and_no_buttons() {
    let house = House::open();
    let id = house.submit_waiting();
    let person = Person::new(&house.url);
    person.sign_in(&house.token_for("reader"));
    let menu = person.text("nav.menu");
    assert!(menu.contains("Operations") && menu.contains("Workflows"), "{menu}");
    assert!(!menu.contains("Build and launch") && !menu.contains("Administration"), "{menu}");

    let here = format!("/console/operations/{id}");
    person.go(&here);
    person.until_text("main", "waiting");
    person.until_text("main", "rest");
    assert!(!person.has("main form[method=post]"), "{}", person.text("main"));
    look(&person, "operation-for-a-reader");

    for path in [
        format!("{here}/ask/cancel"),
        format!("{here}/ask/pause"),
        format!("{here}/signal"),
        "/console/admin/tokens".to_owned(),
        "/console/admin/keys".to_owned(),
        "/console/workflows/demo.hello/start".to_owned(),
        "/console/try/launch".to_owned(),
    ] {
        let fields = json!({
            "confirmed": "yes", "name": "mine", "role": "admin", "params": "{}", "_word": person.word(),
        });
        let (status, said) = person.post(&path, &fields);
        assert!(status >= 400 || said.contains("flash bad"), "{path}: {status} {said}");
    }
    assert_eq!(house.phase(&id), "waiting");
    let operations = house.api(Method::GET, "/operations", None);
    assert_eq!(operations["items"].as_array().unwrap().len(), 1, "{operations}");
    assert!(!house.api(Method::GET, "/tokens", None).to_string().contains("mine"));
    for page in ["/console/launch", "/console/admin"] {
        let (status, said) = person.fetch(page);
        assert_eq!(status, 403, "{page}: {said}");
    }
}

#[test]
fn who_may_only_launch_is_led_to_the_launches() {
    let house = House::open();
    let person = Person::new(&house.url);
    person.go("/console");
    person.type_token(&house.token_for("launcher"));
    person.until_path("/console/launches");
    let menu = person.text("nav.menu");
    assert!(menu.contains("Build and launch") && menu.contains("Inventory"), "{menu}");
    assert!(!menu.contains("Operations") && !menu.contains("Runtimes"), "{menu}");
}
