//! Templates: the attributes of everything in OpenNebula, in the order in which oned keeps them.

use std::collections::BTreeMap;

/// Ordered by name; attributes of one name stay in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TemplateText {
    attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// In capital letters.
    pub(crate) name: String,
    pub(crate) value: TemplateValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateValue {
    Text(String),
    Vector(Vector),
}

/// A name appears once; of two, oned keeps the first.
pub(crate) type Vector = BTreeMap<String, String>;

impl TemplateText {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter()
    }

    /// Adds an attribute beside those that have the same name.
    pub(crate) fn add(&mut self, name: &str, value: TemplateValue) {
        let name = name.to_ascii_uppercase();
        let position = self.attributes.partition_point(|attribute| attribute.name <= name);
        self.attributes.insert(position, Attribute { name, value });
    }

    /// The attribute has this text and no other value.
    pub(crate) fn set(&mut self, name: &str, text: impl Into<String>) {
        self.remove(name);
        self.add(name, TemplateValue::Text(text.into()));
    }

    pub(crate) fn set_vector(&mut self, name: &str, vector: Vector) {
        self.remove(name);
        self.add(name, TemplateValue::Vector(vector));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.attributes.retain(|attribute| attribute.name != name);
    }

    /// Takes the blanks around every value away, also inside vectors.
    pub(crate) fn trim(&mut self) {
        for attribute in &mut self.attributes {
            match &mut attribute.value {
                TemplateValue::Text(text) => *text = text.trim_matches(is_space).to_owned(),
                TemplateValue::Vector(vector) => {
                    for text in vector.values_mut() {
                        *text = text.trim_matches(is_space).to_owned();
                    }
                }
            }
        }
    }

    /// Takes the blanks after the texts of one name away.
    pub(crate) fn trim_end(&mut self, name: &str) {
        for attribute in self.attributes.iter_mut().filter(|attribute| attribute.name == name) {
            if let TemplateValue::Text(text) = &mut attribute.value {
                *text = text.trim_end_matches(is_space).to_owned();
            }
        }
    }

    /// A vector without members does not survive being stored.
    pub(crate) fn drop_empty_vectors(&mut self) {
        self.attributes.retain(
            |attribute| !matches!(&attribute.value, TemplateValue::Vector(vector) if vector.is_empty()),
        );
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.name == name)
    }

    /// The first text of this name, because that is the one that oned looks at.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().filter(|attribute| attribute.name == name).find_map(|attribute| {
            match &attribute.value {
                TemplateValue::Text(text) => Some(text.as_str()),
                TemplateValue::Vector(_) => None,
            }
        })
    }

    pub(crate) fn vectors(&self, name: &str) -> impl Iterator<Item = &Vector> {
        self.attributes.iter().filter(move |attribute| attribute.name == name).filter_map(vector)
    }

    pub(crate) fn vectors_mut(&mut self, name: &str) -> impl Iterator<Item = &mut Vector> {
        let named = self.attributes.iter_mut().filter(move |attribute| attribute.name == name);
        named.filter_map(|attribute| match &mut attribute.value {
            TemplateValue::Vector(vector) => Some(vector),
            TemplateValue::Text(_) => None,
        })
    }

    /// Takes what the other one has; its names replace all of the same name, and an empty vector only removes.
    pub(crate) fn merge(&mut self, other: TemplateText) {
        for attribute in &other.attributes {
            self.remove(&attribute.name);
        }
        for Attribute { name, value } in other.attributes {
            if !matches!(&value, TemplateValue::Vector(vector) if vector.is_empty()) {
                self.add(&name, value);
            }
        }
    }

    /// Takes the attributes of these names out of this one.
    pub(crate) fn split_off(&mut self, is_taken: impl Fn(&str) -> bool) -> TemplateText {
        let attributes = std::mem::take(&mut self.attributes);
        let (taken, kept) = attributes.into_iter().partition(|attribute| is_taken(&attribute.name));
        self.attributes = kept;
        TemplateText { attributes: taken }
    }
}

/// As C sees it.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn vector(attribute: &Attribute) -> Option<&Vector> {
    match &attribute.value {
        TemplateValue::Vector(vector) => Some(vector),
        TemplateValue::Text(_) => None,
    }
}
