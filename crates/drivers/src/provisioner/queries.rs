//! The queries to the provisioner. The derive checks every one against the committed schema when it is compiled;
//! what it generates besides serves the tests of our own types.

use graphql_client::GraphQLQuery;
use serde_json::Value;

/// The name that the generated code looks for: the schema's scalar for labels.
type Labels = Value;

macro_rules! queries {
    ($($name:ident from $path:tt;)*) => {$(
        #[derive(GraphQLQuery)]
        #[graphql(
            schema_path = "schema/provisioner.graphql",
            query_path = $path,
            variables_derives = "Deserialize",
            skip_serializing_none
        )]
        #[expect(dead_code, reason = "it is only the place where the derive puts its module")]
        pub(super) struct $name;
    )*};
}

queries! {
    ProvisionRuntime from "src/provisioner/provision_runtime.graphql";
    DeprovisionRuntime from "src/provisioner/deprovision_runtime.graphql";
    UpgradeRuntime from "src/provisioner/upgrade_runtime.graphql";
    UpgradeShoot from "src/provisioner/upgrade_shoot.graphql";
    OperationStatus from "src/provisioner/operation_status.graphql";
    RuntimeStatus from "src/provisioner/runtime_status.graphql";
}

/// The text that goes out with `provision_runtime`, for those who want to see it before.
pub fn provision_runtime_query() -> &'static str {
    provision_runtime::QUERY
}
