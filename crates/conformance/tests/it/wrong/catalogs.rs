//! Wrongs in the catalog.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::{Value, json};

use crate::broker::{BrokerReply, BrokerRequest};
use crate::wrong::{WrongBroker, wrong};

static CATALOGS: AtomicU32 = AtomicU32::new(0);

pub(super) const WRONGS: &[WrongBroker] = &[
    wrong("has an offering twice", &["catalog.ids.unique", "catalog.service.name.unique"], |asked, reply| {
        catalog(asked, reply, |services| services[1]["plans"][0]["id"] = json!("service-one"));
        catalog(asked, reply, |services| services[1]["name"] = json!("one"));
    }),
    wrong(
        "has large schemas",
        &["schema.create.size", "schema.update.size", "schema.bind.size"],
        |asked, reply| schemas(asked, reply, |schema| schema["title"] = json!("x".repeat(70_000))),
    ),
    wrong(
        "has schemas of no draft",
        &["schema.create.draft", "schema.update.draft", "schema.bind.draft"],
        |asked, reply| schemas(asked, reply, |schema| schema["$schema"] = Value::Null),
    ),
    wrong(
        "has schemas that are elsewhere",
        &["schema.create.refs", "schema.update.refs", "schema.bind.refs"],
        |asked, reply| {
            schemas(asked, reply, |schema| {
                schema["properties"]["x"] = json!({ "$ref": "https://example.com/schema" });
            });
        },
    ),
    wrong(
        "has schemas that are no schemas",
        &["schema.create.sound", "schema.update.sound", "schema.bind.sound"],
        |asked, reply| {
            schemas(asked, reply, |schema| schema["type"] = json!("no type"));
        },
    ),
    wrong(
        "has schemas for anything",
        &["schema.create.object", "schema.update.object", "schema.bind.object"],
        |asked, reply| {
            schemas(asked, reply, |schema| *schema = json!({ "$schema": schema["$schema"] }));
        },
    ),
    wrong("wants a parameter that cannot be given", &["schema.parameters"], |asked, reply| {
        schemas(asked, reply, |schema| schema["properties"]["name"]["pattern"] = json!("^[0-9]{11}$"));
    }),
    wrong(
        "does not describe its offering",
        &[
            "catalog.service.description",
            "catalog.service.bindable",
            "catalog.service.bindings_retrievable",
            "catalog.service.instances_retrievable",
            "catalog.service.allow_context_updates",
            "catalog.service.plan_updateable",
            "catalog.service.metadata",
            "catalog.service.tags",
            "catalog.service.requires",
            "catalog.service.dashboard_client",
            "catalog.service.plans",
        ],
        |asked, reply| {
            catalog(asked, reply, |services| {
                services[1]["plans"] = json!([]);
                let service = &mut services[0];
                for flag in [
                    "bindable",
                    "instances_retrievable",
                    "bindings_retrievable",
                    "allow_context_updates",
                    "plan_updateable",
                ] {
                    service[flag] = json!("yes");
                }
                service["description"] = json!("");
                service["metadata"] = json!([]);
                service["tags"] = json!([7]);
                service["requires"] = json!(["money"]);
                service["dashboard_client"] = json!({ "id": "a" });
            });
        },
    ),
    wrong(
        "does not describe its plan",
        &[
            "catalog.plan.description",
            "catalog.plan.free",
            "catalog.plan.bindable",
            "catalog.plan.binding_rotatable",
            "catalog.plan.plan_updateable",
            "catalog.plan.metadata",
            "catalog.plan.maximum_polling_duration",
            "catalog.plan.maintenance_info.version",
            "catalog.plan.maintenance_info.description",
        ],
        |asked, reply| {
            catalog(asked, reply, |services| {
                let plan = &mut services[0]["plans"][0];
                for flag in ["free", "bindable", "binding_rotatable", "plan_updateable"] {
                    plan[flag] = json!(1);
                }
                plan["description"] = Value::Null;
                plan["metadata"] = json!("much");
                plan["maximum_polling_duration"] = json!(0);
                plan["maintenance_info"] = json!({ "version": "1.2", "description": 7 });
            });
        },
    ),
    wrong(
        "does not say what it costs",
        &["catalog.plan.costs", "catalog.plan.name.unique"],
        |asked, reply| {
            catalog(asked, reply, |services| {
                services[0]["plans"][0]["metadata"]["costs"] = json!([{ "amount": 7 }]);
                services[0]["plans"][1]["name"] = json!("small");
            });
        },
    ),
    wrong("has another catalog every time", &["catalog.stable", "prefix.oauth.same"], |asked, reply| {
        catalog(asked, reply, |services| {
            services[1]["id"] = json!(uuid::Uuid::new_v4());
        });
    }),
    wrong("calls its list something else", &["catalog.services", "catalog.read"], |asked, reply| {
        if asked.is("GET", 2) && reply.status == 200 && CATALOGS.fetch_add(1, SeqCst) > 0 {
            *reply = BrokerReply::new(203, json!({ "offerings": [] }));
        }
    }),
];

/// These have no name to ask for.
pub(super) const NAMELESS: &[WrongBroker] = &[
    wrong(
        "has no names",
        &["catalog.service.id", "catalog.service.name", "catalog.plan.id", "catalog.plan.name"],
        |asked, reply| {
            catalog(asked, reply, |services| {
                *services = json!([{ "id": "", "name": " ", "plans": [{ "id": 7, "name": null }] }]);
            });
        },
    ),
    wrong(
        "has long names",
        &[
            "catalog.service.id.length",
            "catalog.service.name.length",
            "catalog.plan.id.length",
            "catalog.plan.name.length",
        ],
        |asked, reply| {
            catalog(asked, reply, |services| {
                let long = "x".repeat(256);
                *services = json!([{ "id": long, "name": long, "plans": [{ "id": long, "name": long }] }]);
            });
        },
    ),
];

fn catalog(asked: &BrokerRequest, reply: &mut BrokerReply, spoil: fn(&mut Value)) {
    if asked.is("GET", 2) && reply.status == 200 {
        spoil(&mut reply.body["services"]);
    }
}

fn schemas(asked: &BrokerRequest, reply: &mut BrokerReply, spoil: fn(&mut Value)) {
    if asked.is("GET", 2) && reply.status == 200 {
        let schemas = &mut reply.body["services"][0]["plans"][0]["schemas"];
        for path in ["/service_instance/create", "/service_instance/update", "/service_binding/create"] {
            let schema = schemas.pointer_mut(path).expect("the plan has all schemas");
            spoil(&mut schema["parameters"]);
        }
    }
}
