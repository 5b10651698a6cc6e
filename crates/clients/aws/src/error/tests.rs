use super::*;

fn ec2(code: &str, message: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{message}\
         </Message></Error></Errors><RequestID>7a62c49f</RequestID></Response>"
    )
}

fn sts(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
         <Code>{code}</Code><Message>{message}</Message></Error><RequestId>c6104cbe</RequestId></ErrorResponse>"
    )
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap()
}

#[test]
fn every_code_has_its_category() {
    use Category::{
        Capacity, Duplicate, Invalid, Mismatch, NotFound, Permission, Quota, Terminated, Throttle, Upstream,
    };
    for (number, code, expect) in [
        (403, "UnauthorizedOperation", Permission),
        (403, "AccessDenied", Permission),
        (401, "AuthFailure", Permission),
        (403, "InvalidClientTokenId", Permission),
        (403, "ExpiredToken", Permission),
        (401, "OptInRequired", Permission),
        (403, "SignatureDoesNotMatch", Permission),
        (400, "RequestExpired", Permission),
        (400, "PendingVerification", Permission),
        (403, "SomethingNew", Permission),
        (400, "VcpuLimitExceeded", Quota),
        (400, "InstanceLimitExceeded", Quota),
        (400, "AddressLimitExceeded", Quota),
        (400, "KeyPairLimitExceeded", Quota),
        (400, "MaxSpotInstanceCountExceeded", Quota),
        (500, "InsufficientInstanceCapacity", Capacity),
        (400, "InsufficientInstanceCapacity", Capacity),
        (500, "Server.InsufficientInstanceCapacity", Capacity),
        (500, "InsufficientHostCapacity", Capacity),
        (500, "InsufficientCapacity", Capacity),
        (400, "InsufficientFreeAddressesInSubnet", Capacity),
        (503, "RequestLimitExceeded", Throttle),
        (503, "Client.RequestLimitExceeded", Throttle),
        (400, "Throttling", Throttle),
        (400, "EC2ThrottledException", Throttle),
        (503, "SlowDown", Throttle),
        (429, "SomethingNew", Throttle),
        (400, "IdempotentParameterMismatch", Mismatch),
        (400, "IdempotentInstanceTerminated", Terminated),
        (400, "InvalidKeyPair.Duplicate", Duplicate),
        (400, "InvalidInstanceID.NotFound", NotFound),
        (400, "InvalidAMIID.NotFound", NotFound),
        (400, "InvalidKeyPair.NotFound", NotFound),
        (400, "InvalidLaunchTemplateName.NotFoundException", NotFound),
        (400, "InvalidInstanceID.Malformed", Invalid),
        (400, "InvalidParameterValue", Invalid),
        (400, "Unsupported", Invalid),
        (412, "DryRunOperation", Invalid),
        (500, "InternalError", Upstream),
        (503, "ServiceUnavailable", Upstream),
        (503, "Unavailable", Upstream),
        (400, "InternalFailure", Upstream),
        (502, "SomethingNew", Upstream),
        (301, "PermanentRedirect", Upstream),
    ] {
        for body in [ec2(code, "why"), sts(code, "why")] {
            let error = told(status(number), &body, None);
            assert_eq!((error.category, error.code.as_str()), (expect, code), "{number}");
        }
    }
}

#[test]
fn without_a_code_the_status_decides() {
    for (number, expect) in [
        (400, Category::Invalid),
        (401, Category::Permission),
        (403, Category::Permission),
        (404, Category::Invalid),
        (429, Category::Throttle),
        (500, Category::Upstream),
        (503, Category::Upstream),
        (302, Category::Upstream),
    ] {
        let strange = [
            "",
            "<html><body>Bad Gateway, said the secret proxy</body></html>",
            "<Response><Errors/></Response>",
            "<Response><Errors><Error><Code>secret words</Code></Error></Errors></Response>",
            &ec2(&"x".repeat(101), "secret"),
            &ec2("A", "secret")[..40],
        ]
        .map(|body| told(status(number), body, None));
        for error in strange {
            assert_eq!((error.category, error.code.as_str()), (expect, ""));
            assert!(
                error.message.contains(&number.to_string()) && !error.message.contains("secret"),
                "{error}"
            );
        }
    }
}

#[test]
fn words_of_the_external_system_fit_into_a_line() {
    let error = told(status(400), &ec2("A", &format!("a\nb{}", "x".repeat(9000))), None);
    assert!(error.message.starts_with("a bx") && error.message.chars().count() <= 500, "{error}");
    assert_eq!(told(status(400), &ec2("A", ""), None).message, "no reason was given");
}

#[test]
fn a_wrong_signature_is_told_without_what_was_signed() {
    let quoting = "The Canonical String for this request should have been 'POST x-amz-security-token:hush'";
    for code in ["SignatureDoesNotMatch", "IncompleteSignature"] {
        let error = told(status(403), &sts(code, quoting), None);
        assert!(!error.to_string().contains("hush"), "{error}");
        assert!(error.message.contains("secret access key") && error.message.contains("clock"), "{error}");
    }
}

#[test]
fn a_clock_that_is_off_is_named() {
    let error = told(status(400), &ec2("RequestExpired", "Request has expired."), None);
    assert_eq!(error.message, "Request has expired. (compare the clock of this machine with the time)");
}

#[test]
fn only_a_session_that_ended_is_taken_again() {
    let error = |code| told(status(403), &ec2(code, "why"), None);
    assert!(ended_session(&error("ExpiredToken")) && ended_session(&error("RequestExpired")));
    for code in ["AuthFailure", "UnauthorizedOperation", "AccessDenied", "RequestLimitExceeded"] {
        assert!(!ended_session(&error(code)), "{code}");
    }
}
