//! The calls of OneFlow's REST interface.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{Method, StatusCode, Uri};
use serde_json::{Map, Value};

use super::answer::FlowResponse;
use super::body::{CARDINALITY_MAX, FlowBody};
use super::service::Service;
use super::{OneFlow, merge, write_back};
use crate::opennebula::call_error::{INTERNAL, NebulaError};
use crate::opennebula::documents::{Document, SERVICE, SERVICE_TEMPLATE};
use crate::opennebula::release::Release;
use crate::opennebula::template_text;
use crate::opennebula::users::{AuthenticatedUser, NebulaRight, Owned, Permissions};
use crate::opennebula::world::NebulaState;

type FlowState = State<Arc<OneFlow>>;
type Who = Extension<AuthenticatedUser>;
type FlowResult = Result<FlowResponse, FlowResponse>;

const PARSER_ERROR: &str = "JSON::ParserError";
const NO_METHOD: &str = "NoMethodError";

pub(super) async fn list_templates(State(flow): FlowState, Extension(caller): Who) -> FlowResponse {
    FlowResponse::pool(visible(&flow.nebula.nebula_state(), &caller, SERVICE_TEMPLATE))
}

pub(super) async fn list_services(State(flow): FlowState, Extension(caller): Who) -> FlowResponse {
    let mut services = flow.services();
    let (mut nebula_state, now) = (flow.nebula.nebula_state(), flow.nebula.now());
    for service in services.values_mut() {
        if service.settle(&mut nebula_state, now) {
            write_back(service, &mut nebula_state);
        }
    }
    flow.drop_gone(&mut services, &mut nebula_state);
    FlowResponse::pool(visible(&nebula_state, &caller, SERVICE))
}

/// Newest first.
fn visible<'a>(
    nebula_state: &'a NebulaState,
    caller: &'a AuthenticatedUser,
    kind: i32,
) -> impl Iterator<Item = &'a Document> {
    nebula_state.documents.of_kind(kind).filter(|document| document.is_open_to(caller, NebulaRight::Use))
}

