//! XML as the clients of this workspace read it: elements and text, in a tree of limited size. Attributes and name
//! spaces are skipped, because no answer that we read says anything in them.

#[cfg(test)]
mod tests;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// An instance of EC2 with all its network interfaces has eleven levels, a machine of OpenNebula six.
const DEPTH_MAX: usize = 32;

/// How much of an answer is read.
#[derive(Debug, Clone, Copy)]
pub struct XmlLimits {
    pub elements: usize,
    pub name_bytes: usize,
}

/// One element: its text without the text of its children, and its children in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub text: String,
    pub children: Vec<Element>,
}

/// Why a text is not the XML that we take. Never quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    #[error("it is no whole XML, from byte {0} on")]
    Malformed(u64),
    #[error("it has a document type")]
    DocType,
    #[error("it has an entity that is not one of the five, at byte {0}")]
    Entity(u64),
    #[error("it is deeper than {DEPTH_MAX} elements")]
    TooDeep,
    #[error("it has more than {0} elements")]
    TooMany(usize),
}

impl Element {
    /// The first child of that name. Never a child of a child.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The first element at the end of this path, such as `set/item`. An empty path leads to this element.
    pub fn at(&self, path: &str) -> Option<&Element> {
        path.split('/').filter(|part| !part.is_empty()).try_fold(self, Element::child)
    }

    pub fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads one element and everything in it.
pub fn read(text: &str, limits: XmlLimits) -> Result<Element, XmlError> {
    let mut reader = Reader::from_str(text);
    // What is open, from the outside in. The first one stands for the whole text.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let event = reader.read_event().map_err(|_| XmlError::Malformed(reader.error_position()))?;
        let at = reader.buffer_position();
        let Some(innermost) = open.last_mut() else { return Err(XmlError::Malformed(at)) };
        match event {
            Event::Start(start) => {
                count(&mut elements, limits)?;
                if open.len() > DEPTH_MAX {
                    return Err(XmlError::TooDeep);
                }
                open.push(element(start.name().as_ref(), limits, at)?);
            }
            Event::Empty(start) => {
                count(&mut elements, limits)?;
                innermost.children.push(element(start.name().as_ref(), limits, at)?);
            }
            Event::End(_) => {
                let whole = open.pop().ok_or(XmlError::Malformed(at))?;
                open.last_mut().ok_or(XmlError::Malformed(at))?.children.push(whole);
            }
            Event::Text(text) => innermost.text.push_str(&text.xml10_content()),
            Event::CData(text) => innermost.text.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => innermost.text.push_str(&resolve(&reference, at)?),
            Event::DocType(_) => return Err(XmlError::DocType),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => return whole(open, at),
        }
    }
}

fn count(elements: &mut usize, limits: XmlLimits) -> Result<(), XmlError> {
    *elements += 1;
    if *elements > limits.elements { Err(XmlError::TooMany(limits.elements)) } else { Ok(()) }
}

fn element(name: &str, limits: XmlLimits, at: u64) -> Result<Element, XmlError> {
    let readable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.len() > limits.name_bytes || !name.starts_with(begins) || !name.chars().all(readable) {
        return Err(XmlError::Malformed(at));
    }
    Ok(Element { name: name.to_owned(), ..Element::default() })
}

fn resolve(reference: &BytesRef<'_>, at: u64) -> Result<String, XmlError> {
    match reference.resolve_char_ref() {
        Ok(Some(c)) if carries(c) => Ok(c.to_string()),
        Ok(None) => resolve_predefined_entity(reference).map(str::to_owned).ok_or(XmlError::Entity(at)),
        Ok(Some(_)) | Err(_) => Err(XmlError::Entity(at)),
    }
}

/// The end is reached: exactly one element, and nothing around it.
fn whole(mut open: Vec<Element>, at: u64) -> Result<Element, XmlError> {
    let (Some(mut outside), true) = (open.pop(), open.is_empty()) else {
        return Err(XmlError::Malformed(at));
    };
    if outside.children.len() != 1 || !outside.text.trim().is_empty() {
        return Err(XmlError::Malformed(at));
    }
    outside.children.pop().ok_or(XmlError::Malformed(at))
}

/// XML 1.0 has no way to write the other characters, not even escaped.
pub fn carries(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Text between two tags. A reader gets the same characters back, a carriage return too.
pub fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&apos;"),
            '\r' => into.push_str("&#13;"),
            c => into.push(c),
        }
    }
}
