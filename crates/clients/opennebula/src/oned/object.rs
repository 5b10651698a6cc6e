//! What all objects of `oned` have in common: an element with an id, a name and owners.

use xml::Element;

use super::super::NebulaError;
use super::super::template::NebulaTemplate;
use super::ONED;

/// An element that must have the name.
pub(super) fn named<'a>(element: &'a Element, name: &str) -> Result<&'a Element, NebulaError> {
    if element.name == name {
        return Ok(element);
    }
    Err(NebulaError::broken(ONED, format!("it answered with another object than a {name}")))
}

pub(super) fn number(element: &Element, name: &str) -> Result<i32, NebulaError> {
    let child = element.child(name).and_then(|child| child.text.trim().parse().ok());
    child.ok_or_else(|| NebulaError::broken(ONED, format!("a {} came without its {name}", element.name)))
}

/// Empty when there is none.
pub(super) fn text(element: &Element, name: &str) -> String {
    element.child(name).map(|child| child.text.clone()).unwrap_or_default()
}

/// Empty when there is none.
pub(super) fn template(element: &Element, name: &str) -> NebulaTemplate {
    element.child(name).map(NebulaTemplate::from_element).unwrap_or_default()
}