pub(super) async fn show_template(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> FlowResult {
    let mut nebula_state = flow.nebula.nebula_state();
    let document = open(&mut nebula_state, &caller, number(&id), SERVICE_TEMPLATE)?;
    Ok(FlowResponse::document(StatusCode::OK, document))
}

pub(super) async fn create_template(
    State(flow): FlowState,
    Extension(caller): Who,
    text: String,
) -> FlowResult {
    let value: Value = serde_json::from_str(&text).map_err(|_| FlowResponse::invalid(unexpected(&text)))?;
    let Value::Object(members) = value else {
        return Err(FlowResponse::invalid("KEY:  must be a Hash; SCHEMA:"));
    };
    let mut nebula_state = flow.nebula.nebula_state();
    let mut body = FlowBody::parse(members, nebula_state.release).map_err(FlowResponse::invalid)?;
    body.registration_time = Some(flow.nebula.now().unix_timestamp());
    let id = allocate(&mut nebula_state, &caller, &body, SERVICE_TEMPLATE)?;
    let document = open(&mut nebula_state, &caller, id, SERVICE_TEMPLATE)?;
    Ok(FlowResponse::document(StatusCode::CREATED, document))
}

pub(super) async fn act_on_template(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> FlowResult {
    let (mut nebula_state, now) = (flow.nebula.nebula_state(), flow.nebula.now());
    let release = nebula_state.release;
    let action = action(&text, &uri, release)?;
    // The real one answers with nothing, as if it had done something.
    if action["perform"] != "instantiate" {
        return Ok(FlowResponse::Text(StatusCode::OK, String::new()));
    }
    let document = open(&mut nebula_state, &caller, number(&id), SERVICE_TEMPLATE)?;
    let template: Map<String, Value> =
        serde_json::from_str(document.body()).map_err(|error| FlowResponse::refused(error.to_string()))?;
    let sent = sent(&action["params"]["merge_template"], release, &uri)?;
    let body =
        FlowBody::parse(merge::merged(&template, &sent, release), release).map_err(FlowResponse::refused)?;
    drop(nebula_state);
    flow.start(&caller, body, now)
}

pub(super) async fn show_service(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> FlowResult {
    let id = number(&id);
    with_service(&flow, &caller, id, NebulaRight::Use, |_, _| Ok(FlowResponse::Done))?;
    let mut nebula_state = flow.nebula.nebula_state();
    let document = open(&mut nebula_state, &caller, id, SERVICE)?;
    Ok(FlowResponse::document(StatusCode::OK, document))
}

pub(super) async fn delete_service(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
) -> FlowResult {
    let now = flow.nebula.now();
    with_service(&flow, &caller, number(&id), NebulaRight::Manage, |service, nebula_state| {
        service.undeploy(nebula_state, now).map(|()| FlowResponse::Done)
    })
}

pub(super) async fn act_on_service(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> FlowResult {
    let release = flow.nebula.nebula_state().release;
    let (action, id, now) = (action(&text, &uri, release)?, number(&id), flow.nebula.now());
    let params = &action["params"];
    match action["perform"].as_str().unwrap_or_default() {
        "recover" => with_service(&flow, &caller, id, NebulaRight::Manage, |service, nebula_state| {
            let is_forced = params["delete"] == true;
            let done = if is_forced {
                service.recover_delete(nebula_state, now)
            } else {
                service.recover(nebula_state, now)
            };
            done.map(|()| FlowResponse::Done)
        }),
        "rename" => {
            let name = params["name"].as_str().unwrap_or_default();
            // The body keeps its old name.
            with_service(&flow, &caller, id, NebulaRight::Manage, |_, nebula_state| {
                let renamed = nebula_state.documents.rename(id, &caller, name);
                renamed.map_err(|call_error| call_error.text("one.document.rename"))?;
                Ok(FlowResponse::Done)
            })
        }
        "chmod" => {
            let octet = params["octet"].as_str().unwrap_or_default();
            with_service(&flow, &caller, id, NebulaRight::Manage, |_, nebula_state| {
                let permissions = octal(octet).ok_or("Wrong octet format")?;
                let document = nebula_state.documents.get_mut(id).ok_or("the document is gone")?;
                document.permissions = permissions;
                Ok(FlowResponse::Done)
            })
        }
        unknown => Err(FlowResponse::refused(format!("Action {unknown} not supported"))),
    }
}

pub(super) async fn scale_service(
    State(flow): FlowState,
    Extension(caller): Who,
    Path(id): Path<String>,
    uri: Uri,
    text: String,
) -> FlowResult {
    let release = flow.nebula.nebula_state().release;
    let crash = |_| FlowResponse::crash(release, PARSER_ERROR, &unexpected(&text), &uri);
    let body: Value = serde_json::from_str(&text).map_err(crash)?;
    // It builds JSON out of what it was given, and forgets that this member may be missing.
    if body["force"].is_null() {
        let broken = format!("{{\"force\":,\"role_name\":{}}}", body["role_name"]);
        return Err(FlowResponse::crash(release, PARSER_ERROR, &unexpected(&broken), &uri));
    }
    let now = flow.nebula.now();
    let role = body["role_name"].as_str().unwrap_or_default();
    let cardinality = body["cardinality"].as_u64().and_then(|number| u32::try_from(number).ok());
    with_service(&flow, &caller, number(&id), NebulaRight::Manage, |service, nebula_state| {
        let cardinality = cardinality.unwrap_or(CARDINALITY_MAX + 1);
        service.scale(nebula_state, role, cardinality, now).map(|()| FlowResponse::Done)
    })
}

/// Sinatra's page for a path that it does not know.
pub(super) async fn unknown(method: Method, uri: Uri) -> FlowResponse {
    let (method, path) = (method.as_str().to_lowercase(), uri.path().replace('/', "&#x2F;"));
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<body>\n  <h2>Sinatra doesn\u{2019}t know this ditty.</h2>\n\
         <pre>{method} &#x27;{path}&#x27; do</pre>\n</body>\n</html>\n"
    );
    FlowResponse::Text(StatusCode::NOT_FOUND, page)
}

/// Lets the service live on, does something with it, and lets it live on again.
fn with_service(
    flow: &OneFlow,
    caller: &AuthenticatedUser,
    id: i32,
    right: NebulaRight,
    act: impl FnOnce(&mut Service, &mut NebulaState) -> Result<FlowResponse, String>,
) -> FlowResult {
    flow.settle();
    let mut services = flow.services();
    let (mut nebula_state, now) = (flow.nebula.nebula_state(), flow.nebula.now());
    open(&mut nebula_state, caller, id, SERVICE)?;
    let service = services.get_mut(&id).ok_or_else(|| FlowResponse::of_another_type(id))?;
    service.vanish_if_scripted(&nebula_state);
    if service.is_gone {
        flow.drop_gone(&mut services, &mut nebula_state);
        return Err(FlowResponse::from_oned(&NebulaError::missing("document", id), "one.document.info"));
    }
    if service.settle(&mut nebula_state, now) {
        write_back(service, &mut nebula_state);
    }
    let manages = nebula_state.documents.open(id, caller, right).map(|_| ());
    manages.map_err(|call_error| FlowResponse::from_oned(&call_error, "one.document.update"))?;
    let answer = act(service, &mut nebula_state).map_err(FlowResponse::refused);
    service.settle(&mut nebula_state, now);
    write_back(service, &mut nebula_state);
    flow.drop_gone(&mut services, &mut nebula_state);
    answer
}

fn open<'a>(
    nebula_state: &'a mut NebulaState,
    caller: &AuthenticatedUser,
    id: i32,
    kind: i32,
) -> Result<&'a Document, FlowResponse> {
    let document = nebula_state
        .documents
        .open(id, caller, NebulaRight::Use)
        .map_err(|call_error| FlowResponse::from_oned(&call_error, "one.document.info"))?;
    if document.kind == kind { Ok(document) } else { Err(FlowResponse::of_another_type(id)) }
}

/// What a body asks for; one without an action is met with a crash.
fn action(text: &str, uri: &Uri, release: Release) -> Result<Value, FlowResponse> {
    let body: Value = serde_json::from_str(text)
        .map_err(|_| FlowResponse::crash(release, PARSER_ERROR, &unexpected(text), uri))?;
    let action = body.get("action").filter(|action| action.is_object()).cloned();
    action
        .ok_or_else(|| FlowResponse::crash(release, NO_METHOD, "undefined method `[]' for nil:NilClass", uri))
}

/// What is laid over the template.
fn sent(merge_template: &Value, release: Release, uri: &Uri) -> Result<Map<String, Value>, FlowResponse> {
    match merge_template {
        Value::Null | Value::Bool(false) => Ok(Map::new()),
        Value::Object(sent) => Ok(sent.clone()),
        Value::String(_) => {
            Err(FlowResponse::crash(release, NO_METHOD, "undefined method `each' for String", uri))
        }
        _ => Err(FlowResponse::invalid("no implicit conversion of String into Integer")),
    }
}

/// OneFlow makes XML of a name and a body by pasting, and oned has its own opinion about that.
pub(super) fn allocate(
    nebula_state: &mut NebulaState,
    caller: &AuthenticatedUser,
    body: &FlowBody,
    kind: i32,
) -> Result<i32, FlowResponse> {
    let text = serde_json::to_string(body).expect("a body is plain text and numbers");
    let text = format!("<TEMPLATE><NAME>{}</NAME><BODY><![CDATA[{text}]]></BODY></TEMPLATE>", body.name);
    let parsed =
        template_text::parse(&text, nebula_state.release).map_err(|why| NebulaError::new(INTERNAL, why));
    let allocated = parsed.and_then(|template| nebula_state.allocate_document(caller, template, kind));
    allocated.map_err(|call_error| FlowResponse::from_oned(&call_error, "one.document.allocate"))
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
