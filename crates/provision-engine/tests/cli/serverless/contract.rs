//! What the engine whose place this takes answered on a live OpenNebula, and where it was wrong the better answer.
//! The rows in which it was wrong begin with a remark.

use reqwest::Method;
use serde_json::{Value, json};

use super::{NOTHING, RUNTIMES, ServerlessServer, function, quick, runtime};

const GOOD: &str = r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function"}}}"#;
const OWN: &str = "cognit:cognitpass";
const NO_TEMPLATES: &str = "Failed to get list of service templates";
const UNREADABLE: &str = "Failed to read Serverless Runtime Document";
const NOT_FOUND: &str = r#"{"error":"Serverless Runtime not found","message":""}"#;
const REQUIRED: &str = r#"{"error":"Authentication required","message":""}"#;
const ALL: [Method; 3] = [Method::GET, Method::PUT, Method::DELETE];

impl ServerlessServer {
    /// Status and body for a request of `user:password`.
    fn told(&self, who: &str, method: &Method, path: &str, body: &str) -> (u16, String) {
        let (user, password) = who.split_once(':').unwrap();
        let request = self.client.outsider(method.clone(), path).basic_auth(user, Some(password));
        let answer = self.send(request.body(body.to_owned()));
        (answer.status, answer.text)
    }

    /// The same for a header, or none.
    fn told_with(&self, header: Option<&str>, method: &Method, path: &str, body: &str) -> (u16, String) {
        let request = self.client.outsider(method.clone(), path).body(body.to_owned());
        let request = match header {
            Some(header) => request.header("authorization", header),
            None => request,
        };
        let answer = self.send(request);
        (answer.status, answer.text)
    }
}

fn refused(error: &str, message: &str) -> String {
    json!({"error": error, "message": message}).to_string()
}

