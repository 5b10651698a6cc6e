//! Against signatures that AWS published: the examples of its documentation, and its test suite.

use super::*;

const HOST: (&str, &str) = ("Host", "example.amazonaws.com");
const DATE: (&str, &str) = ("X-Amz-Date", "20150830T123600Z");
const UNRESERVED: &str = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The token of the suite's calls with temporary credentials.
const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIY\
                     RqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDv\
                     p75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOL\
                     n9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

const VANILLA_GET: &str = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
const VANILLA_POST: &str = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";

fn keys() -> AccessKeys {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into();
    AccessKeys { id: "AKIDEXAMPLE".to_owned(), secret, session: None }
}

fn at() -> AmzDate {
    AmzDate::new(Timestamp::parse("2015-08-30T12:36:00Z").unwrap())
}

fn request<'a>(
    method: &'a str,
    path: &'a str,
    query: &'a str,
    headers: &'a [(&'a str, &'a str)],
) -> Request<'a> {
    Request { method, path, query, headers, body: b"" }
}

#[track_caller]
fn check(service: &str, request: &Request<'_>, names: &str, signature: &str) {
    let (at, region) = (at(), "us-east-1");
    let signed = authorization(&keys(), &Scope { service, region, at: &at }, request);
    let scope = format!("AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request");
    let expect = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}");
    assert_eq!(signed, expect);
}

#[track_caller]
fn check_suite(request: &Request<'_>, signature: &str) {
    check("service", request, "host;x-amz-date", signature);
}

#[test]
fn the_example_of_the_documentation() {
    let form = ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
    let headers = [form, ("Host", "iam.amazonaws.com"), DATE];
    let request = request("GET", "/", "Action=ListUsers&Version=2010-05-08", &headers);
    let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
    check("iam", &request, "content-type;host;x-amz-date", signature);
}

#[test]
fn plain_requests_of_the_suite() {
    check_suite(&request("GET", "/", "", &[HOST, DATE]), VANILLA_GET);
    check_suite(&request("POST", "/", "", &[DATE, HOST]), VANILLA_POST);
}

#[test]
fn forms_of_the_suite() {
    for (kind, signature) in [
        (
            "application/x-www-form-urlencoded",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            "application/x-www-form-urlencoded; charset=utf8",
            "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
        ),
    ] {
        let headers = [("Content-Type", kind), HOST, DATE];
        let request = Request { body: b"Param1=value1", ..request("POST", "/", "", &headers) };
        check("service", &request, "content-type;host;x-amz-date", signature);
    }
}

