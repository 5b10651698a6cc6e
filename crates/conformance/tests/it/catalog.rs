//! The catalog of the small broker: two offerings, and a plan with everything that a plan can have.

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(crate) const VERSION: &str = "1.2.0";

pub(crate) static CATALOG: LazyLock<Value> = LazyLock::new(|| {
    json!({ "services": [
        {
            "id": "service-one",
            "name": "one",
            "description": "an offering",
            "bindable": true,
            "instances_retrievable": true,
            "bindings_retrievable": true,
            "allow_context_updates": true,
            "tags": ["test"],
            "plans": [small(), { "id": "plan-large", "name": "large", "description": "another plan" }],
        },
        {
            "id": "service-two",
            "name": "two",
            "description": "another offering",
            "bindable": false,
            "plans": [{ "id": "plan-only", "name": "only", "description": "a plan", "plan_updateable": true }],
        },
    ] })
});

fn small() -> Value {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": 30 });
    let nodes = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
    let create = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "region"],
        "properties": { "name": name, "region": { "type": "string", "enum": ["a", "b"] }, "nodes": nodes },
    });
    let update = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "nodes": nodes },
    });
    let bind = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "seconds": nodes },
    });
    json!({
        "id": "plan-small",
        "name": "small",
        "description": "a plan with everything",
        "free": false,
        "maximum_polling_duration": 60,
        "maintenance_info": { "version": VERSION, "description": "newest" },
        "metadata": { "costs": [{ "amount": { "usd": 1.0 }, "unit": "MONTHLY" }] },
        "schemas": {
            "service_instance": { "create": { "parameters": create }, "update": { "parameters": update } },
            "service_binding": { "create": { "parameters": bind } },
        },
    })
}

/// The offering and the plan with these ids, if they belong together.
pub(crate) fn plan(service: &Value, plan: &Value) -> Option<&'static Value> {
    let services = CATALOG["services"].as_array()?;
    let service = services.iter().find(|known| known["id"] == *service)?;
    service["plans"].as_array()?.iter().find(|known| plan.is_null() || known["id"] == *plan)
}
