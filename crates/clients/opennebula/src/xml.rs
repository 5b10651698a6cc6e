//! XML as OpenNebula writes it: elements and text. No attribute and no name space ever means anything.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// How deep an answer may be. A machine has six levels.
const DEPTH_MAX: usize = 32;
/// How many elements an answer may have. A page of machines has some ten thousand.
const ELEMENTS_MAX: usize = 400_000;
const NAME_BYTES_MAX: usize = 256;

/// One element: its text without the text of its children, and its children in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// Why a text is not the XML that we take. Never quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum XmlError {
    #[error("it is no whole XML, from byte {0} on")]
    Malformed(u64),
    #[error("it has a document type, which nobody needs")]
    DocType,
    #[error("it has an entity that is not one of the five, at byte {0}")]
    Entity(u64),
    #[error("it is deeper than {DEPTH_MAX} elements")]
    TooDeep,
    #[error("it has more than {ELEMENTS_MAX} elements")]
    TooMany,
}

impl Element {
    /// The first child of that name. Never a child of a child.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads one element and everything in it.
pub(super) fn read(text: &str) -> Result<Element, XmlError> {
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
                count(&mut elements)?;
                if open.len() > DEPTH_MAX {
                    return Err(XmlError::TooDeep);
                }
                open.push(element(start.name().as_ref(), at)?);
            }
            Event::Empty(start) => {
                count(&mut elements)?;
                innermost.children.push(element(start.name().as_ref(), at)?);
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

fn count(elements: &mut usize) -> Result<(), XmlError> {
    *elements += 1;
    if *elements > ELEMENTS_MAX { Err(XmlError::TooMany) } else { Ok(()) }
}

fn element(name: &str, at: u64) -> Result<Element, XmlError> {
    let readable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.len() > NAME_BYTES_MAX || !name.starts_with(begins) || !name.chars().all(readable) {
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
pub(super) fn carries(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Text between two tags. Whoever reads it gets the same characters back, a carriage return too.
pub(super) fn escape(text: &str, into: &mut String) {
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
