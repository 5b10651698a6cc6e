//! Attributes of an object, as OpenNebula keeps them: an ordered list of single ones and vectors of pairs.

mod json;
mod name;
mod text;
mod value;
mod xml;

use std::fmt;

pub use self::name::{AttributeName, BadName};
pub use self::value::{Text, Unfit, Unwritable};

/// Ordered attributes. A look-up finds direct attributes only, and only by the exact name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NebulaTemplate {
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Attribute {
    Single(AttributeName, Text),
    Vector(Vector),
}

/// A named list of pairs, such as a disk.
#[derive(Clone, PartialEq, Eq)]
pub struct Vector {
    name: AttributeName,
    pairs: Vec<(AttributeName, Text)>,
}

impl Attribute {
    pub fn name(&self) -> &AttributeName {
        match self {
            Attribute::Single(name, _) => name,
            Attribute::Vector(vector) => &vector.name,
        }
    }
}

impl NebulaTemplate {
    pub fn new() -> NebulaTemplate {
        NebulaTemplate::default()
    }

    /// Takes the place of everything that has this name.
    pub fn set(&mut self, name: AttributeName, value: impl Into<Text>) {
        let place = self.attributes.iter().position(|attribute| *attribute.name() == name);
        self.remove(name.as_str());
        let place = place.unwrap_or(self.attributes.len());
        self.attributes.insert(place, Attribute::Single(name, value.into()));
    }

    /// One more vector of this name.
    pub fn push_vector(&mut self, name: AttributeName, pairs: Vec<(AttributeName, Text)>) {
        self.push(Vector { name, pairs });
    }

    /// One more vector, for example one that was copied from elsewhere.
    pub fn push(&mut self, vector: Vector) {
        self.attributes.push(Attribute::Vector(vector));
    }

    /// Takes everything away that has this name.
    pub fn remove(&mut self, name: &str) {
        self.attributes.retain(|attribute| attribute.name().as_str() != name);
    }

    /// The single attribute of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|attribute| match attribute {
            Attribute::Single(given, value) if given.as_str() == name => Some(value.as_str()),
            _ => None,
        })
    }

    /// All vectors of that name, in their order.
    pub fn vectors<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Vector> {
        self.attributes.iter().filter_map(move |attribute| match attribute {
            Attribute::Vector(vector) if vector.name.as_str() == name => Some(vector),
            _ => None,
        })
    }

    /// Everything, in its order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }
}

impl Vector {
    pub fn new(name: AttributeName) -> Vector {
        Vector { name, pairs: Vec::new() }
    }

    pub fn name(&self) -> &AttributeName {
        &self.name
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(given, _)| given.as_str() == name).map(|(_, value)| value.as_str())
    }

    /// Takes the place of the pair that has this name.
    pub fn set(&mut self, name: AttributeName, value: impl Into<Text>) {
        let value = value.into();
        match self.pairs.iter_mut().find(|(given, _)| *given == name) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.pairs.retain(|(given, _)| given.as_str() != name);
    }

    /// Everything, in its order.
    pub fn pairs(&self) -> &[(AttributeName, Text)] {
        &self.pairs
    }
}

/// Names only: values may be passwords.
impl fmt::Debug for NebulaTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.attributes).finish()
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Single(name, _) => fmt::Display::fmt(name, f),
            Attribute::Vector(vector) => fmt::Debug::fmt(vector, f),
        }
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.pairs.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "{}[{}]", self.name, names.join(", "))
    }
}
