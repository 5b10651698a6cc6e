//! The catalog: what an offering and a plan must say about themselves.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::array;
use crate::call::BrokerCall;
use crate::checker::Checker;

const NAME_CHARS_MAX: usize = 255;
const REQUIRES: [&str; 3] = ["syslog_drain", "route_forwarding", "volume_mount"];

pub(crate) async fn run(checker: &Checker) {
    let answer = checker.send(BrokerCall::get("/v2/catalog")).await;
    checker.check("catalog.read", "1.2", "the catalog can be read", answer.is(&[200]));
    let is_list = answer.json["services"].is_array();
    let listed = answer.is(&[200]).and(is_list, || "expected services to be an array".to_owned());
    checker.check("catalog.services", "1.3", "the catalog lists services", listed);
    let again = answer.is(&[200]).and(answer.json == checker.catalog, || "the catalog changed".to_owned());
    checker.check("catalog.stable", "1.3", "two readings of the catalog are equal", again);
    match answer.header("etag") {
        Some(etag) => {
            let cached =
                checker.send(BrokerCall::get("/v2/catalog").header("if-none-match", etag.as_bytes())).await;
            checker.check(
                "catalog.etag",
                "1.2",
                "an ETag of the catalog can be sent back",
                cached.is(&[200, 304]),
            );
        }
        None => {
            checker.skip("catalog.etag", "1.2", "an ETag of the catalog can be sent back", "there is none");
        }
    }
    unique(checker);
    for (kind, thing) in [("service", &checker.service), ("plan", &checker.plan)] {
        required(checker, kind, thing);
    }
    optional(checker);
    maintenance(checker);
}

/// A rule about the catalog alone: `fault` is what breaks it.
fn rule(checker: &Checker, id: &str, title: &str, fault: Option<String>) {
    checker.check(format!("catalog.{id}"), "1.3", title, fault);
}

fn unique(checker: &Checker) {
    let services = array(&checker.catalog["services"]);
    let plans = || services.iter().flat_map(|service| array(&service["plans"]));
    let ids = services.iter().chain(plans()).map(|thing| &thing["id"]);
    rule(checker, "ids.unique", "no id is used twice in the catalog", twice(ids));
    let names = services.iter().map(|service| &service["name"]);
    rule(checker, "service.name.unique", "no name of an offering is used twice", twice(names));
    let names = array(&checker.service["plans"]).iter().map(|plan| &plan["name"]);
    rule(checker, "plan.name.unique", "no name of a plan is used twice in its offering", twice(names));
}

fn twice<'a>(values: impl Iterator<Item = &'a Value>) -> Option<String> {
    let mut known = BTreeSet::new();
    values
        .map(Value::to_string)
        .find(|value| !known.insert(value.clone()))
        .map(|value| format!("{value} twice"))
}

fn required(checker: &Checker, kind: &str, thing: &Value) {
    for field in ["id", "name", "description"] {
        let text = thing[field].as_str().unwrap_or_default();
        let empty = text.trim().is_empty().then(|| format!("{field} is {}", thing[field]));
        rule(checker, &format!("{kind}.{field}"), &format!("the {kind} has a {field}"), empty);
    }
    for field in ["id", "name"] {
        let length = thing[field].as_str().unwrap_or_default().chars().count();
        let long = (length > NAME_CHARS_MAX).then(|| format!("{field} has {length} characters"));
        rule(
            checker,
            &format!("{kind}.{field}.length"),
            &format!("the {field} of the {kind} is not too long"),
            long,
        );
    }
    let flags: &[&str] = if kind == "service" {
        &[
            "bindable",
            "instances_retrievable",
            "bindings_retrievable",
            "allow_context_updates",
            "plan_updateable",
        ]
    } else {
        &["free", "bindable", "binding_rotatable", "plan_updateable"]
    };
    for flag in flags {
        let value = &thing[flag];
        let may_be_absent = !(kind == "service" && *flag == "bindable");
        let fine = value.is_boolean() || (may_be_absent && thing.get(flag).is_none());
        let title = format!("{flag} of the {kind} is true or false");
        rule(checker, &format!("{kind}.{flag}"), &title, (!fine).then(|| format!("{flag} is {value}")));
    }
    let fine = thing.get("metadata").is_none_or(Value::is_object);
    let fault = (!fine).then(|| format!("metadata is {}", thing["metadata"]));
    rule(checker, &format!("{kind}.metadata"), &format!("metadata of the {kind} is an object"), fault);
}

