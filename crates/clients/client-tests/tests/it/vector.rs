//! Exchanges with the real clouds, as recordings of them and their documentation show them.
//!
//! Each file in `vectors/` is one exchange: members, nesting, types and formats are those of the cloud, and names, ids
//! and sentences are placeholders. A client is served them, and the answers of the sandbox are compared with them.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::Response;
use client_tests::{Arrival, TestServer};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tap::Exchange;

/// Values of these members are maps, whose keys are names that a client chose.
const MAPS: [&str; 6] = ["tags", "labels", "perLocationStatus", "metadatas", "dimensions", "metadata"];
/// The name behind such a part of a path is one of many.
const COLLECTIONS: &[&str] = &[
    "disks",
    "images",
    "instances",
    "instancetemplates",
    "locations",
    "machinetypes",
    "namespaces",
    "networkinterfaces",
    "networks",
    "networksecuritygroups",
    "operationresults",
    "operations",
    "projects",
    "publicipaddresses",
    "regions",
    "resourcegroups",
    "serviceaccounts",
    "subnets",
    "subnetworks",
    "subscriptions",
    "virtualmachines",
    "virtualnetworks",
    "zones",
];
const VERBS: [&str; 2] = ["bulkinsert", "testiampermissions"];
const PREFIXES: [&str; 5] =
    ["/azure/login", "/azure", "/gcp/cloudresourcemanager", "/gcp/iamcredentials", "/gcp"];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    #[serde(skip)]
    pub(crate) name: String,
    source: String,
    kind: VectorKind,
    pub(crate) request: VectorRequest,
    pub(crate) response: VectorResponse,
    #[serde(default)]
    fake: FakeDifferences,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VectorKind {
    Recorded,
    Documented,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct VectorRequest {
    pub(crate) method: String,
    pub(crate) path: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct VectorResponse {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// How the answer of the sandbox may differ, with the reason for each member.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FakeDifferences {
    /// The sandbox never gives this answer.
    absent: Option<String>,
    lacks: BTreeMap<String, String>,
    adds: BTreeMap<String, String>,
    differs: BTreeMap<String, String>,
}

fn folder(cloud: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors").join(cloud)
}

pub(crate) fn load(cloud: &str, name: &str) -> Vector {
    let path = folder(cloud).join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let vector: Vector =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(vector.source.len() > 10, "{name} does not say where it comes from");
    Vector { name: name.to_owned(), ..vector }
}

pub(crate) fn all(cloud: &str) -> Vec<Vector> {
    let files = std::fs::read_dir(folder(cloud)).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.iter().map(|name| load(cloud, name)).collect()
}

/// Every vector is served to the client by one of the tests in this source.
pub(crate) fn assert_all_are_served(cloud: &str, source: &str) {
    let vectors = all(cloud);
    let is_unused = |one: &&Vector| !source.contains(&format!("\"{}\"", one.name));
    let unused: Vec<&str> = vectors.iter().filter(is_unused).map(|one| one.name.as_str()).collect();
    assert!(unused.is_empty(), "no test serves {unused:?}");
    let recorded = vectors.iter().filter(|one| matches!(one.kind, VectorKind::Recorded)).count();
    assert!(recorded * 3 >= vectors.len(), "{recorded} of {} are recorded", vectors.len());
}

/// What is asked, without the names: the method, and the path with a star for each of them.
fn call_of(method: &str, path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path =
        PREFIXES.iter().find_map(|prefix| path.strip_prefix(prefix)).unwrap_or(path).to_ascii_lowercase();
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    if path.ends_with("/oauth2/v2.0/token") {
        "*".clone_into(&mut parts[1]);
    }
    for at in 1..parts.len() {
        if COLLECTIONS.contains(&parts[at - 1].as_str()) && !VERBS.contains(&parts[at].as_str()) {
            let verb = parts[at].split_once(':').map(|(_, verb)| format!("*:{verb}"));
            parts[at] = verb.unwrap_or_else(|| "*".to_owned());
        }
    }
    let expands = if query.contains("expand=") { "?expand" } else { "" };
    format!("{method} {}{expands}", parts.join("/"))
}

impl Vector {
    /// The same exchange as the answer to another call.
    pub(crate) fn at(mut self, method: &str, path: &str) -> Vector {
        self.request = VectorRequest { method: method.to_owned(), path: path.to_owned() };
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Value)) -> Vector {
        change(&mut self.response.body);
        self
    }

    fn answer(&self, host: &str) -> Response<Body> {
        let mut response = Response::builder().status(self.response.status);
        for (name, value) in &self.response.headers {
            response = response.header(name, value.replace("{host}", &format!("http://{host}")));
        }
        let body = match &self.response.body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        response.header("content-type", "application/json; charset=utf-8").body(Body::from(body)).unwrap()
    }

    /// Compares the answer that the sandbox gave to the same call. Says every difference that is not listed.
    pub(crate) fn differences(&self, exchanges: &[Exchange]) -> Vec<String> {
        let name = &self.name;
        let is_same = |one: &&Exchange| {
            // An error is the same whatever was asked.
            (self.response.status >= 400
                || call_of(&one.method, &one.path) == call_of(&self.request.method, &self.request.path))
                && one.status == self.response.status
                && identity(&one.body) == identity(&self.response.body)
        };
        let real = shape_of_answer(&self.response);
        // An empty list is the same call as a full one, and says less.
        let missing = |one: &&Exchange| {
            let fake = shape_of_exchange(one);
            let lacks = real.keys().filter(|path| !fake.contains_key(*path)).count();
            (lacks, fake.keys().filter(|path| !real.contains_key(*path)).count())
        };
        let best = exchanges.iter().filter(is_same).min_by_key(missing).map(|one| self.compared(one));
        match (best, &self.fake.absent) {
            (Some(_), Some(_)) => {
                vec![format!("{name}: the sandbox answers so, and the vector says that it does not")]
            }
            (Some(differences), None) => differences,
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![format!("{name}: the sandbox never answered so")],
        }
    }

    fn compared(&self, exchange: &Exchange) -> Vec<String> {
        let FakeDifferences { lacks, adds, differs, .. } = &self.fake;
        let found = compare(&shape_of_answer(&self.response), &shape_of_exchange(exchange));
        let mut all = Vec::new();
        for (what, paths, listed) in
            [("lacks", found.0, lacks), ("adds", found.1, adds), ("differs", found.2, differs)]
        {
            let is_listed = |path: &String| listed.keys().any(|one| covers(one, path));
            let unlisted = paths.iter().filter(|path| !is_listed(path));
            all.extend(unlisted.map(|path| format!("{}: {what} {path}", self.name)));
            let stale = listed.keys().filter(|one| !paths.iter().any(|path| covers(one, path)));
            all.extend(stale.map(|one| format!("{}: {what} {one} is listed and no longer so", self.name)));
        }
        all
    }
}

fn covers(listed: &str, path: &str) -> bool {
    path.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', ' ']))
}

/// What tells one answer to a call from another.
fn identity(body: &Value) -> Vec<Option<&Value>> {
    let pointers = [
        "/error/code",
        "/error/errors/0/reason",
        "/error/errors/0/code",
        "/error/details/0/code",
        "/error_codes/0",
        "/status",
        "/properties/provisioningState",
    ];
    pointers.iter().map(|pointer| body.pointer(pointer)).collect()
}

type Shape = BTreeMap<String, &'static str>;

fn shape_of_answer(response: &VectorResponse) -> Shape {
    let mut shape = Shape::new();
    add_shape(&mut shape, "", &response.body);
    add_headers(&mut shape, response.headers.keys().map(String::as_str));
    shape
}

fn shape_of_exchange(exchange: &Exchange) -> Shape {
    let mut shape = Shape::new();
    add_shape(&mut shape, "", &exchange.body);
    add_headers(&mut shape, exchange.headers.iter().map(String::as_str));
    shape
}

fn add_headers<'a>(shape: &mut Shape, names: impl Iterator<Item = &'a str>) {
    let matter = ["azure-asyncoperation", "location", "retry-after"];
    shape.extend(names.filter(|name| matter.contains(name)).map(|name| (format!("header {name}"), "text")));
}

