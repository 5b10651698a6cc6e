//! The queries to the director. The derive checks every one against the committed schema when it is compiled.

use graphql_client::GraphQLQuery;
use serde_json::Value;

// The names that the generated code looks for: the schema's scalars.
type Any = Value;
type Labels = Value;
type PageCursor = String;

macro_rules! queries {
    ($($name:ident from $path:tt;)*) => {$(
        #[derive(GraphQLQuery)]
        #[graphql(schema_path = "schema/director.graphql", query_path = $path)]
        #[expect(dead_code, reason = "it is only the place where the derive puts its module")]
        pub(super) struct $name;
    )*};
}

queries! {
    Runtime from "src/director/runtime.graphql";
    Runtimes from "src/director/runtimes.graphql";
    SetRuntimeLabel from "src/director/set_runtime_label.graphql";
}
