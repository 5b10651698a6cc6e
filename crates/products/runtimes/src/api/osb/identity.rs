//! Whether two requests are the same: a digest of what counts, which is not all that was sent.

use serde_json::{Map, Value, json};

use server::tokens::digest;

/// What makes a request for a binding the same as another one.
pub(crate) struct BindingIdentity<'a> {
    /// Of the instance and of the binding.
    pub(crate) ids: (&'a str, &'a str),
    pub(crate) service: &'a str,
    pub(crate) plan: &'a str,
    pub(crate) context: &'a Map<String, Value>,
    pub(crate) parameters: &'a Map<String, Value>,
    /// What it is bound to, and what it replaces.
    pub(crate) bind_resource: Option<&'a Map<String, Value>>,
    pub(crate) predecessor: Option<&'a str>,
}

impl BindingIdentity<'_> {
    pub(crate) fn digest(&self) -> String {
        let resource = self.bind_resource.filter(|resource| !resource.is_empty());
        of(&json!([
            self.ids.0,
            self.ids.1,
            self.service,
            self.plan,
            stable(self.context),
            self.parameters,
            resource,
            self.predecessor,
        ]))
    }
}

pub(crate) fn of(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    digest(&text)
}

/// The keys that stay the same for the life of an instance. Names do not: users may rename.
pub(crate) fn stable(context: &Map<String, Value>) -> Map<String, Value> {
    let is_stable =
        |key: &str| ["platform", "namespace", "clusterid"].contains(&key) || key.ends_with("_guid");
    context
        .iter()
        .filter(|(key, _)| is_stable(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// One text for all that mean the same: members in the order of their names.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (key, value) in sorted {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::ProvisionBody;
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    fn instance(plan: &str, space: &str, context: Value, parameters: Value) -> String {
        let (context, parameters) = (&map(context), &map(parameters));
        let text = str::to_owned;
        let (service_id, plan_id) = (text("s"), text(plan));
        let (organization_guid, space_guid) = (text("o"), text(space));
        ProvisionBody { service_id, plan_id, organization_guid, space_guid, ..ProvisionBody::default() }
            .digest("i", context, parameters)
    }

    #[test]
    fn what_counts_makes_another_request_and_the_rest_does_not() {
        let context = || json!({"platform": "cloudfoundry", "space_guid": "g"});
        let parameters = || json!({"a": 1, "b": {"c": [1, 2], "d": null}});
        let first = instance("p", "sp", context(), parameters());
        let same = [
            instance("p", "sp", json!({"space_guid": "g", "platform": "cloudfoundry"}), parameters()),
            instance(
                "p",
                "sp",
                json!({"platform": "cloudfoundry", "space_guid": "g", "space_name": "n"}),
                parameters(),
            ),
            instance("p", "sp", context(), json!({"b": {"d": null, "c": [1, 2]}, "a": 1})),
        ];
        for other in &same {
            assert_eq!(*other, first);
        }
        let different = [
            instance("q", "sp", context(), parameters()),
            instance("p", "sq", context(), parameters()),
            instance("p", "sp", json!({"platform": "kubernetes", "space_guid": "g"}), parameters()),
            instance("p", "sp", json!({"platform": "cloudfoundry", "space_guid": "h"}), parameters()),
            instance("p", "sp", context(), json!({"a": 1, "b": {"c": [2, 1], "d": null}})),
            instance("p", "sp", context(), json!({"a": "1", "b": {"c": [1, 2], "d": null}})),
            instance("p", "sp", context(), json!({})),
        ];
        for other in &different {
            assert_ne!(*other, first);
        }
    }

    /// Records keep digests, so that what is digested, and its order, stay.
    #[test]
    fn a_digest_is_that_of_earlier_releases() {
        let kept = json!({"platform": "cloudfoundry"});
        let first = instance("p", "sp", json!({"platform": "cloudfoundry", "user_id": "u"}), json!({"a": 1}));
        assert_eq!(first, of(&json!(["i", "s", "p", "o", "sp", kept, {"a": 1}])));
    }

    #[test]
    fn text_cannot_pretend_to_be_structure() {
        let one = instance("p", "s", json!({}), json!({"a": "1,\"b\":2"}));
        let two = instance("p", "s", json!({}), json!({"a": 1, "b": 2}));
        assert_ne!(one, two);
    }

    #[test]
    fn an_empty_bind_resource_is_none() {
        let of = |resource: Option<Map<String, Value>>| {
            let none = Map::new();
            let bind_resource = resource.as_ref();
            let wanted = BindingIdentity {
                ids: ("i", "b"),
                service: "s",
                plan: "p",
                context: &none,
                parameters: &none,
                bind_resource,
                predecessor: None,
            };
            wanted.digest()
        };
        assert_eq!(of(Some(Map::new())), of(None));
        assert_ne!(of(Some(map(json!({"app_guid": "a"})))), of(None));
    }
}
