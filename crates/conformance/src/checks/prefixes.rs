//! Other paths before `/v2` at which the broker must answer the same.

use serde_json::Value;

use crate::array;
use crate::call::{BrokerCall, Login};
use crate::checker::{Checker, new_id};

pub(crate) async fn run(checker: &Checker) {
    let url = checker.wire.url();
    let host = url.match_indices('/').nth(2).map_or(url, |(end, _)| &url[..end]);
    for prefix in &checker.options.prefixes {
        let name = prefix.trim_matches('/');
        let base = if name.is_empty() { host.to_owned() } else { format!("{host}/{name}") };
        let id = &new_id();
        for (kind, call, expect) in [
            ("catalog", BrokerCall::get("/v2/catalog"), 200),
            ("login", BrokerCall::get("/v2/catalog").login(Login::Missing), 401),
            ("version", BrokerCall::get("/v2/catalog").version(Some("1.0")), 412),
            ("provision", checker.put(id).impatient(), 422),
            ("last_operation", checker.last_operation(id), 404),
            ("route", BrokerCall::get("/v2/conformance"), 404),
        ] {
            let answer = checker.wire.send_to(&base, call).await;
            let title = format!("the broker answers below /{name}");
            checker.check(format!("prefix.{name}.{kind}"), "1.2", title, answer.is(&[expect]));
        }
        let catalog = checker.wire.send_to(&base, BrokerCall::get("/v2/catalog")).await;
        let services = |catalog: &Value| -> Vec<Value> {
            array(&catalog["services"]).iter().map(|service| service["id"].clone()).collect()
        };
        let same = services(&catalog.json) == services(&checker.catalog);
        let verdict =
            catalog.is(&[200]).and(same, || "other offerings than at the address itself".to_owned());
        checker.check(
            format!("prefix.{name}.same"),
            "1.2",
            format!("/{name} has the same offerings"),
            verdict,
        );
    }
}
