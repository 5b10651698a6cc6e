//! The listeners of EC2 and STS: a signed form in, and XML out.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Router, middleware};
use time::OffsetDateTime;
use uuid::Uuid;

use super::action::{AwsAction, AwsEndpoint};
use super::call_error::AwsError;
use super::calls::RecordedCalls;
use super::faults::{AwsFaultKind, FaultOdds};
use super::form::AwsForm;
use super::signature::{Arrived, SignatureClaim};
use super::world::{AwsCall, AwsCloud, AwsState, RegionSite};
use super::xml::Xml;
use super::{catalog, images, instances, key_pairs, sts, templates};
use crate::answer;
use crate::connection::Connection;
use crate::faults::{self, Faults, Gate};

/// Where calls to STS are counted that belong to no region.
const HOME: &str = "us-east-1";

pub(super) fn routes(cloud: &Arc<AwsCloud>, faults: &Arc<Faults>) -> Router {
    let gate = |service: AwsEndpoint| {
        let gate = Gate { system: service.system(), faults: Arc::clone(faults) };
        middleware::from_fn_with_state(gate, faults::hit)
    };
    let ec2 = Router::new()
        .route("/aws/ec2/{region}", post(ec2))
        .route("/aws/ec2/{region}/", post(ec2))
        .route_layer(gate(AwsEndpoint::Ec2));
    let sts = Router::new()
        .route("/aws/sts", post(sts))
        .route("/aws/sts/", post(sts))
        .route_layer(gate(AwsEndpoint::Sts));
    ec2.merge(sts).with_state(Arc::clone(cloud))
}

