use super::*;

fn of(status: u16, body: &str) -> (Category, String, Option<u64>) {
    let error = told(StatusCode::from_u16(status).unwrap(), body.as_bytes(), None);
    (error.category, error.code, error.after.map(|after| after.as_secs()))
}

fn body(code: &str, message: &str) -> String {
    serde_json::json!({"error": {"code": code, "message": message}}).to_string()
}

#[test]
fn each_code_is_sorted_by_what_the_caller_can_do() {
    use Category::{Capacity, Duplicate, Invalid, NotFound, Permission, Quota, Throttle, Upstream};
    let cases = [
        (429, "OperationNotAllowed", "too many", Throttle),
        (429, "", "", Throttle),
        (409, "SubscriptionRequestsThrottled", "", Throttle),
        (409, "AllocationFailed", "", Capacity),
        (409, "ZonalAllocationFailed", "", Capacity),
        (409, "SkuNotAvailable", "no capacity in this location", Capacity),
        (409, "SkuNotAvailable", "not for this subscription", Invalid),
        (409, "OperationNotAllowed", "exceeds the approved Total Regional Cores quota", Quota),
        (403, "QuotaExceeded", "", Quota),
        (400, "PublicIPCountLimitReached", "", Quota),
        (403, "AuthorizationFailed", "", Permission),
        (403, "RequestDisallowedByPolicy", "", Permission),
        (409, "ScopeLocked", "", Permission),
        (404, "SubscriptionNotFound", "", Permission),
        (401, "InvalidAuthenticationToken", "", Permission),
        (409, "MissingSubscriptionRegistration", "", Permission),
        (404, "ResourceGroupNotFound", "", NotFound),
        (404, "SomethingElse", "", NotFound),
        (412, "PreconditionFailed", "", Duplicate),
        (400, "InvalidParameter", "", Invalid),
        (409, "OperationNotAllowed", "not in this state", Invalid),
        (500, "Whatever", "", Upstream),
        (503, "", "", Upstream),
    ];
    for (status, code, message, category) in cases {
        assert_eq!(of(status, &body(code, message)).0, category, "{status} {code} {message}");
    }
}

#[test]
fn what_is_in_the_way_says_when_to_come_back() {
    let nic = of(400, &body("NicReservedForAnotherVm", "reserved for 180 seconds"));
    assert_eq!(nic, (Category::Upstream, "NicReservedForAnotherVm".to_owned(), Some(180)));
    assert_eq!(of(409, &body("AnotherOperationInProgress", "")).2, Some(10));
    let after = Some(Duration::from_secs(7));
    let throttled = told(StatusCode::TOO_MANY_REQUESTS, b"{}", after);
    assert_eq!((throttled.category, throttled.after), (Category::Throttle, after));
}

#[test]
fn what_cannot_be_read_is_told_by_the_status() {
    assert_eq!(of(502, "<html>"), (Category::Upstream, String::new(), None));
    assert_eq!(of(400, &body("a code with blanks", "x")).1, "");
    let long = told(StatusCode::BAD_REQUEST, body("BadRequest", &"x".repeat(9000)).as_bytes(), None);
    assert!(long.message.chars().count() <= http_client::MESSAGE_CHARS_MAX);
}

#[test]
fn entra_is_explained_and_never_quoted() {
    let told = |description: &str| {
        let body = serde_json::json!({"error": "invalid_client", "error_description": description});
        no_token(StatusCode::UNAUTHORIZED, body.to_string().as_bytes(), None)
    };
    let wrong = told("AADSTS7000215: Invalid client secret provided: hunter2");
    assert_eq!((wrong.category, wrong.code.as_str()), (Category::Permission, "AADSTS7000215"));
    assert!(!wrong.to_string().contains("hunter2"), "{wrong}");
    assert_eq!(told("no number: hunter2").code, "invalid_client");
    let busy = no_token(StatusCode::SERVICE_UNAVAILABLE, b"", Some(Duration::from_secs(3)));
    assert_eq!((busy.category, busy.after), (Category::Upstream, Some(Duration::from_secs(3))));
}
