//! XML as oned reads and writes it.
//!
//! What it writes is pasted together and not escaped, so a name or a value with the right characters leaves
//! its place. What was written so is therefore read once more, before it counts.

use std::fmt::{Display, Write};

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

use super::template::{TemplateText, TemplateValue, Vector};
use super::users::{AuthenticatedUser, Permissions};

/// Deeper than everything that is ever sent.
const DEPTH_MAX: usize = 32;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum XmlNode {
    Element(Element),
    /// Plain text, with its references resolved.
    Text(String),
    /// A CDATA section, which is a node of its own even where it follows text.
    Data(String),
    Comment,
}

#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) children: Vec<XmlNode>,
}

impl Element {
    /// The child elements; text between them does not matter.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            XmlNode::Element(element) => Some(element),
            _ => None,
        })
    }

    pub(super) fn only(&self, name: &str) -> Option<&Element> {
        let mut named = self.elements();
        named.next().filter(|element| element.name == name && named.next().is_none())
    }

    /// All text directly inside.
    pub(super) fn text(&self) -> String {
        self.children.iter().filter_map(XmlNode::content).collect()
    }
}

impl XmlNode {
    fn content(&self) -> Option<&str> {
        match self {
            XmlNode::Text(text) | XmlNode::Data(text) => Some(text),
            XmlNode::Element(_) | XmlNode::Comment => None,
        }
    }
}

/// The root element of a document, or nothing where it is malformed.
pub(super) fn read(text: &str) -> Option<Element> {
    if !text.chars().all(is_allowed) {
        return None;
    }
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        let inside = open.last_mut()?;
        match reader.read_event().ok()? {
            Event::Start(start) => {
                open.push(Element { name: start.name().as_ref().to_owned(), children: Vec::new() });
                if open.len() > DEPTH_MAX {
                    return None;
                }
            }
            Event::Empty(start) => {
                let element = Element { name: start.name().as_ref().to_owned(), children: Vec::new() };
                inside.children.push(XmlNode::Element(element));
            }
            Event::End(_) => {
                let element = open.pop()?;
                open.last_mut()?.children.push(XmlNode::Element(element));
            }
            Event::Text(text) => append(inside, &one_line_end(&text)),
            Event::GeneralRef(reference) => append(inside, &resolve(&reference)?),
            Event::CData(data) => inside.children.push(XmlNode::Data(one_line_end(&data))),
            Event::Comment(_) => inside.children.push(XmlNode::Comment),
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => break,
        }
    }
    let document = open.pop().filter(|_| open.is_empty())?;
    let is_blank = |node: &XmlNode| node.content().is_none_or(|text| text.trim().is_empty());
    if !document.children.iter().all(is_blank) {
        return None;
    }
    let mut roots = document.children.into_iter().filter_map(|node| match node {
        XmlNode::Element(element) => Some(element),
        _ => None,
    });
    roots.next().filter(|_| roots.next().is_none())
}

/// XML has no control characters but these.
pub(super) fn is_allowed(c: char) -> bool {
    !c.is_control() || matches!(c, '\t' | '\n' | '\r') || c >= '\u{7f}'
}

/// A carriage return that is not written as a reference does not survive.
fn one_line_end(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn append(element: &mut Element, text: &str) {
    match element.children.last_mut() {
        Some(XmlNode::Text(before)) => before.push_str(text),
        _ => element.children.push(XmlNode::Text(text.to_owned())),
    }
}

fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    if let Some(character) = reference.resolve_char_ref().ok()? {
        return is_allowed(character).then(|| character.into());
    }
    quick_xml::escape::resolve_predefined_entity(reference).map(str::to_owned)
}

