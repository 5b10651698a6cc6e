//! The XML form of a template.

use xml::{Element, escape};

use super::text::unwritable;
use super::{Attribute, AttributeName, NebulaTemplate, Text, Unwritable, Vector};

impl NebulaTemplate {
    /// `<TEMPLATE>…</TEMPLATE>`, with every value as escaped text. Refuses characters that XML does not have.
    pub fn to_xml(&self) -> Result<String, Unwritable> {
        let mut xml = String::from("<TEMPLATE>");
        for attribute in &self.attributes {
            match attribute {
                Attribute::Single(name, value) => push(&mut xml, name, value, name)?,
                Attribute::Vector(vector) => {
                    begin(&mut xml, &vector.name);
                    for (name, value) in &vector.pairs {
                        push(&mut xml, name, value, &vector.name)?;
                    }
                    end(&mut xml, &vector.name);
                }
            }
        }
        xml.push_str("</TEMPLATE>");
        Ok(xml)
    }

    /// The children of an element: those with children of their own are vectors.
    pub(in super::super) fn from_element(element: &Element) -> NebulaTemplate {
        let attributes = element.children.iter().map(|child| {
            let name = AttributeName::copied(&child.name);
            if child.children.is_empty() {
                return Attribute::Single(name, Text::ours(child.text.as_str()));
            }
            let pair = |pair: &Element| (AttributeName::copied(&pair.name), Text::ours(pair.text.as_str()));
            Attribute::Vector(Vector { name, pairs: child.children.iter().map(pair).collect() })
        });
        NebulaTemplate { attributes: attributes.collect() }
    }
}

fn push(
    xml: &mut String,
    name: &AttributeName,
    value: &Text,
    within: &AttributeName,
) -> Result<(), Unwritable> {
    value.fits_xml().map_err(|why| unwritable(name, within, why))?;
    begin(xml, name);
    escape(value.as_str(), xml);
    end(xml, name);
    Ok(())
}

fn begin(xml: &mut String, name: &AttributeName) {
    xml.push('<');
    xml.push_str(name.as_str());
    xml.push('>');
}

fn end(xml: &mut String, name: &AttributeName) {
    xml.push_str("</");
    xml.push_str(name.as_str());
    xml.push('>');
}
