//! The calls, with the fields that the server's schema has. Every root field is called `result`.

use super::Dialect;
use super::schema::Schema;

const OPERATION: [&str; 5] = ["id", "operation", "state", "message", "runtimeID"];
const CLUSTER: [&str; 15] = [
    "name",
    "kubernetesVersion",
    "machineType",
    "region",
    "provider",
    "purpose",
    "seed",
    "targetSecret",
    "diskType",
    "volumeSizeGB",
    "workerCidr",
    "autoScalerMin",
    "autoScalerMax",
    "maxSurge",
    "maxUnavailable",
];

/// A call that changes something, with the type of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    Provision,
    Deprovision,
    Upgrade,
    UpgradeShoot,
}

impl Mutation {
    pub(super) fn field(self) -> &'static str {
        match self {
            Mutation::Provision => "provisionRuntime",
            Mutation::Deprovision => "deprovisionRuntime",
            Mutation::Upgrade => "upgradeRuntime",
            Mutation::UpgradeShoot => "upgradeShoot",
        }
    }

    pub(super) fn input(self) -> Option<&'static str> {
        match self {
            Mutation::Provision => Some("ProvisionRuntimeInput"),
            Mutation::Deprovision => None,
            Mutation::Upgrade => Some("UpgradeRuntimeInput"),
            Mutation::UpgradeShoot => Some("UpgradeShootInput"),
        }
    }

    /// Whether the answer is the status of an operation, and not only its id. Before the summer of 2020 an upgrade
    /// answered its id, as a deprovisioning still does.
    pub(super) fn answers_status(self, schema: &Schema) -> bool {
        schema.type_of("Mutation", self.field()) == Some("OperationStatus")
    }

    pub(super) fn query(self, schema: &Schema) -> String {
        let field = self.field();
        let selected =
            if self.answers_status(schema) { format!(" {{ {} }}", operation(schema)) } else { String::new() };
        let (variables, arguments) = match (self, self.input()) {
            (Mutation::Provision, Some(input)) => (format!("$config: {input}!"), "config: $config"),
            (_, Some(input)) => (format!("$id: String!, $config: {input}!"), "id: $id, config: $config"),
            (_, None) => ("$id: String!".to_owned(), "id: $id"),
        };
        format!("mutation({variables}) {{ result: {field}({arguments}){selected} }}")
    }
}

pub(super) fn operation_status(schema: &Schema) -> String {
    format!("query($id: String!) {{ result: runtimeOperationStatus(id: $id) {{ {} }} }}", operation(schema))
}

/// The fragment fits the servers before the summer of 2020 too, whose clusters are of one of several types.
pub(super) fn runtime_status(schema: &Schema) -> String {
    let cluster = CLUSTER.into_iter().filter(|field| schema.has("GardenerConfig", field));
    format!(
        "query($id: String!) {{ result: runtimeStatus(id: $id) {{ lastOperationStatus {{ {} }} \
         runtimeConnectionStatus {{ status }} runtimeConfiguration {{ kubeconfig clusterConfig \
         {{ ... on GardenerConfig {{ {} }} }} kymaConfig {{ version }} }} }} }}",
        operation(schema),
        cluster.collect::<Vec<_>>().join(" ")
    )
}

fn operation(schema: &Schema) -> String {
    let last_error = if schema.has("OperationStatus", "lastError") {
        " lastError { errMessage reason component }"
    } else {
        ""
    };
    format!("{}{last_error}", OPERATION.join(" "))
}

/// The query that `provision_runtime` sends to a server of today, for a dry run.
pub fn provision_runtime_query() -> String {
    Mutation::Provision.query(&Schema::known(Dialect::Of2022))
}
