use serde_json::json;

use super::*;

/// As Compute Engine answers: a code, and a list with a reason.
fn answer(status: u16, reason: &str) -> CloudError {
    let body = json!({"error": {"code": status, "message": "words", "errors": [
        {"message": "words", "domain": "global", "reason": reason}]}});
    from_answer(StatusCode::from_u16(status).unwrap(), body.to_string().as_bytes(), None)
}

#[test]
fn the_reason_decides_and_not_the_status() {
    for (status, reason, category) in [
        (403, "rateLimitExceeded", Category::Throttle),
        (403, "userRateLimitExceeded", Category::Throttle),
        (403, "quotaExceeded", Category::Quota),
        (403, "forbidden", Category::Permission),
        (403, "accessNotConfigured", Category::Permission),
        (412, "conditionNotMet", Category::Permission),
        (401, "authError", Category::Permission),
        (503, "insufficientCapacity", Category::Capacity),
        (503, "backendError", Category::Upstream),
        (400, "invalid", Category::Invalid),
        (400, "required", Category::Invalid),
        (400, "badRequest", Category::Invalid),
        (400, "resourceNotReady", Category::Upstream),
        (404, "notFound", Category::NotFound),
        (409, "alreadyExists", Category::Duplicate),
        (409, "resourceInUseByAnotherResource", Category::Upstream),
        (409, "operationInProgress", Category::Upstream),
        (500, "neverHeardOf", Category::Upstream),
        (429, "neverHeardOf", Category::Throttle),
        (400, "neverHeardOf", Category::Invalid),
    ] {
        let error = answer(status, reason);
        assert_eq!((error.category, error.code.as_str()), (category, reason), "{status}");
    }
}

#[test]
fn details_say_more_than_the_reason_and_a_rate_refills_in_a_minute() {
    let body = json!({"error": {"code": 429, "message": "words", "status": "RESOURCE_EXHAUSTED",
        "errors": [{"reason": "rateLimitExceeded", "domain": "usageLimits"}],
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RESOURCE_QUOTA_EXCEEDED"}]}});
    let error = from_answer(StatusCode::TOO_MANY_REQUESTS, body.to_string().as_bytes(), None);
    assert_eq!((error.category, error.code.as_str()), (Category::Quota, "RESOURCE_QUOTA_EXCEEDED"));
    assert_eq!(answer(403, "rateLimitExceeded").after, Some(Duration::from_secs(60)));
    let given = Some(Duration::from_secs(7));
    let error = from_answer(StatusCode::SERVICE_UNAVAILABLE, b"<html>", given);
    assert_eq!((error.category, error.after), (Category::Throttle, given));
    assert!(from_answer(StatusCode::BAD_GATEWAY, b"", None).is(Category::Upstream));
}

#[test]
fn an_operation_is_sorted_by_its_codes() {
    let operation = |codes: &[&str]| -> Operation {
        let errors: Vec<_> = codes.iter().map(|code| json!({"code": code, "message": "words"})).collect();
        serde_json::from_value(json!({"name": "o", "status": "DONE", "error": {"errors": errors}})).unwrap()
    };
    for (code, category) in [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", Category::Capacity),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", Category::Capacity),
        ("QUOTA_EXCEEDED", Category::Quota),
        ("PERMISSIONS_ERROR", Category::Permission),
        ("UNSUPPORTED_OPERATION", Category::Invalid),
        ("RESOURCE_NOT_FOUND", Category::NotFound),
        ("RESOURCE_ALREADY_EXISTS", Category::Duplicate),
        ("RATE_LIMIT_EXCEEDED", Category::Throttle),
        ("RESOURCE_NOT_READY", Category::Upstream),
        ("INTERNAL_ERROR", Category::Upstream),
    ] {
        assert_eq!(from_operation(&operation(&[code])).unwrap().category, category, "{code}");
    }
    let both = operation(&["RESOURCE_ALREADY_EXISTS", "INTERNAL_ERROR", "QUOTA_EXCEEDED"]);
    assert_eq!(from_operation(&both).unwrap().code, "QUOTA_EXCEEDED");
    assert_eq!(from_operation(&operation(&[])), None);
    let bare = |status: u16| -> Operation {
        serde_json::from_value(json!({"name": "o", "status": "DONE", "httpErrorStatusCode": status,
            "httpErrorMessage": "words"}))
        .unwrap()
    };
    assert!(from_operation(&bare(403)).unwrap().is(Category::Permission));
    assert_eq!(from_operation(&bare(200)), None);
}

#[test]
fn the_token_service_has_its_own_words() {
    let body = json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."});
    let error = from_token_answer(StatusCode::BAD_REQUEST, body.to_string().as_bytes(), None);
    assert!(error.is(Category::Permission) && error.message.contains("clock"), "{error}");
    let error = from_token_answer(StatusCode::INTERNAL_SERVER_ERROR, b"{}", None);
    assert!(error.is(Category::Upstream), "{error}");
}