async fn ec2(
    State(cloud): State<Arc<AwsCloud>>,
    Path(region): Path<String>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> Response {
    if !catalog::is_region(&region) {
        // Such a host would not exist.
        return answer::CallError::new(StatusCode::NOT_FOUND, "there is no such region").into_response();
    }
    let arrived = Arrived { method: &method, uri: &uri, headers: &headers, body: &body };
    answer_call(&cloud, AwsEndpoint::Ec2, &region, &arrived, &connection)
}

async fn sts(
    State(cloud): State<Arc<AwsCloud>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> Response {
    let arrived = Arrived { method: &method, uri: &uri, headers: &headers, body: &body };
    answer_call(&cloud, AwsEndpoint::Sts, HOME, &arrived, &connection)
}

/// What a call brought, and whether its caller may hear of it.
struct AwsResult {
    action: AwsAction,
    xml: String,
    is_lost: bool,
}

fn answer_call(
    cloud: &AwsCloud,
    service: AwsEndpoint,
    region: &str,
    arrived: &Arrived<'_>,
    connection: &Connection,
) -> Response {
    let now = cloud.now();
    let result = handle(&mut cloud.aws_state(), service, region, arrived, now);
    cloud.woken.notify_one();
    let request_id = Uuid::now_v7();
    let (status, body) = match result {
        Ok(answered) => {
            if answered.is_lost {
                connection.cut();
            }
            (StatusCode::OK, envelope(service, &answered, request_id))
        }
        Err(call_error) => (call_error.status(), refuse(service, &call_error, request_id)),
    };
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}");
    (status, [(header::CONTENT_TYPE, "text/xml;charset=UTF-8")], body).into_response()
}

fn envelope(service: AwsEndpoint, answered: &AwsResult, request_id: Uuid) -> String {
    let (name, xml) = (answered.action.name(), &answered.xml);
    match service {
        AwsEndpoint::Ec2 => format!(
            "<{name}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
             <requestId>{request_id}</requestId>{xml}</{name}Response>"
        ),
        AwsEndpoint::Sts => format!(
            "<{name}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <{name}Result>{xml}</{name}Result>\
             <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{name}Response>"
        ),
    }
}

fn refuse(service: AwsEndpoint, call_error: &AwsError, request_id: Uuid) -> String {
    let error = Xml::of(|xml| {
        xml.leaf("Code", &call_error.code);
        xml.leaf("Message", &call_error.message);
    });
    match service {
        AwsEndpoint::Ec2 => format!(
            "<Response><Errors><Error>{error}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
        ),
        AwsEndpoint::Sts => format!(
            "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <Error><Type>Sender</Type>{error}</Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        ),
    }
}

fn handle(
    aws_state: &mut AwsState,
    service: AwsEndpoint,
    region: &str,
    arrived: &Arrived<'_>,
    now: OffsetDateTime,
) -> Result<AwsResult, AwsError> {
    let mut form = AwsForm::parse(arrived.body)?;
    let action = AwsAction::find(service, &form.need("Action")?)?;
    let region = region.to_owned();
    let mut kept = RecordedCalls { at: now, action, account: None, region: Some(region.clone()), code: None };
    let result = admit(aws_state, action, &region, arrived, &mut form, now).and_then(|call| {
        kept.account = Some(call.caller.account.clone());
        carry_out_unless_scripted(aws_state, &call, form)
    });
    aws_state.calls.keep(kept, result.as_ref().err());
    result
}

/// Finds out who calls.
fn admit(
    aws_state: &AwsState,
    action: AwsAction,
    region: &str,
    arrived: &Arrived<'_>,
    form: &mut AwsForm,
    now: OffsetDateTime,
) -> Result<AwsCall, AwsError> {
    let service = action.service();
    if form.need("Version")? != service.version() {
        return Err(AwsError::new("NoSuchVersion", format!("Version must be {}", service.version())));
    }
    let claim = SignatureClaim::read(arrived)?;
    claim.require_scope(service.name(), (service == AwsEndpoint::Ec2).then_some(region))?;
    claim.require_fresh(OffsetDateTime::now_utc())?;
    let caller = aws_state.callers.authenticate(service, &claim, arrived, now)?;
    if catalog::is_closed(region) {
        return Err(AwsError::new("AuthFailure", "this account has not asked for this region"));
    }
    let site = RegionSite { account: caller.account.clone(), region: region.to_owned() };
    let is_dry_run = service == AwsEndpoint::Ec2 && form.flag("DryRun")?;
    Ok(AwsCall { action, caller, site, is_dry_run, now })
}

fn carry_out_unless_scripted(
    aws_state: &mut AwsState,
    call: &AwsCall,
    form: AwsForm,
) -> Result<AwsResult, AwsError> {
    let AwsCall { action, site, is_dry_run, .. } = call;
    let chance =
        FaultOdds { action: *action, account: &site.account, region: &site.region, is_dry_run: *is_dry_run };
    if aws_state.controls.throttle.hits(*action) {
        let code = match action.service() {
            AwsEndpoint::Ec2 => "RequestLimitExceeded",
            AwsEndpoint::Sts => "Throttling",
        };
        return Err(AwsError::new(code, "there were too many calls; slow down"));
    }
    if let Some(told) = aws_state.faults.hits(AwsFaultKind::Fail, &chance) {
        return Err(AwsError { code: told.code.into(), message: told.message });
    }
    let xml = carry_out(aws_state, call, form)?;
    let is_lost = aws_state.faults.hits(AwsFaultKind::Lose, &chance).is_some();
    Ok(AwsResult { action: *action, xml, is_lost })
}

fn carry_out(aws_state: &mut AwsState, call: &AwsCall, form: AwsForm) -> Result<String, AwsError> {
    match call.action {
        AwsAction::AssumeRole => sts::assume_role(aws_state, call, form),
        AwsAction::GetCallerIdentity => sts::get_caller_identity(call, form),
        AwsAction::CreateLaunchTemplate => templates::create(aws_state, call, form),
        AwsAction::DeleteKeyPair => key_pairs::delete(aws_state, call, form),
        AwsAction::DeleteLaunchTemplate => templates::delete(aws_state, call, form),
        AwsAction::DescribeImages => images::describe(aws_state, call, form),
        AwsAction::DescribeInstanceTypes => catalog::describe_types(aws_state, call, form),
        AwsAction::DescribeInstances => instances::describe(aws_state, call, form),
        AwsAction::DescribeKeyPairs => key_pairs::describe(aws_state, call, form),
        AwsAction::DescribeLaunchTemplates => templates::describe(aws_state, call, form),
        AwsAction::DescribeRegions => catalog::describe_regions(call, form),
        AwsAction::ImportKeyPair => key_pairs::import(aws_state, call, form),
        AwsAction::RunInstances => instances::run(aws_state, call, form),
        AwsAction::TerminateInstances => instances::terminate(aws_state, call, form),
    }
}
