//! The calls of OneFlow's REST interface.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{Method, StatusCode, Uri};
use serde_json::{Map, Value};

use super::answer::Answer;
use super::body::{Body, CARDINALITY_MAX};
use super::service::Service;
use super::{OneFlow, merge, write_back};
use crate::opennebula::documents::{Document, SERVICE, SERVICE_TEMPLATE};
use crate::opennebula::refusal::{INTERNAL, Refusal};
use crate::opennebula::release::Release;
use crate::opennebula::template_text;
use crate::opennebula::users::{Caller, Owned, Permissions, Right};
use crate::opennebula::world::Estate;

type Flow = State<Arc<OneFlow>>;
type Who = Extension<Caller>;
type Answered = Result<Answer, Answer>;

const PARSER_ERROR: &str = "JSON::ParserError";
const NO_METHOD: &str = "NoMethodError";

pub(super) async fn list_templates(State(flow): Flow, Extension(caller): Who) -> Answer {
    Answer::pool(visible(&flow.nebula.estate(), &caller, SERVICE_TEMPLATE))
}

pub(super) async fn list_services(State(flow): Flow, Extension(caller): Who) -> Answer {
    let mut services = flow.services();
    let (mut estate, now) = (flow.nebula.estate(), flow.nebula.now());
    for service in services.values_mut() {
        if service.settle(&mut estate, now) {
            write_back(service, &mut estate);
        }
    }
    flow.drop_gone(&mut services, &mut estate);
    Answer::pool(visible(&estate, &caller, SERVICE))
}

/// Newest first.
fn visible<'a>(estate: &'a Estate, caller: &'a Caller, kind: i32) -> impl Iterator<Item = &'a Document> {
    estate.documents.of_kind(kind).filter(|document| document.is_open_to(caller, Right::Use))
}

