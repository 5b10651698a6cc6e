//! The service templates that are there from the start, under the numbers of the first documents.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::body::FlowBody;
use crate::opennebula::documents::SERVICE_TEMPLATE;
use crate::opennebula::release::Release;
use crate::opennebula::template::TemplateText;
use crate::opennebula::users::{AuthenticatedUser, Permissions};
use crate::opennebula::world::NebulaState;

/// VM templates by their numbers. The last one does not exist.
const FUNCTION: i32 = 0;
const DATA: i32 = 1;
const NO_NET: i32 = 2;
const NO_DISK: i32 = 3;
const NO_CONTEXT: i32 = 4;
const SIZED_DISK: i32 = 5;
const READY: i32 = 6;
const TWO_DISKS: i32 = 7;
const BOOT_FAILS: i32 = 8;
const DENIED: i32 = 9;
const BROKEN: i32 = 10;
const MISSING: i32 = 999_999;

pub(super) fn add(nebula_state: &mut NebulaState, now: OffsetDateTime) {
    for value in templates() {
        let mut body = read(value).expect("a test reads all fixtures");
        body.registration_time = Some(now.unix_timestamp());
        let mut template = TemplateText::default();
        template.set("BODY", serde_json::to_string(&body).expect("a body is plain text and numbers"));
        let owner = AuthenticatedUser::oneadmin_for_users();
        let added = nebula_state.documents.add(
            owner,
            Permissions::GROUP_USE,
            Some(&body.name),
            SERVICE_TEMPLATE,
            template,
        );
        added.expect("the names are short");
    }
}

/// A template that names its VM templates as 7.4 does can be used in that release alone.
fn read(value: Value) -> Result<FlowBody, String> {
    let is_seven = value["roles"][0].get("template_id").is_some();
    let Value::Object(members) = value else { return Err("this is no object".into()) };
    FlowBody::parse(members, if is_seven { Release::Seven } else { Release::Six })
}

fn templates() -> Vec<Value> {
    let template = |name: &str, roles: Vec<Value>| json!({"name": name, "deployment": "straight", "ready_status_gate": false, "roles": roles});
    let six = |name: &str, roles: &[(&str, i32)]| {
        let role = |(name, id): &(&str, i32)| {
            json!({"name": name, "cardinality": 1, "vm_template": id, "elasticity_policies": [],
                "scheduled_policies": []})
        };
        template(name, roles.iter().map(role).collect())
    };
    let seven = |name: &str, roles: &[(&str, i32)]| {
        let role = |(name, id): &(&str, i32)| json!({"type": "vm", "name": name, "cardinality": 1, "template_id": id});
        template(name, roles.iter().map(role).collect())
    };
    let mut straight = six("Straight-Data", &[("FAAS", FUNCTION), ("DAAS", DATA)]);
    straight["roles"][1]["parents"] = json!(["FAAS"]);
    let mut gated = six("Gated", &[("FAAS", READY)]);
    gated["ready_status_gate"] = json!(true);
    vec![
        six("Function", &[("FAAS", FUNCTION)]),
        six("Function-Data", &[("FAAS", FUNCTION), ("DAAS", DATA)]),
        six("FAILED_DEPLOY", &[("FAAS", BROKEN)]),
        six("NoNet", &[("FAAS", NO_NET)]),
        six("NoDisk", &[("FAAS", NO_DISK)]),
        six("NoContext", &[("FAAS", NO_CONTEXT)]),
        six("SizedDisk", &[("FAAS", SIZED_DISK)]),
        six("NotReady", &[("FAAS", READY)]),
        six("BootFails", &[("FAAS", BOOT_FAILS)]),
        six("MissingVMT", &[("FAAS", MISSING)]),
        six("DenyVMTemplate", &[("FAAS", DENIED)]),
        six("TwoDisks", &[("FAAS", TWO_DISKS)]),
        six("Swapped-Data", &[("DAAS", DATA), ("FAAS", FUNCTION)]),
        six("Extra", &[("GATEWAY", NO_NET), ("FAAS", FUNCTION)]),
        straight,
        six("nature", &[("FAAS", FUNCTION)]),
        six("nature-s3", &[("FAAS", FUNCTION), ("DAAS", DATA)]),
        seven("Seven", &[("FAAS", FUNCTION)]),
        seven("Seven-Data", &[("DAAS", DATA), ("FAAS", FUNCTION)]),
        gated,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fixtures_can_be_read() {
        for template in templates() {
            let name = template["name"].clone();
            assert!(read(template).is_ok_and(|body| name == body.name));
        }
    }
}
