//! What was asked, in a form that can be compared: calls of XML-RPC and templates in XML.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::recorded::{Exchange, RecordedRequest};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct XmlRpcNode {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) children: Vec<XmlRpcNode>,
}

impl XmlRpcNode {
    pub(crate) fn child(&self, name: &str) -> &XmlRpcNode {
        self.children.iter().find(|child| child.name == name).unwrap()
    }
}

/// A method and its parameters, each with its type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MethodCall {
    pub(crate) method: String,
    pub(crate) params: Vec<(String, String)>,
}

impl MethodCall {
    pub(crate) fn read(body: &str) -> MethodCall {
        let call = tree(body);
        let params = call.child("params").children.iter().map(|param| {
            let value = &param.child("value").children[0];
            let kind = if value.name == "int" { "i4" } else { &value.name };
            (kind.to_owned(), value.text.clone())
        });
        MethodCall { method: call.child("methodName").text.clone(), params: params.collect() }
    }

    /// Takes a parameter out, to compare it in another way.
    pub(crate) fn take(&mut self, at: usize) -> String {
        std::mem::take(&mut self.params[at].1)
    }
}

/// The same method with the same parameters.
#[track_caller]
pub(crate) fn check_call(asked: &RecordedRequest, recorded: &Exchange) {
    assert_eq!(asked.path, recorded.asked.path);
    assert_eq!(MethodCall::read(&asked.body), MethodCall::read(&recorded.asked.body));
}

pub(crate) fn tree(text: &str) -> XmlRpcNode {
    let mut reader = Reader::from_str(text);
    let mut open = vec![XmlRpcNode::default()];
    loop {
        let event = reader.read_event().unwrap();
        let inner = open.last_mut().unwrap();
        match event {
            Event::Start(start) => {
                let name = start.name().as_ref().to_owned();
                open.push(XmlRpcNode { name, ..XmlRpcNode::default() });
            }
            Event::Empty(_) => panic!("neither side writes empty elements"),
            Event::End(_) => {
                let mut node = open.pop().unwrap();
                if !node.children.is_empty() {
                    node.text.clear();
                }
                open.last_mut().unwrap().children.push(node);
            }
            Event::Text(text) => inner.text.push_str(&text.xml10_content()),
            Event::CData(text) => inner.text.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().unwrap() {
                Some(c) => inner.text.push(c),
                None => inner.text.push_str(resolve_predefined_entity(&reference).unwrap()),
            },
            Event::Eof => return open.pop().unwrap().children.pop().unwrap(),
            _ => {}
        }
    }
}
