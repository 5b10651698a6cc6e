//! Instances as a table for other programs.

use crate::api::inventory::list::InventoryItem;
use crate::api::types::{InstanceDetail, Launch};
use cloud::ssh_command;

use crate::csv;

const HEAD: [&str; 11] = [
    "launch",
    "instance",
    "state",
    "provider",
    "region",
    "type",
    "name",
    "public_ipv4",
    "public_dns",
    "private_ipv4",
    "ssh",
];

/// The instances of one launch.
pub(crate) fn of_launch(launch: &Launch) -> String {
    let text = |name: &str| launch.parameter(name).unwrap_or_default();
    let rows = launch.instances.iter().map(|one| {
        let about = [text("region"), text("instance_type"), text("name")];
        row(launch.reservation_id, &one.instance_id, &one.state, &launch.provider, about, &one.detail)
    });
    csv::write(&HEAD, rows)
}

pub(crate) fn of_items<'a>(items: impl Iterator<Item = &'a InventoryItem>) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = items.map(|item| {
        let about = [text(&item.region), text(&item.instance_type), text(&item.name)];
        let (id, state) = (text(&item.instance_id), text(&item.state));
        row(item.reservation_id, &id, &state, &item.provider, about, &item.detail)
    });
    csv::write(&HEAD, rows)
}

fn row(
    launch: i64,
    id: &str,
    state: &str,
    provider: &str,
    [region, kind, name]: [String; 3],
    detail: &InstanceDetail,
) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let ssh = detail.public().and_then(|to| ssh_command(provider, to)).unwrap_or_default();
    vec![
        launch.to_string(),
        id.to_owned(),
        state.to_owned(),
        provider.to_owned(),
        region,
        kind,
        name,
        text(&detail.public_ipv4),
        text(&detail.public_dns),
        text(&detail.private_ipv4),
        ssh,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_every_column_and_no_formula() {
        let detail = InstanceDetail { public_ipv4: Some("10.0.0.1".into()), ..InstanceDetail::default() };
        let about = ["r".to_owned(), "t".to_owned(), "=a,\"b\"".to_owned()];
        let text = csv::write(&HEAD, std::iter::once(row(7, "i-1", "running", "aws", about, &detail)));
        let expected = format!(
            "{}\r\n7,i-1,running,aws,r,t,\"'=a,\"\"b\"\"\",10.0.0.1,,,ssh ec2-user@10.0.0.1\r\n",
            HEAD.join(",")
        );
        assert_eq!(text, expected);
    }
}
