//! Makes an input fit the schema of a server: a field that it does not have is left out where that changes nothing for
//! the client of the broker, written in the older form where there is one, and refused otherwise.

use http_client::DriverError;
use serde_json::{Map, Value};

use super::SYSTEM;
use super::schema::Schema;

/// Older servers choose the name of the cluster themselves, and always replace what an override names.
const LEFT_OUT: [(&str, &str); 3] = [
    ("GardenerConfigInput", "name"),
    ("KymaConfigInput", "conflictStrategy"),
    ("ComponentConfigurationInput", "conflictStrategy"),
];

pub(super) fn fit(schema: &Schema, type_name: &str, input: &mut Value) -> Result<(), DriverError> {
    match input {
        Value::Array(items) => items.iter_mut().try_for_each(|item| fit(schema, type_name, item)),
        Value::Object(fields) => fit_object(schema, type_name, fields),
        _ => Ok(()),
    }
}

fn fit_object(schema: &Schema, type_name: &str, fields: &mut Map<String, Value>) -> Result<(), DriverError> {
    one_zone(schema, type_name, fields);
    fields.retain(|name, _| schema.has(type_name, name) || !LEFT_OUT.contains(&(type_name, name)));
    if let Some(unknown) = fields.keys().find(|name| !schema.has(type_name, name)) {
        return Err(SYSTEM.refused(format!(
            "its schema has no {type_name}.{unknown}, which this request needs; use a newer Provisioner, or leave it out \
             of the request and of the plan"
        )));
    }
    let is_missing = |name: &&str| fields.get(*name).is_none_or(Value::is_null);
    if let Some(missing) = schema.required(type_name).find(is_missing) {
        return Err(SYSTEM.refused(format!(
            "its schema requires {type_name}.{missing}, which this request does not have; set it in the request or in the \
             defaults of the plan"
        )));
    }
    fields.iter_mut().try_for_each(|(name, value)| match schema.type_of(type_name, name) {
        Some(inner) => fit(schema, inner, value),
        None => Ok(()),
    })
}

/// The servers of 2020 know one zone: of AWS always, and of Google Cloud until the summer of that year.
fn one_zone(schema: &Schema, type_name: &str, fields: &mut Map<String, Value>) {
    if type_name == "AWSProviderConfigInput" && !schema.has(type_name, "awsZones") {
        let first = fields.remove("awsZones").and_then(|zones| zones.get(0).cloned());
        let Some(Value::Object(mut zone)) = first else { return };
        for (field, older) in
            [("name", "zone"), ("publicCidr", "publicCidr"), ("internalCidr", "internalCidr")]
        {
            fields.insert(older.to_owned(), zone.remove(field).unwrap_or_default());
        }
    }
    if type_name == "GCPProviderConfigInput" && !schema.has(type_name, "zones") {
        let first = fields.remove("zones").and_then(|zones| zones.get(0).cloned());
        fields.insert("zone".to_owned(), first.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Dialect;
    use super::*;

    fn aws() -> Value {
        json!({"vpcCidr": "10.250.0.0/16", "awsZones": [
            {"name": "eu-1a", "publicCidr": "p", "internalCidr": "i", "workerCidr": "w"},
            {"name": "eu-1b", "publicCidr": "q", "internalCidr": "j", "workerCidr": "x"},
        ]})
    }

    #[test]
    fn a_server_of_2020_gets_the_first_zone() {
        let mut input = aws();
        fit(&Schema::known(Dialect::Of2020), "AWSProviderConfigInput", &mut input).unwrap();
        let expected =
            json!({"vpcCidr": "10.250.0.0/16", "zone": "eu-1a", "publicCidr": "p", "internalCidr": "i"});
        assert_eq!(input, expected);
        let mut input = aws();
        fit(&Schema::known(Dialect::Of2021), "AWSProviderConfigInput", &mut input).unwrap();
        assert_eq!(input, aws(), "a later one gets all of them");
    }

    #[test]
    fn what_was_asked_for_is_refused_and_what_we_added_is_left_out() {
        let of_2020 = Schema::known(Dialect::Of2020);
        let mut kyma = json!({"version": "1.13.0", "components": [], "conflictStrategy": "Replace"});
        fit(&of_2020, "KymaConfigInput", &mut kyma).unwrap();
        assert_eq!(kyma, json!({"version": "1.13.0", "components": []}));
        let mut cluster = json!({"gardenerConfig": null, "administrators": ["a@example"]});
        let error = fit(&of_2020, "ClusterConfigInput", &mut cluster).unwrap_err();
        assert!(
            error.is_final() && error.to_string().contains("has no ClusterConfigInput.administrators"),
            "{error}"
        );
    }

    #[test]
    fn what_a_server_requires_is_named_before_it_is_called() {
        let mut entry = json!({"key": "a", "value": null});
        let error = fit(&Schema::known(Dialect::Of2022), "ConfigEntryInput", &mut entry).unwrap_err();
        assert!(error.is_final() && error.to_string().contains("requires ConfigEntryInput.value"), "{error}");
    }
}