pub(super) async fn show_template(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> Answered {
    let mut estate = flow.nebula.estate();
    let document = open(&mut estate, &caller, number(&id), SERVICE_TEMPLATE)?;
    Ok(Answer::document(StatusCode::OK, document))
}

pub(super) async fn create_template(State(flow): Flow, Extension(caller): Who, text: String) -> Answered {
    let value: Value = serde_json::from_str(&text).map_err(|_| Answer::invalid(unexpected(&text)))?;
    let Value::Object(members) = value else {
        return Err(Answer::invalid("KEY:  must be a Hash; SCHEMA:"));
    };
    let mut estate = flow.nebula.estate();
    let mut body = Body::parse(members, estate.release).map_err(Answer::invalid)?;
    body.registration_time = Some(flow.nebula.now().unix_timestamp());
    let id = allocate(&mut estate, &caller, &body, SERVICE_TEMPLATE)?;
    let document = open(&mut estate, &caller, id, SERVICE_TEMPLATE)?;
    Ok(Answer::document(StatusCode::CREATED, document))
}

pub(super) async fn act_on_template(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> Answered {
    let (mut estate, now) = (flow.nebula.estate(), flow.nebula.now());
    let release = estate.release;
    let action = action(&text, &uri, release)?;
    // The real one answers with nothing, as if it had done something.
    if action["perform"] != "instantiate" {
        return Ok(Answer::Text(StatusCode::OK, String::new()));
    }
    let document = open(&mut estate, &caller, number(&id), SERVICE_TEMPLATE)?;
    let template: Map<String, Value> =
        serde_json::from_str(document.body()).map_err(|error| Answer::refused(error.to_string()))?;
    let sent = sent(&action["params"]["merge_template"], release, &uri)?;
    let body = Body::parse(merge::merged(&template, &sent, release), release).map_err(Answer::refused)?;
    drop(estate);
    flow.start(&caller, body, now)
}

pub(super) async fn show_service(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> Answered {
    let id = number(&id);
    with_service(&flow, &caller, id, Right::Use, |_, _| Ok(Answer::Done))?;
    let mut estate = flow.nebula.estate();
    let document = open(&mut estate, &caller, id, SERVICE)?;
    Ok(Answer::document(StatusCode::OK, document))
}

pub(super) async fn delete_service(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> Answered {
    let now = flow.nebula.now();
    with_service(&flow, &caller, number(&id), Right::Manage, |service, estate| {
        service.undeploy(estate, now).map(|()| Answer::Done)
    })
}

pub(super) async fn act_on_service(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> Answered {
    let release = flow.nebula.estate().release;
    let (action, id, now) = (action(&text, &uri, release)?, number(&id), flow.nebula.now());
    let params = &action["params"];
    match action["perform"].as_str().unwrap_or_default() {
        "recover" => with_service(&flow, &caller, id, Right::Manage, |service, estate| {
            let is_forced = params["delete"] == true;
            let done =
                if is_forced { service.recover_delete(estate, now) } else { service.recover(estate, now) };
            done.map(|()| Answer::Done)
        }),
        "rename" => {
            let name = params["name"].as_str().unwrap_or_default();
            // The body keeps its old name.
            with_service(&flow, &caller, id, Right::Manage, |_, estate| {
                let renamed = estate.documents.rename(id, &caller, name);
                renamed.map_err(|refusal| refusal.text("one.document.rename"))?;
                Ok(Answer::Done)
            })
        }
        "chmod" => {
            let octet = params["octet"].as_str().unwrap_or_default();
            with_service(&flow, &caller, id, Right::Manage, |_, estate| {
                let permissions = octal(octet).ok_or("Wrong octet format")?;
                let document = estate.documents.get_mut(id).ok_or("the document is gone")?;
                document.permissions = permissions;
                Ok(Answer::Done)
            })
        }
        unknown => Err(Answer::refused(format!("Action {unknown} not supported"))),
    }
}

pub(super) async fn scale_service(
    State(flow): Flow,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> Answered {
    let release = flow.nebula.estate().release;
    let crash = |_| Answer::crash(release, PARSER_ERROR, &unexpected(&text), &uri);
    let body: Value = serde_json::from_str(&text).map_err(crash)?;
    // It builds JSON out of what it was given, and forgets that this member may be missing.
    if body["force"].is_null() {
        let broken = format!("{{\"force\":,\"role_name\":{}}}", body["role_name"]);
        return Err(Answer::crash(release, PARSER_ERROR, &unexpected(&broken), &uri));
    }
    let now = flow.nebula.now();
    let role = body["role_name"].as_str().unwrap_or_default();
    let cardinality = body["cardinality"].as_u64().and_then(|number| u32::try_from(number).ok());
    with_service(&flow, &caller, number(&id), Right::Manage, |service, estate| {
        let cardinality = cardinality.unwrap_or(CARDINALITY_MAX + 1);
        service.scale(estate, role, cardinality, now).map(|()| Answer::Done)
    })
}

/// Sinatra's page for a path that it does not know.
pub(super) async fn unknown(method: Method, uri: Uri) -> Answer {
    let (method, path) = (method.as_str().to_lowercase(), uri.path().replace('/', "&#x2F;"));
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<body>\n  <h2>Sinatra doesn\u{2019}t know this ditty.</h2>\n\
         <pre>{method} &#x27;{path}&#x27; do</pre>\n</body>\n</html>\n"
    );
    Answer::Text(StatusCode::NOT_FOUND, page)
}

/// Lets the service live on, does something with it, and lets it live on again.
fn with_service(
    flow: &OneFlow,
    caller: &Caller,
    id: i32,
    right: Right,
    act: impl FnOnce(&mut Service, &mut Estate) -> Result<Answer, String>,
) -> Answered {
    flow.settle();
    let mut services = flow.services();
    let (mut estate, now) = (flow.nebula.estate(), flow.nebula.now());
    open(&mut estate, caller, id, SERVICE)?;
    let service = services.get_mut(&id).ok_or_else(|| Answer::of_another_type(id))?;
    service.vanish_if_scripted(&estate);
    if service.is_gone {
        flow.drop_gone(&mut services, &mut estate);
        return Err(Answer::from_oned(&Refusal::missing("document", id), "one.document.info"));
    }
    if service.settle(&mut estate, now) {
        write_back(service, &mut estate);
    }
    let manages = estate.documents.open(id, caller, right).map(|_| ());
    manages.map_err(|refusal| Answer::from_oned(&refusal, "one.document.update"))?;
    let answer = act(service, &mut estate).map_err(Answer::refused);
    service.settle(&mut estate, now);
    write_back(service, &mut estate);
    flow.drop_gone(&mut services, &mut estate);
    answer
}

fn open<'a>(estate: &'a mut Estate, caller: &Caller, id: i32, kind: i32) -> Result<&'a Document, Answer> {
    let document = estate
        .documents
        .open(id, caller, Right::Use)
        .map_err(|refusal| Answer::from_oned(&refusal, "one.document.info"))?;
    if document.kind == kind { Ok(document) } else { Err(Answer::of_another_type(id)) }
}

/// What a body asks for; one without an action is met with a crash.
fn action(text: &str, uri: &Uri, release: Release) -> Result<Value, Answer> {
    let body: Value = serde_json::from_str(text)
        .map_err(|_| Answer::crash(release, PARSER_ERROR, &unexpected(text), uri))?;
    let action = body.get("action").filter(|action| action.is_object()).cloned();
    action.ok_or_else(|| Answer::crash(release, NO_METHOD, "undefined method `[]' for nil:NilClass", uri))
}

/// What is laid over the template.
fn sent(merge_template: &Value, release: Release, uri: &Uri) -> Result<Map<String, Value>, Answer> {
    match merge_template {
        Value::Null | Value::Bool(false) => Ok(Map::new()),
        Value::Object(sent) => Ok(sent.clone()),
        Value::String(_) => Err(Answer::crash(release, NO_METHOD, "undefined method `each' for String", uri)),
        _ => Err(Answer::invalid("no implicit conversion of String into Integer")),
    }
}

/// OneFlow makes XML of a name and a body by pasting, and oned has its own opinion about that.
pub(super) fn allocate(estate: &mut Estate, caller: &Caller, body: &Body, kind: i32) -> Result<i32, Answer> {
    let text = serde_json::to_string(body).expect("a body is plain text and numbers");
    let text = format!("<TEMPLATE><NAME>{}</NAME><BODY><![CDATA[{text}]]></BODY></TEMPLATE>", body.name);
    let parsed = template_text::parse(&text, estate.release).map_err(|why| Refusal::new(INTERNAL, why));
    let allocated = parsed.and_then(|template| estate.allocate_document(caller, template, kind));
    allocated.map_err(|refusal| Answer::from_oned(&refusal, "one.document.allocate"))
}

fn unexpected(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 100;
    let start: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    format!("859: unexpected token at '{start}'")
}

/// As Ruby reads a number: what begins with none is 0.
fn number(text: &str) -> i32 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 { 0 } else { text[..end].parse().unwrap_or(i32::MAX) }
}

fn octal(text: &str) -> Option<Permissions> {
    let digits: Vec<u8> = text.bytes().map(|byte| byte.wrapping_sub(b'0')).collect();
    let digits = <[u8; 3]>::try_from(digits).ok()?;
    digits.iter().all(|digit| *digit < 8).then(|| Permissions::from_octal(digits))
}