fn optional(checker: &Checker) {
    let Checker { service, plan, .. } = checker;
    let mut services = array(&checker.catalog["services"]).iter();
    let none = services.find(|service| array(&service["plans"]).is_empty());
    let fault = none.map(|service| format!("{} has none", service["name"]));
    rule(checker, "service.plans", "every offering has a plan", fault);
    let tags = &service["tags"];
    let fine = tags.is_null() || tags.as_array().is_some_and(|tags| tags.iter().all(Value::is_string));
    rule(checker, "service.tags", "tags are strings", (!fine).then(|| format!("tags is {tags}")));
    let requires = &service["requires"];
    let known = |name: &Value| name.as_str().is_some_and(|name| REQUIRES.contains(&name));
    let fine = requires.is_null() || requires.as_array().is_some_and(|names| names.iter().all(known));
    rule(
        checker,
        "service.requires",
        "requires has known permissions",
        (!fine).then(|| format!("{requires}")),
    );
    let client = &service["dashboard_client"];
    let fine = client.is_null() || (client["id"].is_string() && client["secret"].is_string());
    let fault = (!fine).then(|| "it needs an id and a secret".to_owned());
    rule(checker, "service.dashboard_client", "a client for the dashboard is complete", fault);
    let seconds = &plan["maximum_polling_duration"];
    let fine =
        plan.get("maximum_polling_duration").is_none() || seconds.as_u64().is_some_and(|seconds| seconds > 0);
    let fault = (!fine).then(|| format!("it is {seconds}"));
    rule(checker, "plan.maximum_polling_duration", "the polling duration is in whole seconds", fault);
    let costs = &plan["metadata"]["costs"];
    let whole = |cost: &Value| cost["amount"].is_object() && cost["unit"].is_string();
    let fine = costs.is_null() || costs.as_array().is_some_and(|costs| costs.iter().all(whole));
    rule(checker, "plan.costs", "costs have an amount and a unit", (!fine).then(|| format!("{costs}")));
}

fn maintenance(checker: &Checker) {
    let info = checker.plan.get("maintenance_info");
    let version = info.map(|info| info["version"].as_str().unwrap_or_default());
    let fault =
        version.filter(|version| !is_semver(version)).map(|version| format!("the version is {version:?}"));
    rule(checker, "plan.maintenance_info.version", "the maintenance version is a semantic version", fault);
    let description = info.and_then(|info| info.get("description"));
    let fault = description.filter(|text| !text.is_string()).map(|text| format!("it is {text}"));
    rule(checker, "plan.maintenance_info.description", "maintenance is described in words", fault);
}

/// Semantic Versioning 2.0.0, with identifiers after `-` and `+`.
fn is_semver(version: &str) -> bool {
    let (rest, build) = version.split_once('+').map_or((version, None), |(rest, build)| (rest, Some(build)));
    let (core, early) = rest.split_once('-').map_or((rest, None), |(core, early)| (core, Some(early)));
    let number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
    };
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let early_word =
        |text: &str| word(text) && (number(text) || !text.bytes().all(|byte| byte.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && early.is_none_or(|early| early.split('.').all(early_word))
        && build.is_none_or(|build| build.split('.').all(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantic_versions_are_told_from_others() {
        for good in ["0.0.0", "1.2.3", "10.20.30-rc.1", "1.0.0-x-y+build.007", "1.0.0+1"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "v1.2.3", "1.2.x", "1.2.3+"] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}
