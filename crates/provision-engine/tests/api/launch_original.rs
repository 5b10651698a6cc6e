//! The operations and fields of the hosted service's own description, as facts, and ours beside them. What differs on
//! purpose is in `docs/guide/launch.md` and in [`ON_PURPOSE`], and nowhere else.

use std::collections::BTreeSet;

use serde_json::Value;

/// An operation: method, path, name, parameters of path and query, body, answer.
type OriginalOperation =
    (&'static str, &'static str, &'static str, &'static [&'static str], &'static str, &'static str);

const PAGE: [&str; 2] = ["query limit", "query offset"];

const OPERATIONS: [OriginalOperation; 18] = [
    ("post", "/availability_status/sources", "availabilityStatus", &[], "v1.AvailabilityStatusRequest", ""),
    (
        "get",
        "/instance_types/{PROVIDER}",
        "getInstanceTypeListAll",
        &["path PROVIDER", "query region", "query zone"],
        "",
        "v1.ListInstaceTypeResponse",
    ),
    ("get", "/pubkeys", "getPubkeyList", &PAGE, "", "v1.ListPubkeyResponse"),
    ("post", "/pubkeys", "createPubkey", &[], "v1.PubkeyRequest", "v1.PubkeyResponse"),
    ("delete", "/pubkeys/{ID}", "removePubkeyById", &["path ID"], "", ""),
    ("get", "/pubkeys/{ID}", "getPubkeyById", &["path ID"], "", "v1.PubkeyResponse"),
    ("get", "/reservations", "getReservationsList", &PAGE, "", "v1.ListGenericReservationResponse"),
    ("get", "/reservations/{ID}", "getReservationByID", &["path ID"], "", "v1.GenericReservationResponse"),
    (
        "post",
        "/reservations/aws",
        "createAwsReservation",
        &[],
        "v1.AWSReservationRequest",
        "v1.AWSReservationResponse",
    ),
    ("get", "/reservations/aws/{ID}", "getAWSReservationByID", &["path ID"], "", "v1.AWSReservationResponse"),
    (
        "post",
        "/reservations/azure",
        "createAzureReservation",
        &[],
        "v1.AzureReservationRequest",
        "v1.AzureReservationResponse",
    ),
    (
        "get",
        "/reservations/azure/{ID}",
        "getAzureReservationByID",
        &["path ID"],
        "",
        "v1.AzureReservationResponse",
    ),
    (
        "post",
        "/reservations/gcp",
        "createGCPReservation",
        &[],
        "v1.GCPReservationRequest",
        "v1.GCPReservationResponse",
    ),
    ("get", "/reservations/gcp/{ID}", "getGCPReservationByID", &["path ID"], "", "v1.GCPReservationResponse"),
    ("post", "/reservations/noop", "createNoopReservation", &[], "", "v1.NoopReservationResponse"),
    (
        "get",
        "/sources",
        "getSourceList",
        &["query limit", "query offset", "query provider"],
        "",
        "v1.ListSourceResponse",
    ),
    (
        "get",
        "/sources/{ID}/launch_templates",
        "getLaunchTemplatesList",
        &["path ID", "query limit", "query region", "query token"],
        "",
        "v1.ListLaunchTemplateResponse",
    ),
    (
        "get",
        "/sources/{ID}/upload_info",
        "getSourceUploadInfo",
        &["path ID"],
        "",
        "v1.SourceUploadInfoResponse",
    ),
];

/// What an AWS, an Azure and a GCP reservation have in common, as `field type`; `?` may be null.
const SHARED: [&str; 5] =
    ["amount integer", "image_id string", "poweroff boolean", "pubkey_id integer", "source_id string"];
const INSTANCES: [&str; 7] = [
    "instances array",
    "instances[].instance_id string",
    "instances[].detail object",
    "instances[].detail.private_ipv4 string",
    "instances[].detail.private_ipv6 string",
    "instances[].detail.public_dns string",
    "instances[].detail.public_ipv4 string",
];
const LINKS: [&str; 4] = [
    "metadata object",
    "metadata.links object",
    "metadata.links.next string",
    "metadata.links.previous string",
];
const RESERVATION: [&str; 11] = [
    "created_at string",
    "error string",
    "finished_at string",
    "id integer",
    "provider integer",
    "status string",
    "step integer",
    "step_titles array",
    "step_titles[] string",
    "steps integer",
    "success boolean",
];
const SOURCE: [&str; 6] =
    ["id string", "name string", "provider string", "source_type_id string", "status string", "uid string"];
const PUBLIC_KEY: [&str; 6] = [
    "body string",
    "fingerprint string",
    "fingerprint_legacy string",
    "id integer",
    "name string",
    "type string",
];
const INSTANCE_TYPE: [&str; 10] = [
    "architecture string",
    "azure object",
    "azure.gen_v1 boolean",
    "azure.gen_v2 boolean",
    "cores integer",
    "memory_mib integer",
    "name string",
    "storage_gb integer",
    "supported boolean",
    "vcpus integer",
];
const TEMPLATE: [&str; 2] = ["id string", "name string"];

/// Fields that a schema of the hosted service has and ours has not, or with another type. Each is on the list of
/// `docs/guide/launch.md`.
const ON_PURPOSE: [(&str, &str); 1] = [
    // A page of a cloud has no number of all templates; the hosted service never sends it either.
    ("v1.ListLaunchTemplateResponse", "metadata.total integer"),
];

fn listed(fields: &[&str]) -> Vec<String> {
    let inside = fields.iter().map(|field| format!("data[].{field}"));
    let around = ["data array", "data[] object", "metadata.total integer"].map(str::to_owned);
    inside.chain(around).chain(LINKS.map(str::to_owned)).collect()
}

fn owned(parts: &[&[&str]]) -> Vec<String> {
    parts.iter().flat_map(|part| part.iter().map(|field| (*field).to_owned())).collect()
}

/// Every schema of the hosted service with its fields.
fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let aws = ["instance_type string", "launch_template_id string", "name string", "region string"];
    let azure = ["instance_size string", "location string", "name string", "resource_group string"];
    let gcp = ["launch_template_id string", "machine_type string", "name_pattern string", "zone string"];
    let made = ["reservation_id integer"];
    let types = INSTANCE_TYPE.iter().map(|field| format!("data[].{field}"));
    vec![
        ("v1.AWSReservationRequest", owned(&[&SHARED, &aws])),
        (
            "v1.AWSReservationResponse",
            owned(&[&SHARED, &aws, &made, &INSTANCES, &["aws_reservation_id string"]]),
        ),
        ("v1.AzureReservationRequest", owned(&[&SHARED, &azure])),
        ("v1.AzureReservationResponse", owned(&[&SHARED, &azure, &made, &INSTANCES])),
        ("v1.GCPReservationRequest", owned(&[&SHARED, &gcp])),
        (
            "v1.GCPReservationResponse",
            owned(&[&SHARED, &gcp, &made, &INSTANCES, &["gcp_operation_name string"]]),
        ),
        ("v1.NoopReservationResponse", owned(&[&made])),
        ("v1.GenericReservationResponse", owned(&[&RESERVATION])),
        ("v1.ListGenericReservationResponse", listed(&RESERVATION)),
        ("v1.AvailabilityStatusRequest", owned(&[&["source_id string"]])),
        ("v1.InstanceTypeResponse", owned(&[&INSTANCE_TYPE])),
        (
            "v1.ListInstaceTypeResponse",
            types.chain(["data array", "data[] object"].map(str::to_owned)).collect(),
        ),
        ("v1.LaunchTemplatesResponse", owned(&[&TEMPLATE])),
        ("v1.ListLaunchTemplateResponse", listed(&TEMPLATE)),
        ("v1.PubkeyRequest", owned(&[&["body string", "name string"]])),
        ("v1.PubkeyResponse", owned(&[&PUBLIC_KEY])),
        ("v1.ListPubkeyResponse", listed(&PUBLIC_KEY)),
        ("v1.SourceResponse", owned(&[&SOURCE])),
        ("v1.ListSourceResponse", listed(&SOURCE)),
        (
            "v1.SourceUploadInfoResponse",
            owned(&[&[
                "aws object",
                "aws.account_id string",
                "azure object",
                "azure.resource_groups array",
                "azure.resource_groups[] string",
                "azure.subscription_id string",
                "azure.tenant_id string",
                "gcp object",
                "provider string",
            ]]),
        ),
        (
            "v1.ResponseError",
            owned(&[&[
                "build_time string",
                "edge_id string",
                "environment string",
                "error string",
                "msg string",
                "trace_id string",
                "version string",
            ]]),
        ),
    ]
}

fn ours() -> Value {
    serde_json::to_value(::launch::api::openapi()).unwrap()
}

/// The schema itself, through references and through what may also be null.
fn resolved<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return resolved(api, &api["components"]["schemas"][reference.rsplit('/').next().unwrap()]);
    }
    let either = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    match either.and_then(|all| all.iter().find(|one| one["type"] != "null")) {
        Some(one) => resolved(api, one),
        None => schema,
    }
}

