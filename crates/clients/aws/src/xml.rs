//! XML as AWS writes it, read into a tree of limited size, and small readers for what stands in it. Attributes
//! and name spaces say nothing that we need.

#[cfg(test)]
mod tests;

use std::str::FromStr;

use cloud::{Category, CloudError};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// An instance with all its network interfaces has eleven levels.
const DEPTH_MAX: usize = 32;
/// All instance types of a region in one answer are some two hundred thousand.
const ELEMENTS_MAX: usize = 600_000;
const NAME_BYTES_MAX: usize = 128;
/// Ids, names and addresses are saved and shown. The longest, a host name, has 255.
const WORD_CHARS_MAX: usize = 255;

/// Why an answer cannot be used. Never quotes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it is no whole XML, from byte {0} on")]
    Malformed(u64),
    #[error("it has a document type or an entity of its own, at byte {0}")]
    Foreign(u64),
    #[error("it is deeper than {DEPTH_MAX} elements")]
    TooDeep,
    #[error("it has more than {ELEMENTS_MAX} elements")]
    TooMany,
    #[error("{0} is missing, or is not what it should be")]
    Part(&'static str),
}

impl From<Unreadable> for CloudError {
    fn from(why: Unreadable) -> CloudError {
        CloudError::new(Category::Upstream, "", format!("AWS sent an answer that cannot be used: {why}"))
    }
}

/// One element: its own text, and its children in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// The first element at the end of this path. An empty path leads nowhere else.
    fn at(&self, path: &str) -> Option<&Element> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts
            .into_iter()
            .try_fold(self, |element, part| element.children.iter().find(|child| child.name == part))
    }

    /// The text at the end of this path, unless there is none.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.at(path).map(|element| element.text.trim()).filter(|text| !text.is_empty())
    }

    /// The same, where nothing can go on without it.
    pub(super) fn needed(&self, path: &'static str) -> Result<&str, Unreadable> {
        self.text(path).ok_or(Unreadable::Part(path))
    }

    /// A name, an id or an address: one line that can be saved and shown.
    pub(super) fn word(&self, path: &'static str) -> Result<String, Unreadable> {
        self.maybe_word(path)?.ok_or(Unreadable::Part(path))
    }

    pub(super) fn maybe_word(&self, path: &'static str) -> Result<Option<String>, Unreadable> {
        let Some(text) = self.text(path) else { return Ok(None) };
        if text.chars().count() > WORD_CHARS_MAX || text.chars().any(char::is_control) {
            return Err(Unreadable::Part(path));
        }
        Ok(Some(text.to_owned()))
    }

    pub(super) fn number<T: FromStr>(&self, path: &'static str) -> Result<T, Unreadable> {
        self.needed(path)?.parse().map_err(|_| Unreadable::Part(path))
    }

    pub(super) fn maybe_number<T: FromStr>(&self, path: &'static str) -> Result<Option<T>, Unreadable> {
        let read = |text: &str| text.parse().map_err(|_| Unreadable::Part(path));
        self.text(path).map(read).transpose()
    }

    /// The members of the list at the end of this path; a list that is not there has none.
    pub(super) fn items(&self, path: &str) -> impl Iterator<Item = &Element> {
        let children = self.at(path).map(|list| list.children.as_slice()).unwrap_or_default();
        children.iter().filter(|child| child.name == "item")
    }
}

/// Reads one element and everything in it.
pub(super) fn read(text: &str) -> Result<Element, Unreadable> {
    let mut reader = Reader::from_str(text);
    let mut tree = Tree { open: vec![Element::default()], elements: 0 };
    loop {
        let event = reader.read_event().map_err(|_| Unreadable::Malformed(reader.error_position()))?;
        let at = reader.buffer_position();
        match event {
            Event::Start(start) => tree.begin(&start, at)?,
            Event::Empty(start) => {
                tree.begin(&start, at)?;
                tree.end(at)?;
            }
            Event::End(_) => tree.end(at)?,
            Event::Text(text) => tree.write(&text.xml10_content(), at)?,
            Event::CData(text) => tree.write(&text.xml10_content(), at)?,
            Event::GeneralRef(reference) => tree.write(&resolve(&reference, at)?, at)?,
            Event::DocType(_) => return Err(Unreadable::Foreign(at)),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => return tree.whole(at),
        }
    }
}

/// What was read so far.
struct Tree {
    /// From the outside in. The first one stands for the whole text.
    open: Vec<Element>,
    elements: usize,
}

impl Tree {
    fn begin(&mut self, start: &BytesStart<'_>, at: u64) -> Result<(), Unreadable> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(Unreadable::TooMany);
        }
        if self.open.len() > DEPTH_MAX {
            return Err(Unreadable::TooDeep);
        }
        let name = start.name();
        let name: &str = name.as_ref();
        if name.len() > NAME_BYTES_MAX || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(Unreadable::Malformed(at));
        }
        self.open.push(Element { name: name.to_owned(), ..Element::default() });
        Ok(())
    }

    fn end(&mut self, at: u64) -> Result<(), Unreadable> {
        let whole = self.open.pop().ok_or(Unreadable::Malformed(at))?;
        self.open.last_mut().ok_or(Unreadable::Malformed(at))?.children.push(whole);
        Ok(())
    }

    fn write(&mut self, text: &str, at: u64) -> Result<(), Unreadable> {
        self.open.last_mut().ok_or(Unreadable::Malformed(at))?.text.push_str(text);
        Ok(())
    }

    /// The end is reached: exactly one element, and nothing around it.
    fn whole(mut self, at: u64) -> Result<Element, Unreadable> {
        match (self.open.pop(), self.open.is_empty()) {
            (Some(mut outside), true) if outside.children.len() == 1 && outside.text.trim().is_empty() => {
                outside.children.pop().ok_or(Unreadable::Malformed(at))
            }
            _ => Err(Unreadable::Malformed(at)),
        }
    }
}

fn resolve(reference: &BytesRef<'_>, at: u64) -> Result<String, Unreadable> {
    match reference.resolve_char_ref() {
        Ok(Some(c)) => Ok(c.to_string()),
        Ok(None) => resolve_predefined_entity(reference).map(str::to_owned).ok_or(Unreadable::Foreign(at)),
        Err(_) => Err(Unreadable::Foreign(at)),
    }
}
