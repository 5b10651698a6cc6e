//! Decodes an XML-RPC answer.

use xml::{Element, XmlError};

use super::super::LIMITS;

/// A value. Structures and dates are read over: nothing that we ask for has them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum XmlRpcValue {
    Text(String),
    Integer(i64),
    Boolean(bool),
    Double(f64),
    Array(Vec<XmlRpcValue>),
    Skipped,
}

/// What `oned` says to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallOutcome {
    Done(XmlRpcValue),
    Refused {
        code: i64,
        message: String,
    },
    /// The call did not even reach the method.
    Fault {
        code: i64,
        message: String,
    },
}

/// Why an answer is none. Never quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("{0}")]
    Xml(#[from] XmlError),
    #[error("it is no answer to a call: {0}")]
    Shape(&'static str),
}

/// Reads by position and ignores what comes after what is known: older servers say less, newer ones more.
pub(crate) fn decode(text: &str) -> Result<CallOutcome, NoAnswer> {
    let answer = xml::read(text, LIMITS)?;
    if answer.name != "methodResponse" {
        return Err(NoAnswer::Shape("there is no methodResponse"));
    }
    if let Some(fault) = answer.child("fault") {
        return read_fault(fault);
    }
    let value =
        answer.child("params").and_then(|params| params.child("param")).and_then(|p| p.child("value"));
    let XmlRpcValue::Array(values) = read_value(value.ok_or(NoAnswer::Shape("there is no value"))?)? else {
        return Err(NoAnswer::Shape("the value is no array"));
    };
    let mut values = values.into_iter();
    match (values.next(), values.next(), values.next()) {
        (Some(XmlRpcValue::Boolean(true)), Some(value), _) => Ok(CallOutcome::Done(value)),
        (
            Some(XmlRpcValue::Boolean(false)),
            Some(XmlRpcValue::Text(message)),
            Some(XmlRpcValue::Integer(code)),
        ) => Ok(CallOutcome::Refused { code, message }),
        _ => Err(NoAnswer::Shape("the array does not begin as expected")),
    }
}

fn read_value(value: &Element) -> Result<XmlRpcValue, NoAnswer> {
    let Some(typed) = value.children.first() else { return Ok(XmlRpcValue::Text(value.text.clone())) };
    let text = typed.text.trim();
    Ok(match typed.name.as_str() {
        "string" => XmlRpcValue::Text(typed.text.clone()),
        "i4" | "int" | "i8" | "ex:i8" => {
            XmlRpcValue::Integer(text.parse().map_err(|_| NoAnswer::Shape("an integer is none"))?)
        }
        "boolean" => match text {
            "1" => XmlRpcValue::Boolean(true),
            "0" => XmlRpcValue::Boolean(false),
            _ => return Err(NoAnswer::Shape("a boolean is neither 0 nor 1")),
        },
        "double" => XmlRpcValue::Double(text.parse().map_err(|_| NoAnswer::Shape("a double is none"))?),
        "array" => {
            let data = typed.child("data").ok_or(NoAnswer::Shape("an array has no data"))?;
            XmlRpcValue::Array(data.children("value").map(read_value).collect::<Result<_, _>>()?)
        }
        _ => XmlRpcValue::Skipped,
    })
}

fn read_fault(fault: &Element) -> Result<CallOutcome, NoAnswer> {
    let members = fault.child("value").and_then(|value| value.child("struct"));
    let members = members.ok_or(NoAnswer::Shape("a fault says nothing"))?;
    let member = |name: &str| {
        let named = |member: &&Element| member.child("name").is_some_and(|given| given.text.trim() == name);
        members.children("member").find(named).and_then(|member| member.child("value")).map(read_value)
    };
    match (member("faultCode").transpose()?, member("faultString").transpose()?) {
        (Some(XmlRpcValue::Integer(code)), Some(XmlRpcValue::Text(message))) => {
            Ok(CallOutcome::Fault { code, message })
        }
        _ => Err(NoAnswer::Shape("a fault has no code or no text")),
    }
}
