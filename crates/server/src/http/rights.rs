//! Tables of rights: every route with what it needs. A route that is not in the table of its API does not answer,
//! whatever the router says.

use std::time::Duration;

use axum::http::Method;

/// One line of a table. What a route may need differs from API to API.
#[derive(Debug, Clone)]
pub struct RouteRight<Needs: 'static> {
    pub method: Method,
    /// The path as the router matches it, below the base path of the API.
    pub path: &'static str,
    pub needs: Needs,
    /// The name in the audit log of what this changes; `None` for routes that only look.
    pub action: Option<&'static str>,
    /// How long it may take, where that is not what every request may take.
    pub limit: Option<Duration>,
}

pub const fn look<Needs: Copy>(path: &'static str, needs: Needs) -> RouteRight<Needs> {
    RouteRight { method: Method::GET, path, needs, action: None, limit: None }
}

pub const fn change<Needs: Copy>(
    method: Method,
    path: &'static str,
    needs: Needs,
    action: &'static str,
) -> RouteRight<Needs> {
    RouteRight { method, path, needs, action: Some(action), limit: None }
}

/// What the table says about a request to a path that the router knows.
pub fn find<'a, Needs>(
    table: &'a [RouteRight<Needs>],
    method: &Method,
    path: &str,
) -> Option<&'a RouteRight<Needs>> {
    // Who may read a thing may also ask whether it is there.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    table.iter().find(|right| right.method == *method && right.path == path)
}

/// The methods that a path takes, as the `Allow` header lists them.
pub fn allowed<Needs>(table: &[RouteRight<Needs>], path: &str) -> String {
    let methods = table.iter().filter(|right| right.path == path).map(|right| &right.method);
    let names = methods.map(|method| if method == Method::GET { "GET, HEAD" } else { method.as_str() });
    names.collect::<Vec<_>>().join(", ")
}
