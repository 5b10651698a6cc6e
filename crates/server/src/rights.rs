//! Who may do what: every route with the least role that it needs. A route that is not in this table does not
//! answer, whatever the router says.

use axum::http::Method;
use engine::Role;

use crate::http::rights::{self, change, look};

/// One line of the table.
pub type Right = rights::Right<Needs>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// No token at all.
    Nothing,
    /// A reader, unless the settings make metrics public.
    ReaderUnlessPublic,
    Role(Role),
}

pub static RIGHTS: [Right; 36] = {
    use Needs::{Nothing, ReaderUnlessPublic};
    const LAUNCHER: Needs = Needs::Role(Role::Launcher);
    const READER: Needs = Needs::Role(Role::Reader);
    const OPERATOR: Needs = Needs::Role(Role::Operator);
    const ADMIN: Needs = Needs::Role(Role::Admin);
    [
        look("/operations", READER),
        change(Method::POST, "/operations", ADMIN, "operation.submit"),
        look("/operations/{id}", READER),
        look("/operations/{id}/journal", READER),
        look("/operations/{id}/events", READER),
        look("/operations/{id}/explain", READER),
        change(Method::POST, "/operations/{id}/cancel", OPERATOR, "operation.cancel"),
        change(Method::POST, "/operations/{id}/pause", OPERATOR, "operation.pause"),
        change(Method::POST, "/operations/{id}/resume", OPERATOR, "operation.resume"),
        change(Method::POST, "/operations/{id}/retry", OPERATOR, "operation.retry"),
        look("/workflows", READER),
        look("/workflows/{name}", READER),
        look("/workflows/{name}/calls", READER),
        change(Method::POST, "/signals/{key}", OPERATOR, "signal.send"),
        look("/tokens", ADMIN),
        change(Method::POST, "/tokens", ADMIN, "token.create"),
        change(Method::DELETE, "/tokens/{name}", ADMIN, "token.delete"),
        look("/users", ADMIN),
        change(Method::POST, "/users", ADMIN, "user.create"),
        change(Method::PUT, "/users/{name}", ADMIN, "user.change"),
        change(Method::DELETE, "/users/{name}", ADMIN, "user.delete"),
        change(Method::DELETE, "/users/{name}/sessions", ADMIN, "user.sign_out"),
        look("/sessions", ADMIN),
        change(Method::DELETE, "/sessions/{id}", ADMIN, "session.end"),
        change(Method::PUT, "/me/password", LAUNCHER, "password.change"),
        look("/audit", ADMIN),
        look("/settings", ADMIN),
        look("/systems", READER),
        look("/keys", ADMIN),
        change(Method::POST, "/keys/rotate", ADMIN, "key.rotate"),
        look("/healthz", Nothing),
        look("/readyz", Nothing),
        look("/metrics", ReaderUnlessPublic),
        look("/openapi.json", Nothing),
        look("/errors", Nothing),
        look("/errors/{code}", Nothing),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_includes_asking_for_the_head() {
        assert!(rights::find(&RIGHTS, &Method::HEAD, "/operations").is_some());
        assert!(rights::find(&RIGHTS, &Method::PUT, "/operations").is_none());
        assert_eq!(rights::allowed(&RIGHTS, "/operations"), "GET, HEAD, POST");
        assert_eq!(rights::allowed(&RIGHTS, "/signals/{key}"), "POST");
    }

    #[test]
    fn whatever_changes_more_than_ones_own_password_needs_more_than_a_reader() {
        for right in &RIGHTS {
            let changes = right.method != Method::GET;
            assert_eq!(changes, right.action.is_some(), "{} {}", right.method, right.path);
            let more = matches!(right.needs, Needs::Role(role) if role > Role::Reader);
            assert!(more || !changes || right.path == "/me/password", "{} {}", right.method, right.path);
        }
    }
}
