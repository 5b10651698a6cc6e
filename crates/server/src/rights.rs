//! Who may do what: every route with the capability that it needs. A route that is not in this table does not
//! answer, whatever the router says.

use axum::http::Method;
use engine::Capability;

use crate::http::rights::{self, change, look};

/// One line of the table.
pub type Right = rights::RouteRight<Needs>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// No token at all.
    Nothing,
    /// To read, unless the settings make metrics public.
    ReadUnlessPublic,
    Can(Capability),
    /// The same, also with a grant for some workflows. The handler checks which.
    CanWithSome(Capability),
    /// To read, operate or submit, also with a grant for some workflows. The handler shows those and no others.
    SeesSome,
    /// To operate, or the token that the services of an operation have. The handler checks that one.
    OperateOrSignalToken,
}

pub static RIGHTS: [Right; 47] = {
    use Needs::{Nothing, ReadUnlessPublic, SeesSome};
    const SIGN_IN: Needs = Needs::Can(Capability::SignIn);
    const READ: Needs = Needs::Can(Capability::Read);
    const READ_SOME: Needs = Needs::CanWithSome(Capability::Read);
    const OPERATE: Needs = Needs::Can(Capability::Operate);
    const OPERATE_SOME: Needs = Needs::CanWithSome(Capability::Operate);
    const SUBMIT: Needs = Needs::CanWithSome(Capability::Submit);
    const ADMINISTER: Needs = Needs::Can(Capability::Administer);
    [
        look("/operations", READ_SOME),
        change(Method::POST, "/operations", SUBMIT, "operation.submit"),
        look("/operations/totals", READ_SOME),
        look("/operations/failures", READ_SOME),
        look("/operations/{id}", READ_SOME),
        look("/operations/{id}/journal", READ_SOME),
        look("/operations/{id}/events", READ_SOME),
        look("/operations/{id}/explain", READ_SOME),
        change(Method::POST, "/operations/{id}/cancel", OPERATE_SOME, "operation.cancel"),
        change(Method::POST, "/operations/{id}/pause", OPERATE_SOME, "operation.pause"),
        change(Method::POST, "/operations/{id}/resume", OPERATE_SOME, "operation.resume"),
        change(Method::POST, "/operations/{id}/retry", OPERATE_SOME, "operation.retry"),
        look("/workflows", SeesSome),
        look("/workflows/{name}", SeesSome),
        change(Method::PUT, "/workflows/{name}", ADMINISTER, "workflow.apply"),
        change(Method::DELETE, "/workflows/{name}", ADMINISTER, "workflow.delete"),
        look("/workflows/{name}/calls", SeesSome),
        look("/workflows/{name}/versions", SeesSome),
        look("/workflows/{name}/versions/{version}", SeesSome),
        change(Method::POST, "/workflows/{name}/dry-run", SUBMIT, "workflow.dry_run"),
        change(
            Method::POST,
            "/operations/{id}/signals/{key}",
            Needs::OperateOrSignalToken,
            "operation.signal",
        ),
        change(Method::POST, "/signals/{key}", OPERATE, "signal.send"),
        look("/tokens", ADMINISTER),
        change(Method::POST, "/tokens", ADMINISTER, "token.create"),
        change(Method::DELETE, "/tokens/{name}", ADMINISTER, "token.delete"),
        look("/users", ADMINISTER),
        change(Method::POST, "/users", ADMINISTER, "user.create"),
        change(Method::PUT, "/users/{name}", ADMINISTER, "user.change"),
        change(Method::DELETE, "/users/{name}", ADMINISTER, "user.delete"),
        change(Method::DELETE, "/users/{name}/sessions", ADMINISTER, "user.sign_out"),
        look("/sessions", ADMINISTER),
        change(Method::DELETE, "/sessions/{id}", ADMINISTER, "session.end"),
        change(Method::PUT, "/me/password", SIGN_IN, "password.change"),
        look("/audit", ADMINISTER),
        look("/settings", ADMINISTER),
        look("/systems", READ),
        look("/keys", ADMINISTER),
        change(Method::POST, "/keys/rotate", ADMINISTER, "key.rotate"),
        look("/docs", Nothing),
        look("/docs/{name}", Nothing),
        look("/docs/style.css", Nothing),
        look("/healthz", Nothing),
        look("/readyz", Nothing),
        look("/metrics", ReadUnlessPublic),
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
            let more = match right.needs {
                Needs::Can(needed) | Needs::CanWithSome(needed) => !engine::Role::Reader.can(needed),
                Needs::OperateOrSignalToken => true,
                Needs::Nothing | Needs::ReadUnlessPublic | Needs::SeesSome => false,
            };
            assert!(more || !changes || right.path == "/me/password", "{} {}", right.method, right.path);
        }
    }
}
