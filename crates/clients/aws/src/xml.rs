//! Reads values from XML answers of AWS.

#[cfg(test)]
mod tests;

use std::str::FromStr;

use cloud::{Category, CloudError};
use xml::{XmlError, XmlLimits};

pub(super) use xml::Element;

/// All instance types of a region in one answer are some two hundred thousand elements.
const LIMITS: XmlLimits = XmlLimits { elements: 600_000, name_bytes: 128 };
/// Ids, names and addresses are saved and shown. The longest, a host name, has 255.
const WORD_CHARS_MAX: usize = 255;

/// Why an answer cannot be used. Never quotes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResponseXmlError {
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error("{0} is missing, or is not what it should be")]
    Part(&'static str),
}

impl From<ResponseXmlError> for CloudError {
    fn from(why: ResponseXmlError) -> CloudError {
        CloudError::new(Category::Upstream, "", format!("AWS sent an answer that cannot be used: {why}"))
    }
}

/// Reads one element and everything in it.
pub(super) fn read(text: &str) -> Result<Element, ResponseXmlError> {
    Ok(xml::read(text, LIMITS)?)
}

/// What stands at the end of a path.
pub(super) trait Parts {
    /// The text at the end of this path, unless there is none.
    fn text(&self, path: &str) -> Option<&str>;

    /// The same, where nothing can go on without it.
    fn needed(&self, path: &'static str) -> Result<&str, ResponseXmlError>;

    /// A name, an id or an address: one line that can be saved and shown.
    fn word(&self, path: &'static str) -> Result<String, ResponseXmlError>;

    fn maybe_word(&self, path: &'static str) -> Result<Option<String>, ResponseXmlError>;

    fn number<T: FromStr>(&self, path: &'static str) -> Result<T, ResponseXmlError>;

    fn maybe_number<T: FromStr>(&self, path: &'static str) -> Result<Option<T>, ResponseXmlError>;

    /// The members of the list at the end of this path; a list that is not there has none.
    fn items(&self, path: &str) -> impl Iterator<Item = &Element>;
}

impl Parts for Element {
    fn text(&self, path: &str) -> Option<&str> {
        self.at(path).map(|element| element.text.trim()).filter(|text| !text.is_empty())
    }

    fn needed(&self, path: &'static str) -> Result<&str, ResponseXmlError> {
        self.text(path).ok_or(ResponseXmlError::Part(path))
    }

    fn word(&self, path: &'static str) -> Result<String, ResponseXmlError> {
        self.maybe_word(path)?.ok_or(ResponseXmlError::Part(path))
    }

    fn maybe_word(&self, path: &'static str) -> Result<Option<String>, ResponseXmlError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        if text.chars().count() > WORD_CHARS_MAX || text.chars().any(char::is_control) {
            return Err(ResponseXmlError::Part(path));
        }
        Ok(Some(text.to_owned()))
    }

    fn number<T: FromStr>(&self, path: &'static str) -> Result<T, ResponseXmlError> {
        self.needed(path)?.parse().map_err(|_| ResponseXmlError::Part(path))
    }

    fn maybe_number<T: FromStr>(&self, path: &'static str) -> Result<Option<T>, ResponseXmlError> {
        let read = |text: &str| text.parse().map_err(|_| ResponseXmlError::Part(path));
        self.text(path).map(read).transpose()
    }

    fn items(&self, path: &str) -> impl Iterator<Item = &Element> {
        let children = self.at(path).map(|list| list.children.as_slice()).unwrap_or_default();
        children.iter().filter(|child| child.name == "item")
    }
}
