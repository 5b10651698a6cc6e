//! XML-RPC as oned's server speaks it: calls in, and arrays or faults out.

use std::fmt::Write;
use std::vec;

use super::call_error::NebulaError;
use super::release::Release;
use super::xml::{self, Element};

const PARSE_FAULT: i32 = -503;
const TYPE_FAULT: i32 = -501;
const METHOD_FAULT: i32 = -506;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct XmlRpcCall {
    pub(super) method: String,
    pub(super) params: Params,
}

/// What a caller sent in the order in which it is taken.
#[derive(Debug)]
pub(super) struct Params {
    rest: vec::IntoIter<Param>,
    release: Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Param {
    Integer(i32),
    Boolean(bool),
    Text(String),
    /// A type that no method takes.
    Other,
}

/// The call itself was wrong, so what it asks for was not looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct XmlRpcFault {
    code: i32,
    text: String,
}

impl XmlRpcFault {
    fn new(code: i32, text: impl Into<String>) -> Self {
        XmlRpcFault { code, text: text.into() }
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        XmlRpcFault::new(METHOD_FAULT, format!("Method '{method}' not defined"))
    }

    pub(super) fn to_xml(&self) -> String {
        let mut body = String::from("<fault>\r\n<value><struct>\r\n<member><name>faultCode</name>\r\n");
        push_integer(&mut body, self.code);
        body += "</member>\r\n";
        body += "<member><name>faultString</name>\r\n<value><string>";
        escape(&mut body, &self.text);
        body += "</string></value></member>\r\n</struct></value>\r\n</fault>\r\n";
        response(&body)
    }
}

/// What a method gives back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum XmlRpcReply {
    Text(String),
    Integer(i32),
}

impl XmlRpcReply {
    pub(super) fn to_xml(&self) -> String {
        let mut items = String::from("<value><boolean>1</boolean></value>\r\n");
        match self {
            XmlRpcReply::Text(text) => push_text(&mut items, text),
            XmlRpcReply::Integer(number) => push_line(&mut items, *number),
        }
        push_line(&mut items, 0);
        array(&items)
    }
}

pub(super) fn error_to_xml(call_error: &NebulaError, method: &str) -> String {
    let mut items = String::from("<value><boolean>0</boolean></value>\r\n");
    push_text(&mut items, &call_error.text(method));
    for number in [call_error.errno, call_error.object] {
        push_line(&mut items, number);
    }
    items += "<value><i8>-1</i8></value>\r\n";
    array(&items)
}

fn push_text(out: &mut String, text: &str) {
    *out += "<value><string>";
    escape(out, text);
    *out += "</string></value>\r\n";
}

fn push_integer(out: &mut String, number: i32) {
    write!(out, "<value><i4>{number}</i4></value>").expect("writing to a string cannot fail");
}

fn push_line(out: &mut String, number: i32) {
    push_integer(out, number);
    *out += "\r\n";
}

fn array(items: &str) -> String {
    let params = "<params>\r\n<param><value><array><data>\r\n";
    response(&format!("{params}{items}</data></array></value></param>\r\n</params>\r\n"))
}

fn response(body: &str) -> String {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<methodResponse>\r\n";
    format!("{head}{body}</methodResponse>\r\n")
}

/// A carriage return would be lost on the way if it stood for itself.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => *out += "&lt;",
            '>' => *out += "&gt;",
            '&' => *out += "&amp;",
            '\r' => *out += "&#x0d;",
            _ => out.push(c),
        }
    }
}

impl XmlRpcCall {
    pub(super) fn read(body: &str) -> Result<Self, XmlRpcFault> {
        let not_proper = |why: String| {
            XmlRpcFault::new(PARSE_FAULT, format!("Call XML not a proper XML-RPC call.  {why}"))
        };
        let Some(root) = xml::read(body) else {
            return Err(not_proper(format!("Call is not valid XML.  {}", xml_error(body))));
        };
        if root.name != "methodCall" {
            return Err(not_proper(format!(
                "XML-RPC call should be a <methodCall> element.  It is <{}>.",
                root.name
            )));
        }
        let named = |name: &str| root.elements().find(|element| element.name == name);
        let Some(method) = named("methodName") else {
            return Err(not_proper("<methodCall> has no <methodName> child".into()));
        };
        let params = named("params").map(|params| params.elements().map(param).collect::<Vec<_>>());
        let params = Params { rest: params.unwrap_or_default().into_iter(), release: Release::default() };
        Ok(XmlRpcCall { method: method.text().trim().to_owned(), params })
    }
}

