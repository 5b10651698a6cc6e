//! Which requests the provisioner accepts.

use serde_json::Value;

use crate::graphql::GraphqlError;

const AGENT: &str = "compass-runtime-agent";

/// Without a configuration of Kyma, where the schema allows that, a cluster without Kyma is made.
pub(super) fn provision(config: &Value) -> Result<(), GraphqlError> {
    // The GraphQL library takes a text where an input object is meant.
    for path in ["/clusterConfig", "/clusterConfig/gardenerConfig"] {
        if !config.pointer(path).is_some_and(Value::is_object) {
            return Err(GraphqlError::bad_request(format!(
                "cannot provision a runtime: {path} must be an object"
            )));
        }
    }
    if !config["runtimeInput"].is_object() {
        return Err(GraphqlError::bad_request(
            "cannot provision a runtime without its input: runtimeInput is missing",
        ));
    }
    if config["kymaConfig"].is_null() {
        return Ok(());
    }
    kyma(&config["kymaConfig"])
}

pub(super) fn kyma(kyma: &Value) -> Result<(), GraphqlError> {
    if kyma.is_null() {
        return Err(GraphqlError::bad_request(
            "cannot provision a runtime without Kyma: kymaConfig is missing",
        ));
    }
    let components = one_or_many(&kyma["components"]);
    if components.is_empty() {
        return Err(GraphqlError::bad_request(
            "cannot provision a runtime: the list of Kyma components is empty",
        ));
    }
    if !components.iter().any(|component| component["component"] == AGENT) {
        let message = format!("cannot provision a runtime: the component {AGENT} is required");
        return Err(GraphqlError::bad_request(message));
    }
    let version = kyma["version"].as_str().unwrap_or_default();
    if !is_known(version) {
        return Err(GraphqlError::bad_request(format!("the Kyma version {version:?} was not found")));
    }
    Ok(())
}

/// GraphQL takes one value for a list of one.
pub(super) fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::Null => &[],
        Value::Array(items) => items,
        single => std::slice::from_ref(single),
    }
}

/// `N.N.N`, `main`, `master-…` and `PR-n` look like releases, and `0.0.…` never was one.
fn is_known(version: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = version.strip_prefix("PR-") {
        return is_number(number);
    }
    if let Some(rest) = version.strip_prefix("master-") {
        return !rest.is_empty();
    }
    let parts: Vec<&str> = version.split('.').collect();
    let is_release = parts.len() == 3 && parts.iter().all(|part| is_number(part));
    version == "main" || (is_release && !version.starts_with("0.0."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_looks() {
        for version in ["1.13.0", "2.0.10", "main", "master-00e83e99", "PR-1", "PR-12345"] {
            assert!(is_known(version), "{version}");
        }
        for version in ["", "1", "1.13", "1.13.x", "1.2.3.4", "master", "master-", "PR-", "PR-x", "0.0.7"] {
            assert!(!is_known(version), "{version}");
        }
    }
}