fn add_shape(shape: &mut Shape, path: &str, value: &Value) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(text) => format_of(text),
        Value::Array(all) if all.is_empty() => "empty array",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    // Texts of one list may have several formats.
    let kind = match shape.get(path) {
        Some(before) if *before != kind && value.is_string() => "text",
        Some(before) if *before == "array" && kind == "empty array" => "array",
        _ => kind,
    };
    shape.insert(path.to_owned(), kind);
    match value {
        Value::Array(all) => all.iter().for_each(|one| add_shape(shape, &format!("{path}[]"), one)),
        Value::Object(members) => {
            let is_map = MAPS.iter().any(|map| path.rsplit('.').next() == Some(map));
            for (name, value) in members {
                let name =
                    if is_map && !value.is_object() && !value.is_array() { "*" } else { name.as_str() };
                let name = if name.starts_with("zones/") { "*" } else { name };
                let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                add_shape(shape, &below, value);
            }
        }
        _ => {}
    }
}

/// Texts that a program reads have a format, and all others are words.
fn format_of(text: &str) -> &'static str {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = text.as_bytes();
    let is_date = bytes.len() >= 19 && is_digits(&text[..4]) && bytes[4] == b'-' && bytes[13] == b':';
    match text {
        _ if uuid::Uuid::try_parse(text).is_ok() && text.contains('-') => "uuid",
        _ if text.starts_with("W/\"") => "etag",
        _ if is_date && bytes[10] == b' ' => "time with a space",
        _ if is_date && text.ends_with('Z') => "time in UTC",
        _ if is_date => "time with an offset",
        _ if text.starts_with("https://") || text.starts_with("http://") || text.starts_with("{host}") => {
            "link"
        }
        _ if text.starts_with("/subscriptions/") => "id",
        _ if text.starts_with("projects/") => "path",
        _ if is_digits(text) => "digits",
        _ => "text",
    }
}