/// Every field below a schema, with its type, by its path.
fn fields(api: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schema = resolved(api, schema);
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    };
    if !path.is_empty() {
        found.insert(format!("{path} {}", kind.unwrap_or("object")));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        fields(api, property, &below, found);
    }
    if kind == Some("array") {
        fields(api, &schema["items"], &format!("{path}[]"), found);
    }
}

fn schema_of(content: &Value) -> &str {
    let reference = content["content"]["application/json"]["schema"]["$ref"].as_str();
    reference.and_then(|reference| reference.rsplit('/').next()).unwrap_or_default()
}

#[test]
fn every_operation_of_the_hosted_service_is_here_under_its_name() {
    let api = ours();
    for (method, path, name, parameters, body, answer) in OPERATIONS {
        let operation = &api["paths"][path][method];
        assert_eq!(operation["operationId"], name, "{method} {path}");
        let given: BTreeSet<String> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| format!("{} {}", one["in"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect();
        for parameter in parameters {
            assert!(given.contains(*parameter), "{method} {path} has no {parameter}: {given:?}");
        }
        assert_eq!(schema_of(&operation["requestBody"]), body, "the body of {method} {path}");
        let good = if method == "delete" { "204" } else { "200" };
        assert!(operation["responses"][good].is_object(), "{method} {path} does not answer {good}");
        assert_eq!(schema_of(&operation["responses"][good]), answer, "the answer to {method} {path}");
    }
}

#[test]
fn every_field_of_the_hosted_service_is_here_with_its_type() {
    let api = ours();
    for (name, expected) in schemas() {
        let schema = &api["components"]["schemas"][name];
        assert!(schema.is_object(), "there is no schema {name}");
        let mut found = BTreeSet::new();
        fields(&api, schema, "", &mut found);
        for field in expected {
            let is_meant = ON_PURPOSE.contains(&(name, field.as_str()));
            assert_ne!(found.contains(&field), is_meant, "{name} and {field}: {found:#?}");
        }
    }
}
