//! The doors of EC2 and STS: a signed form in, and XML out.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Router, middleware};
use time::OffsetDateTime;
use uuid::Uuid;

use super::action::{Action, Service};
use super::calls::Kept;
use super::faults::{AwsFaultKind, Chance};
use super::form::Form;
use super::refusal::Refusal;
use super::signature::{Arrived, Claim};
use super::world::{Call, Cloud, Estate, Site};
use super::xml::Xml;
use super::{catalog, images, instances, key_pairs, sts, templates};
use crate::answer;
use crate::connection::Connection;
use crate::faults::{self, Faults, Gate};

/// Where calls to STS are counted that belong to no region.
const HOME: &str = "us-east-1";

pub(super) fn routes(cloud: &Arc<Cloud>, faults: &Arc<Faults>) -> Router {
    let gate = |service: Service| {
        let gate = Gate { system: service.system(), faults: Arc::clone(faults) };
        middleware::from_fn_with_state(gate, faults::strike)
    };
    let ec2 = Router::new()
        .route("/aws/ec2/{region}", post(ec2))
        .route("/aws/ec2/{region}/", post(ec2))
        .route_layer(gate(Service::Ec2));
    let sts = Router::new()
        .route("/aws/sts", post(sts))
        .route("/aws/sts/", post(sts))
        .route_layer(gate(Service::Sts));
    ec2.merge(sts).with_state(Arc::clone(cloud))
}

