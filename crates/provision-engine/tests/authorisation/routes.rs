//! Every route of every API, from their descriptions: a new one is here without being listed.

use crate::world::endpoints;

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) method: String,
    /// With its parameters in braces.
    pub(crate) template: String,
    pub(crate) api: ApiUnderTest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiUnderTest {
    Operations,
    Launch,
    Broker,
}

pub(crate) fn routes() -> Vec<Route> {
    let documents = [
        (ApiUnderTest::Operations, "", server::openapi(&endpoints(None))),
        (ApiUnderTest::Launch, ::launch::api::BASE, ::launch::api::openapi()),
        (ApiUnderTest::Broker, "", ::runtimes::api::osb::openapi()),
    ];
    let mut routes = Vec::new();
    for (api, base, document) in documents {
        let document = serde_json::to_value(document).unwrap();
        for (path, item) in document["paths"].as_object().unwrap() {
            let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
            routes.extend(methods.map(|method| Route {
                method: method.to_uppercase(),
                template: format!("{base}{path}"),
                api,
            }));
        }
    }
    assert!(routes.len() > 90, "{} routes are too few to be all", routes.len());
    routes
}

impl Route {
    pub(crate) fn has_body(&self) -> bool {
        ["POST", "PUT", "PATCH"].contains(&self.method.as_str())
    }

    /// The paths with each of these names in place of each parameter.
    pub(crate) fn paths(&self, names: &[String]) -> Vec<String> {
        let mut paths = vec![String::new()];
        let mut rest = self.template.as_str();
        while let Some((before, parameter)) = rest.split_once('{') {
            let (parameter, after) = parameter.split_once('}').unwrap();
            let fixed = |text: &str| vec![text.to_owned()];
            let values = match parameter {
                "provider" | "type" => fixed("aws"),
                "service" => fixed("rbac"),
                "flag" => fixed("provisioning.launch"),
                _ => names.to_vec(),
            };
            paths = paths
                .iter()
                .flat_map(|path| values.iter().map(move |value| format!("{path}{before}{value}")))
                .collect();
            rest = after;
        }
        paths.into_iter().map(|path| format!("{path}{rest}")).collect()
    }
}

/// What a caller learns of how it was judged.
pub(crate) fn judged(status: u16, body: &Value) -> (u16, String) {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    (status, text("code").or_else(|| text("error")).unwrap_or_default())
}
