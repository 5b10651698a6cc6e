//! The queries to the director. Every root field is called `result`.

pub(super) const RUNTIME: &str =
    "query($id: ID!) { result: runtime(id: $id) { id name labels status { condition } } }";

pub(super) const RUNTIMES: &str = "query($key: String!, $query: String!, $first: Int!, $after: PageCursor) { \
     result: runtimes(filter: [{ key: $key, query: $query }], first: $first, after: $after) { \
     data { id name labels status { condition } } pageInfo { endCursor hasNextPage } totalCount } }";

pub(super) const SET_RUNTIME_LABEL: &str = "mutation($id: ID!, $key: String!, $value: Any!) { \
     result: setRuntimeLabel(runtimeID: $id, key: $key, value: $value) { key value } }";