async fn ec2(
    State(cloud): State<Arc<Cloud>>,
    Path(region): Path<String>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> Response {
    if !catalog::is_region(&region) {
        // Such a host would not exist.
        return answer::Refusal::new(StatusCode::NOT_FOUND, "there is no such region").into_response();
    }
    let arrived = Arrived { method: &method, uri: &uri, headers: &headers, body: &body };
    answer_call(&cloud, Service::Ec2, &region, &arrived, &connection)
}

async fn sts(
    State(cloud): State<Arc<Cloud>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> Response {
    let arrived = Arrived { method: &method, uri: &uri, headers: &headers, body: &body };
    answer_call(&cloud, Service::Sts, HOME, &arrived, &connection)
}

/// What a call brought, and whether its caller may hear of it.
struct Answered {
    action: Action,
    xml: String,
    is_lost: bool,
}

fn answer_call(
    cloud: &Cloud,
    service: Service,
    region: &str,
    arrived: &Arrived<'_>,
    connection: &Connection,
) -> Response {
    let now = cloud.now();
    let result = handle(&mut cloud.estate(), service, region, arrived, now);
    cloud.woken.notify_one();
    let request_id = Uuid::now_v7();
    let (status, body) = match result {
        Ok(answered) => {
            if answered.is_lost {
                connection.cut();
            }
            (StatusCode::OK, envelope(service, &answered, request_id))
        }
        Err(refusal) => (refusal.status(), refuse(service, &refusal, request_id)),
    };
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}");
    (status, [(header::CONTENT_TYPE, "text/xml;charset=UTF-8")], body).into_response()
}

fn envelope(service: Service, answered: &Answered, request_id: Uuid) -> String {
    let (name, xml) = (answered.action.name(), &answered.xml);
    match service {
        Service::Ec2 => format!(
            "<{name}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
             <requestId>{request_id}</requestId>{xml}</{name}Response>"
        ),
        Service::Sts => format!(
            "<{name}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <{name}Result>{xml}</{name}Result>\
             <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{name}Response>"
        ),
    }
}

fn refuse(service: Service, refusal: &Refusal, request_id: Uuid) -> String {
    let error = Xml::of(|xml| {
        xml.leaf("Code", &refusal.code);
        xml.leaf("Message", &refusal.message);
    });
    match service {
        Service::Ec2 => format!(
            "<Response><Errors><Error>{error}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
        ),
        Service::Sts => format!(
            "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <Error><Type>Sender</Type>{error}</Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        ),
    }
}

fn handle(
    estate: &mut Estate,
    service: Service,
    region: &str,
    arrived: &Arrived<'_>,
    now: OffsetDateTime,
) -> Result<Answered, Refusal> {
    let mut form = Form::parse(arrived.body)?;
    let action = Action::find(service, &form.need("Action")?)?;
    let region = region.to_owned();
    let mut kept = Kept { at: now, action, account: None, region: Some(region.clone()), code: None };
    let result = admit(estate, action, &region, arrived, &mut form, now).and_then(|call| {
        kept.account = Some(call.caller.account.clone());
        carry_out_unless_scripted(estate, &call, form)
    });
    estate.calls.keep(kept, result.as_ref().err());
    result
}

/// Finds out who calls.
fn admit(
    estate: &Estate,
    action: Action,
    region: &str,
    arrived: &Arrived<'_>,
    form: &mut Form,
    now: OffsetDateTime,
) -> Result<Call, Refusal> {
    let service = action.service();
    if form.need("Version")? != service.version() {
        return Err(Refusal::new("NoSuchVersion", format!("Version must be {}", service.version())));
    }
    let claim = Claim::read(arrived)?;
    claim.require_scope(service.name(), (service == Service::Ec2).then_some(region))?;
    claim.require_fresh(OffsetDateTime::now_utc())?;
    let caller = estate.callers.authenticate(service, &claim, arrived, now)?;
    if catalog::is_closed(region) {
        return Err(Refusal::new("AuthFailure", "this account has not asked for this region"));
    }
    let site = Site { account: caller.account.clone(), region: region.to_owned() };
    let is_dry_run = service == Service::Ec2 && form.flag("DryRun")?;
    Ok(Call { action, caller, site, is_dry_run, now })
}

fn carry_out_unless_scripted(estate: &mut Estate, call: &Call, form: Form) -> Result<Answered, Refusal> {
    let Call { action, site, is_dry_run, .. } = call;
    let chance =
        Chance { action: *action, account: &site.account, region: &site.region, is_dry_run: *is_dry_run };
    if estate.knobs.throttle.hits(*action) {
        let code = match action.service() {
            Service::Ec2 => "RequestLimitExceeded",
            Service::Sts => "Throttling",
        };
        return Err(Refusal::new(code, "there were too many calls; slow down"));
    }
    if let Some(told) = estate.faults.hits(AwsFaultKind::Fail, &chance) {
        return Err(Refusal { code: told.code.into(), message: told.message });
    }
    let xml = carry_out(estate, call, form)?;
    let is_lost = estate.faults.hits(AwsFaultKind::Lose, &chance).is_some();
    Ok(Answered { action: *action, xml, is_lost })
}

fn carry_out(estate: &mut Estate, call: &Call, form: Form) -> Result<String, Refusal> {
    match call.action {
        Action::AssumeRole => sts::assume_role(estate, call, form),
        Action::GetCallerIdentity => sts::get_caller_identity(call, form),
        Action::CreateLaunchTemplate => templates::create(estate, call, form),
        Action::DeleteKeyPair => key_pairs::delete(estate, call, form),
        Action::DeleteLaunchTemplate => templates::delete(estate, call, form),
        Action::DescribeImages => images::describe(estate, call, form),
        Action::DescribeInstanceTypes => catalog::describe_types(estate, call, form),
        Action::DescribeInstances => instances::describe(estate, call, form),
        Action::DescribeKeyPairs => key_pairs::describe(estate, call, form),
        Action::DescribeLaunchTemplates => templates::describe(estate, call, form),
        Action::DescribeRegions => catalog::describe_regions(call, form),
        Action::ImportKeyPair => key_pairs::import(estate, call, form),
        Action::RunInstances => instances::run(estate, call, form),
        Action::TerminateInstances => instances::terminate(estate, call, form),
    }
}