/// A template in XML. What has more than one piece of text is no attribute, and is left out without a word.
pub(super) fn read_template(text: &str) -> Option<TemplateText> {
    let root = read(text)?;
    let mut template = TemplateText::default();
    for element in root.elements() {
        if let [node] = element.children.as_slice()
            && let Some(text) = node.content()
        {
            template.add(&element.name, TemplateValue::Text(text.to_owned()));
        } else if element.elements().next().is_some() {
            template.add(&element.name, TemplateValue::Vector(read_vector(element)));
        }
    }
    Some(template)
}

fn read_vector(element: &Element) -> Vector {
    let value = |child: &Element| child.children.first().and_then(XmlNode::content).map(str::to_owned);
    element.elements().filter_map(|child| Some((child.name.to_ascii_uppercase(), value(child)?))).collect()
}

pub(super) fn write(out: &mut String, name: &str, value: impl Display) {
    write!(out, "<{name}>{value}</{name}>").expect("writing to a string cannot fail");
}

pub(super) fn write_template(out: &mut String, name: &str, template: &TemplateText) {
    let mut inside = String::new();
    for attribute in template.iter() {
        match &attribute.value {
            TemplateValue::Text(text) => write_data(&mut inside, &attribute.name, text),
            TemplateValue::Vector(vector) => {
                let mut values = String::new();
                for (name, text) in vector {
                    write_data(&mut values, name, text);
                }
                write(&mut inside, &attribute.name, values);
            }
        }
    }
    write(out, name, inside);
}

fn write_data(out: &mut String, name: &str, text: &str) {
    write(out, name, format_args!("<![CDATA[{text}]]>"));
}

/// ID, UID, GID, UNAME, GNAME and NAME, with which every object begins.
pub(super) fn write_head(out: &mut String, id: i32, owner: &AuthenticatedUser, name: &str) {
    write(out, "ID", id);
    write(out, "UID", owner.uid);
    write(out, "GID", owner.gid);
    write(out, "UNAME", &owner.name);
    write(out, "GNAME", &owner.group);
    write(out, "NAME", name);
}

pub(super) fn write_permissions(out: &mut String, permissions: Permissions) {
    *out += "<PERMISSIONS>";
    for (name, is_set) in permissions.bits() {
        write(out, name, u8::from(is_set));
    }
    *out += "</PERMISSIONS>";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_read_as_oned_reads_it() {
        let text = "<TEMPLATE>\n <name>a &amp; b</name><BODY><![CDATA[{\"x\": 1}]]></BODY><EMPTY></EMPTY>\
                    <V><K>1</K> <L><![CDATA[2]]></L><M/></V></TEMPLATE>";
        let template = read_template(text).unwrap();
        assert_eq!(template.get("NAME"), Some("a & b"));
        assert_eq!(template.get("BODY"), Some("{\"x\": 1}"));
        assert!(!template.has("EMPTY"));
        let vector = template.vectors("V").next().unwrap();
        assert_eq!(
            vector.iter().collect::<Vec<_>>(),
            [(&"K".into(), &"1".into()), (&"L".into(), &"2".into())]
        );
    }

    #[test]
    fn a_divided_section_is_no_attribute() {
        let template = read_template("<T><BODY><![CDATA[a]]]]><![CDATA[>b]]></BODY><X>1</X></T>").unwrap();
        assert!(!template.has("BODY"));
        assert_eq!(template.get("X"), Some("1"));
    }

    #[test]
    fn malformed_text_is_nothing() {
        for text in ["<TEMPLATE><NAME>", "<A>", "", "x", "<A/><B/>", "<A></B>", "<A>&nope;</A>", "<A/>x"] {
            assert!(read(text).is_none(), "{text}");
        }
        assert!(read(&"<A>".repeat(40)).is_none());
    }

    #[test]
    fn what_is_written_is_not_escaped() {
        let mut template = TemplateText::default();
        template.set("BODY", "a]]></BODY><EVIL>1</EVIL><BODY><![CDATA[");
        let mut out = String::new();
        write_template(&mut out, "TEMPLATE", &template);
        assert_eq!(read_template(&out).unwrap().get("EVIL"), Some("1"));
    }
}
