//! Other paths before `/v2` at which the broker must answer the same.

use serde_json::Value;

use crate::array;
use crate::call::{Call, Login};
use crate::exam::{Exam, new_id};

pub(crate) async fn run(exam: &Exam) {
    let url = exam.wire.url();
    let host = url.match_indices('/').nth(2).map_or(url, |(end, _)| &url[..end]);
    for prefix in &exam.options.prefixes {
        let name = prefix.trim_matches('/');
        let base = if name.is_empty() { host.to_owned() } else { format!("{host}/{name}") };
        let id = &new_id();
        for (kind, call, expect) in [
            ("catalog", Call::get("/v2/catalog"), 200),
            ("login", Call::get("/v2/catalog").login(Login::Missing), 401),
            ("version", Call::get("/v2/catalog").version(Some("1.0")), 412),
            ("provision", exam.put(id).impatient(), 422),
            ("last_operation", exam.last_operation(id), 404),
            ("route", Call::get("/v2/conformance"), 404),
        ] {
            let answer = exam.wire.send_to(&base, call).await;
            let title = format!("the broker answers below /{name}");
            exam.check(format!("prefix.{name}.{kind}"), "1.2", title, answer.is(&[expect]));
        }
        let catalog = exam.wire.send_to(&base, Call::get("/v2/catalog")).await;
        let services = |catalog: &Value| -> Vec<Value> {
            array(&catalog["services"]).iter().map(|service| service["id"].clone()).collect()
        };
        let same = services(&catalog.json) == services(&exam.catalog);
        let verdict =
            catalog.is(&[200]).and(same, || "other offerings than at the address itself".to_owned());
        exam.check(format!("prefix.{name}.same"), "1.2", format!("/{name} has the same offerings"), verdict);
    }
}
