//! Wrongs that show in a single request.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::json;

use crate::broker::BrokerReply;
use crate::wrong::{WrongBroker, turn, wrong};

static CATALOGS: AtomicU32 = AtomicU32::new(0);

pub(super) const WRONGS: &[WrongBroker] = &[
    wrong(
        "lets everybody in",
        &["auth.missing.catalog", "auth.password.bind", "auth.bearer.update", "order.auth-before-version"],
        |_, reply| turn(reply, 401, 200),
    ),
    wrong("does not say how to log in", &["auth.missing.catalog", "auth.user.unbind"], |_, reply| {
        reply.headers.retain(|(name, _)| *name != "www-authenticate");
    }),
    wrong(
        "takes every version",
        &[
            "version.missing.catalog",
            "version.3.0.provision",
            "version.refused.2.10",
            "order.version-before-route",
        ],
        |_, reply| turn(reply, 412, 200),
    ),
    wrong("does not say which version to use", &["version.advice"], |_, reply| {
        if reply.status == 412 {
            reply.body = json!({ "description": "no" });
        }
    }),
    wrong("answers 415 to what is not JSON", &["body.text.provision", "body.empty.bind"], |_, reply| {
        if reply.body["description"]
            .as_str()
            .is_some_and(|text| text.contains("JSON") || text.contains("json"))
        {
            reply.status = 415;
        }
    }),
    wrong(
        "takes what is invalid",
        &[
            "field.service_id.missing.provision",
            "parameters.not-in-enum",
            "field.plan_id.empty.unbind",
            "id.nul.provision",
        ],
        |_, reply| turn(reply, 400, 202),
    ),
    wrong(
        "needs no patience",
        &["async.put", "async.update", "async.deprovision", "order.async-before-gone"],
        |asked, reply| {
            if !asked.is_patient() {
                turn(reply, 422, 200);
            }
        },
    ),
    wrong("answers 500 to a conflict", &["ready.put.other.organization", "traffic.5xx"], |_, reply| {
        turn(reply, 409, 500);
    }),
    wrong(
        "uses the wrong word for a conflict",
        &["provisioning.update", "updating.deprovision"],
        |_, reply| {
            if reply.body["error"] == "ConcurrencyError" {
                reply.body["error"] = json!("concurrency error");
            }
        },
    ),
    wrong(
        "reads one content type only",
        &["body.capitals.bind", "body.charset.update", "body.no-type.provision"],
        |asked, reply| {
            if !asked.body.is_null()
                && asked.headers.get("content-type").is_none_or(|kind| kind != "application/json")
            {
                reply.status = 400;
            }
        },
    ),
    wrong(
        "refuses what it does not know",
        &["body.unknown-field.provision", "ready.put.unknown-field", "update.unknown-field"],
        |asked, reply| {
            if ["conformance", "conformance_does_not_know"].iter().any(|field| !asked.body[*field].is_null())
            {
                reply.status = 400;
            }
        },
    ),
    wrong("takes bodies of any size", &["body.oversize", "parameters.large"], |asked, reply| {
        turn(reply, 413, 202);
        if asked.body["parameters"]["conformance"].is_string() {
            reply.status = 500;
        }
    }),
    wrong("hangs up", &["traffic.answered", "method.catalog.POST"], |asked, _| {
        assert!(asked.method != "POST", "the connection is closed by this panic");
    }),
    wrong("answers with lists", &["traffic.object", "absent.fetch"], |_, reply| {
        if reply.status == 404 {
            reply.body = json!([reply.body]);
        }
    }),
    wrong(
        "loses its catalog",
        &[
            "catalog.read",
            "route.query",
            "route.head",
            "prefix.oauth.catalog",
            "version.accepted.2.14",
            "body.oversize.after",
        ],
        |asked, reply| {
            let read = asked.path.len() == 2 && reply.status == 200 && asked.path[1] == "catalog";
            if read && CATALOGS.fetch_add(1, SeqCst) > 0 {
                *reply = BrokerReply::error(500, "the catalog is lost");
            }
        },
    ),
];
