//! Wrongs that show in the life of an instance or a binding.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::{Value, json};

use crate::broker::BrokerReply;
use crate::wrong::{WrongBroker, turn, wrong};

// Each belongs to one wrong below, which is tried once.
static BINDS: AtomicU32 = AtomicU32::new(0);
static ENDS: AtomicU32 = AtomicU32::new(0);

pub(super) const WRONGS: &[WrongBroker] = &[
    wrong("knows no maintenance", &["maintenance.put", "order.maintenance-before-parameters"], |_, reply| {
        if reply.body["error"] == "MaintenanceInfoConflict" {
            *reply = BrokerReply::new(202, json!({ "operation": "o" }));
        }
    }),
    wrong(
        "begins the same operation again and again",
        &[
            "provisioning.put.same",
            "crowd.put.operation",
            "crowd.bind.once",
            "deprovisioning.deprovision.same",
        ],
        |asked, reply| {
            if reply.status == 202 {
                reply.body["operation"] = json!(format!("{:p}-{asked:p}-{}", reply, uuid::Uuid::new_v4()));
            }
        },
    ),
    wrong("forgets what it deleted", &["deleted.last_operation.plain", "deprovision.end"], |asked, reply| {
        if asked.is_poll() && reply.status == 200 && reply.body["description"] == "Deleted" {
            reply.status = 404;
        }
    }),
    wrong(
        "answers 404 to a DELETE",
        &["absent.deprovision", "deleted.deprovision", "unbind.again"],
        |_, reply| {
            turn(reply, 410, 404);
        },
    ),
    wrong(
        "says that a broken thing is fine",
        &["absent.update", "absent.last_operation", "provisioning.fetch"],
        |_, reply| {
            turn(reply, 404, 200);
        },
    ),
    wrong("gives credentials too early", &["put.credentials", "traffic.202.credentials"], |_, reply| {
        if reply.status == 202 {
            reply.body["credentials"] = json!({});
        }
    }),
    wrong("has a state of its own", &["put.end", "traffic.state"], |asked, reply| {
        if asked.is_poll() && reply.body["state"] == "succeeded" {
            reply.body["state"] = json!("done");
        }
    }),
    wrong("is silent", &["traffic.description", "traffic.state.description"], |_, reply| {
        if !reply.body["description"].is_null() {
            reply.body["description"] = json!(" ");
        }
    }),
    wrong(
        "speaks of updates everywhere",
        &["traffic.instance_usable", "traffic.update_repeatable", "put.end.fields"],
        |_, reply| {
            reply.body["instance_usable"] = json!(true);
            reply.body["update_repeatable"] = json!(false);
        },
    ),
    wrong("answers in text", &["traffic.type"], |_, reply| reply.set("content-type", "text/plain")),
    wrong("says its password", &["traffic.password"], |_, reply| {
        reply.body["hint"] = json!("not tester-password");
    }),
    wrong(
        "does not send the identity back",
        &["identity.echo.bind", "identity.made", "identity.control"],
        |_, reply| {
            reply.headers.retain(|(name, _)| *name != "x-broker-api-request-identity");
        },
    ),
    wrong("does not say what is allowed", &["method.catalog.POST", "method.binding.PATCH"], |_, reply| {
        reply.headers.retain(|(name, _)| *name != "allow");
    }),
    wrong("says when to come back in words", &["traffic.retry-after"], |_, reply| {
        if reply.headers.iter().any(|(name, _)| *name == "retry-after") {
            reply.set("retry-after", "soon");
        }
    }),
    wrong("deletes what is bound", &["bind.live"], |asked, reply| {
        if asked.is("DELETE", 3)
            && reply.body["description"].as_str().is_some_and(|text| text.contains("bindings"))
        {
            *reply = BrokerReply::new(202, json!({ "operation": "o" }));
        }
    }),
    wrong("gives other credentials every time", &["bind.again.credentials", "bind.fetch"], |_, reply| {
        if !reply.body["credentials"].is_null() {
            reply.body["credentials"] = json!({ "key": uuid::Uuid::new_v4() });
        }
    }),
    wrong("demands an app", &["bind.app", "bind.first"], |asked, reply| {
        if asked.is("PUT", 5) {
            *reply = BrokerReply::code("RequiresApp");
        }
    }),
    wrong(
        "accepts nothing",
        &["put.first", "provisioning.begin", "id.unicode.put", "crowd.put.accepted", "crowd.differing.one"],
        |asked, reply| {
            if asked.is("PUT", 3) {
                turn(reply, 202, 400);
            }
        },
    ),
    wrong("says created at once", &["crowd.put.created", "put.end"], |asked, reply| {
        if asked.is("PUT", 3) {
            turn(reply, 202, 201);
        }
        if asked.is_poll() {
            turn(reply, 200, 404);
        }
    }),
    wrong(
        "takes the same for something else",
        &[
            "ready.put.same",
            "ready.put.key-order",
            "ready.put.instance_name",
            "async.unchanged",
            "id.spaces.same",
        ],
        |asked, reply| {
            if asked.is("PUT", 3) || asked.is("PUT", 5) {
                turn(reply, 200, 409);
            }
        },
    ),
    wrong(
        "does not update",
        &["update.nothing", "update.context", "update.parameters", "crowd.update"],
        |asked, reply| {
            if asked.is("PATCH", 3) && reply.status < 300 {
                reply.status = 500;
            }
        },
    ),
    wrong(
        "does not delete",
        &["deprovision.first", "crowd.deprovision.accepted", "unbind.first", "tidy.all"],
        |asked, reply| {
            if asked.method == "DELETE" && reply.status < 300 {
                reply.status = 500;
            }
        },
    ),
    wrong("does not name its operations", &["put.operation", "traffic.202.operation"], |_, reply| {
        if reply.status == 202 {
            reply.body = json!({});
        }
    }),
    wrong("has long names for operations", &["put.operation.length", "traffic.202.operation"], |_, reply| {
        if reply.status == 202 {
            reply.body["operation"] = json!("o".repeat(10_001));
        }
    }),
    wrong("has a dashboard that is none", &["put.dashboard_url", "traffic.dashboard_url"], |asked, reply| {
        if asked.is("PUT", 3) && reply.status == 202 {
            reply.body["dashboard_url"] = json!(7);
        }
        if asked.is("PUT", 3) && reply.status == 200 {
            reply.body["dashboard_url"] = Value::Null;
        }
    }),
    wrong("tells of the dashboard too late", &["put.dashboard_url.first"], |asked, reply| {
        if asked.is("GET", 3) && reply.status == 200 {
            reply.body["dashboard_url"] = json!("https://example.com");
        }
    }),
    wrong(
        "shows something else",
        &[
            "ready.fetch.plan_id",
            "ready.fetch.service_id",
            "ready.fetch.parameters",
            "ready.fetch.hints",
            "ready.fetch.credentials",
            "ready.fetch.maintenance_info",
            "update.keeps.plan_id",
            "update.keeps.parameters",
            "update.parameters.fetch",
            "update.parameters.plan",
        ],
        |asked, reply| {
            if asked.is("GET", 3) && reply.status == 200 {
                let other = uuid::Uuid::new_v4();
                reply.body = json!({ "service_id": other, "plan_id": other, "parameters": { "other": other },
                    "credentials": {}, "maintenance_info": { "version": other } });
            }
        },
    ),
    wrong("hides its instances", &["deprovisioning.fetch", "ready.fetch.plan_id"], |asked, reply| {
        if asked.is("GET", 3) {
            turn(reply, 200, 404);
        }
    }),
    wrong("hides its bindings", &["bind.async.fetch"], |asked, reply| {
        if asked.is("GET", 5) {
            turn(reply, 200, 404);
        }
    }),
    wrong("takes the operation of another for its own", &["ready.last_operation.foreign"], |asked, reply| {
        let named = asked.query("operation").is_some_and(|operation| operation.starts_with("operation-"));
        if asked.is("GET", 4) && named && reply.body["state"] == "succeeded" && ENDS.fetch_add(1, SeqCst) > 0
        {
            reply.status = 404;
        }
    }),
    wrong("fails to bind", &["bind.async.end", "bind.last_operation"], |asked, reply| {
        if asked.is("GET", 6) && reply.body["state"] == "succeeded" {
            reply.body["state"] = json!("failed");
        }
    }),
    wrong(
        "has odd bindings",
        &[
            "bind.credentials",
            "bind.endpoints",
            "bind.expires_at",
            "bind.renew_before",
            "bind.route_service_url",
            "bind.syslog_drain_url",
            "bind.volume_mounts",
        ],
        |_, reply| {
            if !reply.body["credentials"].is_null() {
                reply.body = json!({
                    "credentials": "key", "endpoints": [{ "host": "a" }], "syslog_drain_url": "a", "route_service_url": "b",
                    "volume_mounts": [], "metadata": { "expires_at": "tomorrow", "renew_before": 7 },
                });
            }
        },
    ),
    wrong(
        "binds in one way only",
        &["bind.bind_resource.empty", "bind.odd-id", "bind.unknown-field"],
        |asked, reply| {
            let odd = asked.body.as_object().is_some_and(|body| body.len() > 2)
                || asked.path.last().is_some_and(|id| id.contains(' '));
            if asked.is("PUT", 5) && odd {
                reply.status = 400;
            }
        },
    ),
    wrong("is tired of binding", &["crowd.bind.accepted"], |asked, reply| {
        if asked.is("PUT", 5) && reply.status < 300 && BINDS.fetch_add(1, SeqCst) >= 8 {
            reply.status = 500;
        }
    }),
];