#[test]
fn a_body_that_is_no_runtime_is_refused_with_400_and_the_reason() {
    let scene = ServerlessServer::open(quick());
    let of_faas = |members: &str| {
        format!(r#"{{"SERVERLESS_RUNTIME": {{"FAAS": {{"FLAVOUR": "Function", {members}}}}}}}"#)
    };
    let lacks = |path: &str, name: &str| {
        format!("The property '{path}' did not contain a required property of '{name}'")
    };
    let is_no = |path: &str, kind: &str, wanted: &str| {
        format!("The property '{path}' of type {kind} did not match the following type: {wanted}")
    };
    let cpu = "#/SERVERLESS_RUNTIME/FAAS/CPU";
    let without_flavour = r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "Function"}, "DAAS": {},
                              "SCHEDULING": {}, "DEVICE_INFO": {}}}"#;
    let rows = [
        (without_flavour.to_owned(), lacks("#/SERVERLESS_RUNTIME/DAAS", "FLAVOUR")),
        (r#"{"SERVERLESS_RUNTIME": {"NAME": "x"}}"#.to_owned(), lacks("#/SERVERLESS_RUNTIME", "FAAS")),
        (of_faas(r#""CPU": "two""#), is_no(cpu, "string", "integer")),
        (of_faas(r#""CPU": 0.5"#), is_no(cpu, "number", "integer")),
        ("[]".to_owned(), is_no("#/", "array", "object")),
        ("null".to_owned(), is_no("#/", "null", "object")),
        // It crashed, with 500 and a page of HTML.
        ("{}".to_owned(), lacks("#/", "SERVERLESS_RUNTIME")),
        // It opened the file that the text names, and told what is in it.
        (r#""/etc/passwd""#.to_owned(), is_no("#/", "string", "object")),
    ];
    let id = scene.running(&function("Function"));
    let before = scene.standing();
    for (body, message) in rows {
        let expected = refused("Invalid Serverless Runtime specification", &message);
        assert_eq!(scene.told(OWN, &Method::POST, RUNTIMES, &body), (400, expected.clone()), "{body}");
        // It answered changes with 500.
        let path = format!("{RUNTIMES}/{id}");
        assert_eq!(scene.told(OWN, &Method::PUT, &path, &body), (400, expected), "{body}");
    }
    for body in ["{nope", ""] {
        let (status, text) = scene.told(OWN, &Method::POST, RUNTIMES, body);
        assert!(status == 400 && text.starts_with(r#"{"error":"Invalid JSON","message":"#), "{text}");
    }
    // It took these, waited for machines that never came, and left their service behind.
    for members in [r#""CPU": 0"#, r#""MEMORY": -5"#, r#""DISK_SIZE": 0"#, r#""CPU": 99999999999"#] {
        let (status, text) = scene.told(OWN, &Method::POST, RUNTIMES, &of_faas(members));
        assert!(status == 400 && text.contains("give an integer from 1 to"), "{members}: {text}");
    }
    assert_eq!(scene.standing(), before);
    assert_eq!(scene.operations().len(), 1);
}

#[test]
fn outsiders_are_refused_with_401_and_hear_nothing_of_what_they_sent() {
    let scene = ServerlessServer::open(quick());
    let id = scene.made(&runtime(&json!({"NAME": "auth", "FAAS": {"FLAVOUR": "Function"}})));
    let one = format!("{RUNTIMES}/{id}");
    let unknown = "[one.document.info] User couldn't be authenticated, aborting call.";
    // It cut passwords at their second colon, so the last one was let in with less than it sent.
    for who in ["cognit:wrong", "unknown:cognitpass", "cognit:cognitpass:more"] {
        let expected = (401, refused(NO_TEMPLATES, "Invalid credentials"));
        assert_eq!(scene.told(who, &Method::POST, RUNTIMES, GOOD), expected, "{who}");
        for method in ALL {
            let expected = (401, refused(UNREADABLE, unknown));
            assert_eq!(scene.told(who, &method, &one, GOOD), expected, "{method} {who}");
        }
    }
    let calls = [(Method::POST, RUNTIMES), (Method::GET, &one), (Method::PUT, &one), (Method::DELETE, &one)];
    for (method, path) in calls {
        assert_eq!(scene.told_with(None, &method, path, "{nope"), (401, REQUIRED.to_owned()), "{method}");
        // It sent the header back.
        for header in ["Bearer abc-secret", "Digest username=\"abc-secret\"", "Basic", "Basic !!!"] {
            let (status, text) = scene.told_with(Some(header), &method, path, GOOD);
            assert!(status == 401 && text.contains("Unsupported authentication scheme"), "{header}: {text}");
            assert!(!text.contains("abc-secret") && !text.contains("!!!"), "{text}");
        }
        // With these it used the credentials of its own process. They are `:`, `cognit:` and `:cognitpass`.
        for header in ["Basic Og==", "Basic Y29nbml0Og==", "Basic OmNvZ25pdHBhc3M="] {
            let (status, text) = scene.told_with(Some(header), &method, path, GOOD);
            assert!(status == 401 && text.contains("Unsupported authentication scheme"), "{header}: {text}");
        }
    }
    assert_eq!(scene.operations().len(), 1, "strangers leave no operation");
}

#[test]
fn what_is_someone_elses_is_403_and_what_is_no_runtime_is_404() {
    let scene = ServerlessServer::open(quick());
    let made = scene.post(&runtime(&json!({"NAME": "doctype", "FAAS": {"FLAVOUR": "Function"}}))).is(201);
    let (id, service) = (made.id(), made.seen()["SERVICE_ID"].to_string());
    assert_eq!(made.header("location"), format!("{RUNTIMES}/{id}"));
    let theirs = format!("[one.document.info] User [3] : Not authorized to perform USE DOCUMENT [{id}].");
    for method in ALL {
        let path = format!("{RUNTIMES}/{id}");
        let expected = (403, refused(UNREADABLE, &theirs));
        assert_eq!(scene.told("other:otherpass", &method, &path, GOOD), expected, "{method}");
        for missing in ["2147483647", &service, "abc"] {
            let path = format!("{RUNTIMES}/{missing}");
            assert_eq!(scene.told(OWN, &method, &path, GOOD), (404, NOT_FOUND.into()), "{method} {missing}");
        }
        // It took the digits in front, asked for the document -1 with 403, and broke with 500.
        for missing in [format!("{id}abc"), "-1".into(), "99999999999999999999".into(), format!("0{id}")] {
            let path = format!("{RUNTIMES}/{missing}");
            assert_eq!(scene.told(OWN, &method, &path, GOOD), (404, NOT_FOUND.into()), "{method} {missing}");
        }
    }
    let nowhere = format!("{RUNTIMES}/2147483647");
    assert_eq!(scene.told(OWN, &Method::PUT, &nowhere, "{}"), (404, NOT_FOUND.into()));
    assert_eq!(scene.get(id).is(200).seen()["NAME"], "doctype");
}

#[test]
fn flavours_that_cannot_be_had_are_refused_before_anything_is_made() {
    let scene = ServerlessServer::open(quick());
    let none = |tuple: &str, message: Value| {
        let error = format!("Cannot find a valid service template for the specified flavours: {tuple}");
        json!({"error": error, "message": message})
    };
    let rows = [
        (json!({"FAAS": {"FLAVOUR": "NoSuch"}}), none("NoSuch", json!({"FAAS": {"FLAVOUR": "NoSuch"}}))),
        (json!({"FAAS": {"FLAVOUR": ""}}), none("", json!({"FAAS": {"FLAVOUR": ""}}))),
        // It showed the flavour of the function twice.
        (
            json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Nope"}}),
            none("Function-Nope", json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Nope"}})),
        ),
    ];
    for (members, expected) in rows {
        assert_eq!(scene.post(&runtime(&members)).is(422).json, expected);
    }
    // It made two machines and forgot them, with a page of HTML.
    let answer = scene.post(&function("Function-Data")).is(422);
    assert!(answer.text.contains("has the roles DAAS, FAAS"), "{}", answer.text);
    let (status, text) = scene.told("empty:emptypass", &Method::POST, RUNTIMES, GOOD);
    let none = "User requesting Serverless Runtime creation has no flow templates available for use";
    assert_eq!((status, text), (403, refused(none, "")));
    let vm_template = "Failed to read VM Template for Function FAAS";
    let denied = scene.post(&function("DenyVMTemplate")).is(403);
    let message = "[one.template.info] User [2] : Not authorized to perform USE TEMPLATE [9].";
    assert_eq!(denied.text, refused(vm_template, message));
    let missing = scene.post(&function("MissingVMT")).is(500);
    let message = "[one.template.info] Error getting virtual machine template [999999].";
    assert_eq!(missing.text, refused(vm_template, message));
    // It answered with a page of HTML.
    let answer = scene.post(&function("NoDisk"));
    assert!(answer.status == 422 || answer.status == 500, "{}", answer.text);
    assert!(answer.text.contains("DISK"), "{}", answer.text);
    assert_eq!(scene.standing(), NOTHING);
    assert_eq!(scene.operations(), [] as [Value; 0]);
}

#[test]
fn everyone_is_told_version_configuration_and_schema_and_the_rest_is_no_page_of_html() {
    let scene = ServerlessServer::open(quick());
    let tell = |method: Method, path: &str| scene.send(scene.client.outsider(method, path));
    assert_eq!(tell(Method::GET, "/server/version").is(200).text, "\"1.3.3\"");
    let config = tell(Method::GET, "/server/config").is(200).json;
    let capacity = json!({"disk": {"default": 1024}, "cpu": {"default": 2, "mult": 2},
                          "memory": {"default": 1024, "mult": 2, "resize_mode": "BALLOONING"}});
    assert_eq!((&config["timeout"], &config["capacity"]), (&json!(30), &capacity), "{config}");
    let schema = tell(Method::GET, "/serverless-runtimes/schema").is(200).json;
    let faas = &schema["properties"]["SERVERLESS_RUNTIME"]["properties"]["FAAS"];
    assert_eq!(faas["required"], json!(["FLAVOUR"]), "{schema}");
    // It had no list, and answered what it does not have with pages of HTML.
    assert_eq!(
        scene.send(scene.client.ask(Method::GET, RUNTIMES)).is(200).text,
        r#"{"SERVERLESS_RUNTIMES":[]}"#
    );
    tell(Method::GET, "/server/nope").is(404);
    tell(Method::PATCH, "/serverless-runtimes/1").is(405);
}
