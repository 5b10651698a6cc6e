//! The JSON form of a template: single attributes are strings, vectors are arrays of objects.

use serde_json::{Map, Value};

use super::text::unwritable;
use super::{Attribute, AttributeName, NebulaTemplate, Text, Unwritable};

impl NebulaTemplate {
    /// For OneFlow 7. Refuses what does not survive the text that is made of it there.
    pub fn to_json(&self) -> Result<Value, Unwritable> {
        let mut object = Map::new();
        for attribute in &self.attributes {
            match attribute {
                Attribute::Single(name, value) => {
                    object.insert(name.to_string(), string(name, value, name)?);
                }
                Attribute::Vector(vector) => {
                    let mut pairs = Map::new();
                    for (name, value) in &vector.pairs {
                        pairs.insert(name.to_string(), string(name, value, &vector.name)?);
                    }
                    let all =
                        object.entry(vector.name.to_string()).or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(vectors) = all {
                        vectors.push(Value::Object(pairs));
                    }
                }
            }
        }
        Ok(Value::Object(object))
    }
}

fn string(name: &AttributeName, value: &Text, within: &AttributeName) -> Result<Value, Unwritable> {
    value.fits_json(name != within).map_err(|why| unwritable(name, within, why))?;
    Ok(Value::String(value.as_str().to_owned()))
}
