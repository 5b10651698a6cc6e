//! Which version of the specification a request means.

use axum::http::{HeaderMap, HeaderName, StatusCode};

use super::{MissingVersion, OsbSettings};
use server::http::Failure;

const HEADER: HeaderName = HeaderName::from_static("x-broker-api-version");
/// All minor versions since this one only added something.
const MINOR_MIN: u32 = 11;

pub(crate) fn check(headers: &HeaderMap, settings: &OsbSettings) -> Result<(), Failure> {
    let Some(value) = headers.get(HEADER) else {
        let status = match settings.missing_version {
            MissingVersion::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            MissingVersion::BadRequest => StatusCode::BAD_REQUEST,
        };
        return Err(Failure::of_status(status, "send the header X-Broker-API-Version, such as 2.17"));
    };
    let minor_min = if settings.compat_keb { 0 } else { MINOR_MIN };
    match value.to_str().ok().and_then(parse) {
        Some((2, minor)) if minor >= minor_min => Ok(()),
        _ => {
            let text = "this version of the API is not supported; use X-Broker-API-Version 2.11 to 2.17";
            Err(Failure::of_status(StatusCode::PRECONDITION_FAILED, text))
        }
    }
}

fn parse(text: &str) -> Option<(u32, u32)> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = text.trim().split_once('.')?;
    (is_number(major) && is_number(minor)).then_some(())?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn answers(settings: OsbSettings, version: Option<&[u8]>, expect: u16) {
        let value = version.map(|version| (HEADER, HeaderValue::from_bytes(version).unwrap()));
        let checked = check(&value.into_iter().collect(), &settings);
        let status = match checked {
            Err(Failure::Error(error)) => error.status.as_u16(),
            checked => checked.map_or(500, |()| 200),
        };
        assert_eq!(status, expect, "{version:?}");
    }

    #[test]
    fn all_minor_versions_since_2_11_are_taken_and_nothing_else() {
        let plain = OsbSettings::default();
        for good in ["2.11", "2.17", "2.99", " 2.13 "] {
            answers(plain, Some(good.as_bytes()), 200);
        }
        for bad in
            ["2.10", "1.17", "3.0", "2", "2.", ".17", "2.+17", "2.x", "2.17.1", "-2.17", "", "99999999999.1"]
        {
            answers(plain, Some(bad.as_bytes()), 412);
        }
        answers(plain, Some(b"2.17\xff"), 412);
    }

    #[test]
    fn a_missing_version_is_answered_as_the_settings_say() {
        answers(OsbSettings::default(), None, 412);
        let lenient = OsbSettings { missing_version: MissingVersion::BadRequest, ..OsbSettings::default() };
        answers(lenient, None, 400);
        answers(lenient, Some(b"1.0"), 412);
        answers(OsbSettings { compat_keb: true, ..OsbSettings::default() }, Some(b"2.4"), 200);
    }
}
