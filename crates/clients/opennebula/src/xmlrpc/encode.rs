//! Encodes an XML-RPC call.

use std::fmt;

use xml::{carries, escape};

use super::super::template::Unfit;

/// A parameter after the session.
#[derive(Clone, Copy)]
pub(crate) enum Param<'a> {
    Text(&'a str),
    Integer(i32),
    Boolean(bool),
}

/// For logs. A text may hold a secret, so that only its length is told.
impl fmt::Debug for Param<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Param::Text(text) => write!(f, "text of {} bytes", text.len()),
            Param::Integer(number) => write!(f, "{number}"),
            Param::Boolean(yes) => write!(f, "{yes}"),
        }
    }
}

/// The body of a call.
pub(crate) fn encode(method: &str, session: &str, params: &[Param<'_>]) -> Result<String, Unfit> {
    let mut body = String::from("<?xml version=\"1.0\"?><methodCall><methodName>");
    body.push_str(method);
    body.push_str("</methodName><params>");
    push(&mut body, Param::Text(session))?;
    for param in params {
        push(&mut body, *param)?;
    }
    body.push_str("</params></methodCall>");
    Ok(body)
}

fn push(body: &mut String, param: Param<'_>) -> Result<(), Unfit> {
    body.push_str("<param><value>");
    match param {
        Param::Text(text) if text.chars().all(carries) => {
            body.push_str("<string>");
            escape(text, body);
            body.push_str("</string>");
        }
        Param::Text(_) => return Err(Unfit::Character),
        Param::Integer(number) => {
            body.push_str("<i4>");
            body.push_str(&number.to_string());
            body.push_str("</i4>");
        }
        Param::Boolean(yes) => {
            body.push_str(if yes { "<boolean>1</boolean>" } else { "<boolean>0</boolean>" });
        }
    }
    body.push_str("</value></param>");
    Ok(())
}