#[test]
fn headers_of_the_suite() {
    let mine = |value| ("My-Header1", value);
    for (method, headers, names, signature) in [
        (
            "GET",
            &[HOST, mine("value2"), mine("value2"), mine("value1"), DATE][..],
            "host;my-header1;x-amz-date",
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
        ),
        (
            "GET",
            &[mine("value4"), HOST, mine("value1"), mine("value3"), mine("value2"), DATE],
            "host;my-header1;x-amz-date",
            "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
        ),
        (
            "GET",
            &[HOST, mine(" value1"), ("My-Header2", " \"a   b   c\""), DATE],
            "host;my-header1;my-header2;x-amz-date",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        (
            "POST",
            &[HOST, ("MY-HEADER1", "value1"), DATE],
            "host;my-header1;x-amz-date",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            "POST",
            &[HOST, mine("VALUE1"), DATE],
            "host;my-header1;x-amz-date",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
        ),
        (
            "POST",
            &[HOST, DATE, ("X-Amz-Security-Token", TOKEN)],
            "host;x-amz-date;x-amz-security-token",
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
        ),
    ] {
        check("service", &request(method, "/", "", headers), names, signature);
    }
}

#[test]
fn queries_of_the_suite() {
    let unreserved = format!("{UNRESERVED}={UNRESERVED}");
    for (method, query, signature) in [
        ("GET", "Param1=value1", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        (
            "GET",
            "Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", unreserved.as_str(), "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        ("GET", "ሴ=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        ("GET", "%E1%88%B4=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        ("POST", "Param1=value1", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    ] {
        check_suite(&request(method, "/", query, &[HOST, DATE]), signature);
    }
}

#[test]
fn paths_of_the_suite() {
    let unreserved = format!("/{UNRESERVED}");
    for (path, signature) in [
        (unreserved.as_str(), "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        ("/ሴ", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        ("/example/..", VANILLA_GET),
        ("/example1/example2/../..", VANILLA_GET),
        ("//", VANILLA_GET),
        ("/./", VANILLA_GET),
    ] {
        check_suite(&request("GET", path, "", &[HOST, DATE]), signature);
    }
}

#[test]
fn a_path_that_is_escaped_already_is_escaped_once_more() {
    let headers = canonical_headers(&[HOST]);
    let text = canonical_request(&request("GET", "/a%20b//c/", "", &[HOST]), &headers, "host");
    assert!(text.starts_with("GET\n/a%2520b/c/\n\nhost:example.amazonaws.com\n\nhost\n"), "{text}");
}

#[test]
fn the_same_request_is_signed_alike_and_any_other_is_not() {
    let headers = [HOST, DATE];
    let sign = |keys: &AccessKeys, service: &str, region: &str, at: &str, request: &Request<'_>| {
        let at = AmzDate::new(Timestamp::parse(at).unwrap());
        authorization(keys, &Scope { service, region, at: &at }, request)
    };
    let now = "2026-03-01T00:00:00Z";
    let whole = || Request { body: b"Action=x", ..request("POST", "/a", "b=c", &headers) };
    let ours = keys();
    let other_secret = AccessKeys { secret: "another".into(), ..keys() };
    let other_headers = [HOST, ("X-Amz-Date", "20150830T123601Z")];
    let all = [
        sign(&ours, "ec2", "us-east-1", now, &whole()),
        sign(&AccessKeys { id: "AKIDOTHER".to_owned(), ..keys() }, "ec2", "us-east-1", now, &whole()),
        sign(&other_secret, "ec2", "us-east-1", now, &whole()),
        sign(&ours, "sts", "us-east-1", now, &whole()),
        sign(&ours, "ec2", "us-east-2", now, &whole()),
        sign(&ours, "ec2", "us-east-1", "2026-03-01T00:00:01Z", &whole()),
        sign(&ours, "ec2", "us-east-1", "2026-02-28T23:59:59Z", &whole()),
        sign(&ours, "ec2", "us-east-1", now, &Request { method: "GET", ..whole() }),
        sign(&ours, "ec2", "us-east-1", now, &Request { path: "/b", ..whole() }),
        sign(&ours, "ec2", "us-east-1", now, &Request { query: "b=d", ..whole() }),
        sign(&ours, "ec2", "us-east-1", now, &Request { headers: &other_headers, ..whole() }),
        sign(&ours, "ec2", "us-east-1", now, &Request { headers: &headers[..1], ..whole() }),
        sign(&ours, "ec2", "us-east-1", now, &Request { body: b"Action=y", ..whole() }),
    ];
    assert_eq!(all[0], sign(&ours, "ec2", "us-east-1", now, &whole()));
    let signature = |text: &String| text.split("Signature=").nth(1).unwrap().to_owned();
    for (number, one) in all.iter().enumerate() {
        let alike: Vec<usize> =
            (0..number).filter(|other| signature(&all[*other]) == signature(one)).collect();
        // The id of the key is named beside the signature and is no part of it.
        assert_eq!(alike, if number == 1 { vec![0] } else { vec![] }, "{number}");
        assert!(!all[..number].contains(one), "{number}");
    }
}

#[test]
fn a_moment_is_written_without_its_fraction() {
    assert_eq!(
        AmzDate::new(Timestamp::parse("2026-01-02T03:04:05.999Z").unwrap()).as_str(),
        "20260102T030405Z"
    );
    assert_eq!(AmzDate::new(Timestamp(-1)).as_str(), "19691231T235959Z");
}
