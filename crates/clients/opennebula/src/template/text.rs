//! The text form of a template: `NAME="value"` and `NAME=[A="x", B="y"]`.
//!
//! Only a backslash before a quote escapes anything, a value may have many lines, and a closing bracket of
//! CDATA ends it all.

use super::{Attribute, AttributeName, NebulaTemplate, Text, Unfit, Unwritable};

impl NebulaTemplate {
    /// For OneFlow 6, which takes no other form. Refuses what this form cannot carry.
    pub fn to_text(&self) -> Result<String, Unwritable> {
        let mut lines = Vec::with_capacity(self.attributes.len());
        for attribute in &self.attributes {
            lines.push(match attribute {
                Attribute::Single(name, value) => pair(name, value, name)?,
                Attribute::Vector(vector) => {
                    let pairs = vector.pairs.iter().map(|(name, value)| pair(name, value, &vector.name));
                    let pairs = pairs.collect::<Result<Vec<String>, Unwritable>>()?;
                    format!("{}=[{}]", checked(&vector.name)?, pairs.join(",\n"))
                }
            });
        }
        Ok(lines.join("\n"))
    }
}

fn pair(name: &AttributeName, value: &Text, within: &AttributeName) -> Result<String, Unwritable> {
    value.fits_text().map_err(|why| unwritable(name, within, why))?;
    Ok(format!("{}=\"{}\"", checked(name)?, value.as_str().replace('"', "\\\"")))
}

fn checked(name: &AttributeName) -> Result<&AttributeName, Unwritable> {
    if name.fits_text() { Ok(name) } else { Err(unwritable(name, name, Unfit::Name)) }
}

pub(super) fn unwritable(name: &AttributeName, within: &AttributeName, why: Unfit) -> Unwritable {
    let attribute = if name == within { name.to_string() } else { format!("{within}/{name}") };
    Unwritable { attribute, why }
}