fn xml_error(body: &str) -> String {
    if !body.trim_start().starts_with('<') {
        return "syntax error".into();
    }
    if !body.chars().all(xml::is_allowed) {
        return "not well-formed (invalid token)".into();
    }
    let start: String = body.chars().take(40).collect();
    format!("Invalid XML \"content\".  Problem with token at '{start}...': unclosed token")
}

fn param(param: &Element) -> Param {
    let Some(value) = param.only("value") else { return Param::Other };
    let Some(typed) = value.elements().next() else { return Param::Text(value.text()) };
    let text = typed.text();
    match typed.name.as_str() {
        "string" => Param::Text(text),
        "i4" | "int" => text.trim().parse().map_or(Param::Other, Param::Integer),
        "boolean" => match text.trim() {
            "1" => Param::Boolean(true),
            "0" => Param::Boolean(false),
            _ => Param::Other,
        },
        _ => Param::Other,
    }
}

impl Params {
    pub(super) fn text(&mut self) -> Result<String, XmlRpcFault> {
        match self.next()? {
            Param::Text(text) => Ok(text),
            _ => Err(mistyped("string")),
        }
    }

    pub(super) fn integer(&mut self) -> Result<i32, XmlRpcFault> {
        match self.next()? {
            Param::Integer(number) => Ok(number),
            _ => Err(mistyped("integer")),
        }
    }

    /// The rest of them is read as this release reads them.
    pub(super) fn of_release(self, release: Release) -> Self {
        Params { release, ..self }
    }

    /// 6.8 takes a number as well.
    pub(super) fn boolean(&mut self) -> Result<bool, XmlRpcFault> {
        match self.next()? {
            Param::Boolean(value) => Ok(value),
            Param::Integer(number) if self.release == Release::Six => Ok(number != 0),
            _ => Err(mistyped("boolean")),
        }
    }

    /// One that later versions added, and that may be missing.
    pub(super) fn optional_boolean(&mut self) -> Result<bool, XmlRpcFault> {
        if self.rest.as_slice().is_empty() { Ok(false) } else { self.boolean() }
    }

    pub(super) fn optional_text(&mut self) -> Result<String, XmlRpcFault> {
        if self.rest.as_slice().is_empty() { Ok(String::new()) } else { self.text() }
    }

    pub(super) fn optional_integer(&mut self) -> Result<Option<i32>, XmlRpcFault> {
        if self.rest.as_slice().is_empty() { Ok(None) } else { self.integer().map(Some) }
    }

    fn next(&mut self) -> Result<Param, XmlRpcFault> {
        self.rest.next().ok_or_else(|| XmlRpcFault::new(TYPE_FAULT, "Not enough parameters"))
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.rest.as_slice() == other.rest.as_slice()
    }
}

impl Eq for Params {}

fn mistyped(wanted: &str) -> XmlRpcFault {
    XmlRpcFault::new(TYPE_FAULT, format!("Parameter that is supposed to be {wanted} is not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths were recorded.
    #[test]
    fn answers_are_as_long_as_recorded() {
        assert_eq!(XmlRpcReply::Text("6.8.3".into()).to_xml().len(), 263);
        assert_eq!(XmlRpcReply::Integer(0).to_xml().len(), 251);
        let call_error = NebulaError::missing("virtual machine", 999_999);
        assert_eq!(error_to_xml(&call_error, "one.vm.info").len(), 374);
        assert_eq!(XmlRpcFault::unknown_method("one.no.such").to_xml().len(), 312);
        let unclosed = XmlRpcCall::read("<nope").unwrap_err();
        assert_eq!(unclosed.to_xml().len(), 416);
    }

    #[test]
    fn calls_are_taken_apart() {
        let body = "<?xml version=\"1.0\" ?><methodCall><methodName>m</methodName><params>\
            <param><value><string>a &lt; b</string></value></param><param><value>bare</value></param>\
            <param><value><i4>-3</i4></value></param><param><value><boolean>1</boolean></value></param>\
            <param><value><i8>1</i8></value></param></params></methodCall>";
        let XmlRpcCall { method, mut params } = XmlRpcCall::read(body).unwrap();
        assert_eq!(method, "m");
        assert_eq!((params.text(), params.text()), (Ok("a < b".into()), Ok("bare".into())));
        assert_eq!((params.integer(), params.optional_boolean()), (Ok(-3), Ok(true)));
        assert_eq!(params.integer().unwrap_err().text, "Parameter that is supposed to be integer is not");
        assert_eq!(params.text().unwrap_err().text, "Not enough parameters");
        assert_eq!(params.optional_boolean(), Ok(false));
    }
}