/// Members that only the first has, members that only the second has, and members of another type or format.
fn compare(real: &Shape, fake: &Shape) -> (Vec<String>, Vec<String>, Vec<String>) {
    // Below an empty list there is nothing to compare.
    let is_below_empty = |shape: &Shape, path: &str| {
        shape.iter().any(|(list, kind)| *kind == "empty array" && path.starts_with(&format!("{list}[]")))
    };
    let only = |one: &Shape, other: &Shape| -> Vec<String> {
        let paths = one.keys().filter(|path| !other.contains_key(*path) && !is_below_empty(other, path));
        // The highest member says it all.
        let mut highest: Vec<String> = Vec::new();
        for path in paths {
            if !highest.iter().any(|above| covers(above, path)) {
                highest.push(path.clone());
            }
        }
        highest
    };
    let is_list = |kind: &str| kind.ends_with("array");
    let differs = real.iter().filter_map(|(path, kind)| {
        let other = fake.get(path)?;
        (kind != other && !(is_list(kind) && is_list(other)))
            .then(|| format!("{path} is {kind}, not {other}"))
    });
    (only(real, fake), only(fake, real), differs.collect())
}

/// Answers each call with the next vector of the same call; the last one stays.
pub(crate) async fn replay(vectors: Vec<Vector>) -> TestServer {
    let queue: Arc<Mutex<BTreeMap<String, VecDeque<Vector>>>> = Arc::default();
    for vector in vectors {
        let call = call_of(&vector.request.method, &vector.request.path);
        queue.lock().unwrap().entry(call).or_default().push_back(vector);
    }
    TestServer::start(move |arrival: &Arrival| {
        let call = call_of(&arrival.method, &arrival.path);
        let host = arrival.headers["host"].to_str().unwrap();
        let mut queue = queue.lock().unwrap();
        match queue.get_mut(&call) {
            Some(next) if next.len() > 1 => next.pop_front().unwrap().answer(host),
            Some(next) => next[0].answer(host),
            None => {
                let body = json!({"error": {"code": "NoVector", "message": call}});
                Response::builder().status(501).body(Body::from(body.to_string())).unwrap()
            }
        }
    })
    .await
}

#[test]
fn a_difference_is_seen_and_a_listed_one_must_be_there() {
    let vector = |fake: Value| -> Vector {
        let text = json!({
            "source": "a place that is known", "kind": "documented",
            "request": {"method": "GET", "path": "/subscriptions/a/locations/b"},
            "response": {"status": 200, "headers": {"retry-after": "1"}, "body": {
                "id": "7", "at": "2026-01-02T03:04:05.1+00:00", "list": [{"a": 1}], "tags": {"x": "y"}, "none": []}},
            "fake": fake,
        });
        serde_json::from_value(text).unwrap()
    };
    let exchange = |body: Value, headers: &[&str]| Exchange {
        method: "GET".to_owned(),
        path: "/azure/subscriptions/c/locations/d?api-version=1".to_owned(),
        status: 200,
        headers: headers.iter().map(|name| (*name).to_owned()).collect(),
        link: None,
        authorization: None,
        body,
    };
    let same = json!({"id": "8", "at": "2027-01-02T03:04:05+00:00", "list": [], "tags": {"z": "z"}, "none": [{"b": 1}]});
    assert!(vector(json!({})).differences(&[exchange(same.clone(), &["retry-after", "date"])]).is_empty());
    let other =
        json!({"id": 8, "at": "2027-01-02T03:04:05Z", "list": [{"b": 1}], "more": {"x": 1}, "none": []});
    let found = vector(json!({})).differences(&[exchange(other, &[])]);
    assert_eq!(
        found,
        [
            ": lacks header retry-after",
            ": lacks list[].a",
            ": lacks tags",
            ": adds list[].b",
            ": adds more",
            ": differs at is time with an offset, not time in UTC",
            ": differs id is digits, not number",
        ]
    );
    let stale = vector(json!({"lacks": {"tags": "why"}}));
    let found = stale.differences(&[exchange(same, &["retry-after"])]);
    assert_eq!(found, [": lacks tags is listed and no longer so"]);
    assert_eq!(vector(json!({})).differences(&[]), [": the sandbox never answered so"]);
}
