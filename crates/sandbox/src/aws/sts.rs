//! STS: who a client is, and how they become a role.

use time::Duration;

use super::call_error::AwsError;
use super::callers::RoleArn;
use super::form::AwsForm;
use super::world::{AwsCall, AwsState};
use super::xml::Xml;

const LASTS_S_DEFAULT: i64 = 3600;
const LASTS_S_MIN: i64 = 900;
const LASTS_S_MAX: i64 = 43_200;

pub(super) fn get_caller_identity(call: &AwsCall, form: AwsForm) -> Result<String, AwsError> {
    form.finish()?;
    Ok(Xml::of(|xml| {
        xml.leaf("Arn", &call.caller.arn);
        xml.leaf("UserId", &call.caller.user_id);
        xml.leaf("Account", &call.caller.account);
    }))
}

pub(super) fn assume_role(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let arn = form.need("RoleArn")?;
    let session_name = form.need("RoleSessionName")?;
    let external_id = form.take("ExternalId");
    let lasts_s = form.number("DurationSeconds")?.unwrap_or(LASTS_S_DEFAULT);
    form.finish()?;
    let role = RoleArn::parse(&arn).ok_or_else(|| invalid("RoleArn is not the name of a role"))?;
    if !is_session_name(&session_name) {
        return Err(invalid("RoleSessionName has 2 to 64 characters out of letters, digits and _+=,.@-"));
    }
    if !(LASTS_S_MIN..=LASTS_S_MAX).contains(&lasts_s) {
        return Err(invalid(&format!("DurationSeconds must be between {LASTS_S_MIN} and {LASTS_S_MAX}")));
    }
    let demanded = aws_state.controls.external_ids.get(&arn);
    if role.is_denied() || demanded.is_some() && demanded != external_id.as_ref() {
        let message = format!("{} may not perform sts:AssumeRole on {arn}", call.caller.arn);
        return Err(AwsError::new("AccessDenied", message));
    }
    let lasts = Duration::seconds(lasts_s);
    let session = aws_state.callers.take_role(&mut aws_state.ids, &role, &session_name, lasts, call.now)?;
    Ok(Xml::of(|xml| {
        xml.branch("AssumedRoleUser", |xml| {
            xml.leaf("AssumedRoleId", &session.caller.user_id);
            xml.leaf("Arn", &session.caller.arn);
        });
        xml.branch("Credentials", |xml| {
            xml.leaf("AccessKeyId", &session.key_id);
            xml.leaf("SecretAccessKey", &session.secret);
            xml.leaf("SessionToken", &session.token);
            xml.moment("Expiration", session.expires_at);
        });
    }))
}

fn invalid(message: &str) -> AwsError {
    AwsError::new("ValidationError", message)
}

fn is_session_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    (2..=64).contains(&text.len()) && text.chars().all(is_word)
}
