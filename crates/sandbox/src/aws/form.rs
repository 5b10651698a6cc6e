//! The parameters of a call: form-encoded, with lists and structures spelled out in their names.
//!
//! Each reader takes the parameters that it knows. What is left is refused at the end, as EC2 does.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

use super::call_error::AwsError;

const FIELDS_MAX: usize = 2000;

/// More of one list makes no sense in any call here.
const ITEMS_MAX: usize = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AwsForm {
    /// What all names began with, for messages.
    prefix: String,
    fields: BTreeMap<String, String>,
}

impl AwsForm {
    pub(super) fn parse(body: &[u8]) -> Result<Self, AwsError> {
        let malformed = || AwsError::new("MalformedQueryString", "the body is not a form in UTF-8");
        let text = str::from_utf8(body).map_err(|_| malformed())?;
        let mut fields = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name).ok_or_else(malformed)?;
            let value = decode(value).ok_or_else(malformed)?;
            if fields.len() >= FIELDS_MAX {
                return Err(AwsError::new("MalformedQueryString", "there are too many parameters"));
            }
            if fields.insert(name, value).is_some() {
                return Err(AwsError::new("MalformedQueryString", "a parameter is there twice"));
            }
        }
        Ok(AwsForm { prefix: String::new(), fields })
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.fields.remove(name)
    }

    pub(super) fn need(&mut self, name: &str) -> Result<String, AwsError> {
        self.take(name).ok_or_else(|| AwsError::missing(&format!("{}{name}", self.prefix)))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, AwsError> {
        match self.take(name).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(AwsError::invalid(format!("{}{name} must be true or false", self.prefix))),
        }
    }

    pub(super) fn number<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, AwsError> {
        let parse = |text: String| {
            text.parse().map_err(|_| AwsError::invalid(format!("{}{name} must be a number", self.prefix)))
        };
        self.fields.remove(name).map(parse).transpose()
    }

    /// `name.1`, `name.2` and so on.
    pub(super) fn list(&mut self, name: &str) -> Result<Vec<String>, AwsError> {
        self.groups(name)?.into_iter().map(|mut item| item.need("")).collect()
    }

    /// `name.1.…`, `name.2.…` and so on, each as a form of its own.
    pub(super) fn groups(&mut self, name: &str) -> Result<Vec<AwsForm>, AwsError> {
        let mut groups: BTreeMap<usize, AwsForm> = BTreeMap::new();
        for (rest, value) in self.sub(name).fields {
            let (number, rest) = rest.split_once('.').unwrap_or((&rest, ""));
            let odd =
                || AwsError::invalid(format!("{}{name} is a list, and {number:?} is no number", self.prefix));
            let number = number.parse().map_err(|_| odd())?;
            let group = groups.entry(number).or_default();
            group.prefix = format!("{}{name}.{number}.", self.prefix);
            group.fields.insert(rest.to_owned(), value);
        }
        if groups.len() > ITEMS_MAX {
            return Err(AwsError::invalid(format!("{name} has more than {ITEMS_MAX} items")));
        }
        Ok(groups.into_values().collect())
    }

    /// All that begins with `name.`, without it.
    pub(super) fn sub(&mut self, name: &str) -> AwsForm {
        let prefix = format!("{name}.");
        let is_inside = |field: &String| field.starts_with(&prefix);
        let names: Vec<String> = self.fields.keys().filter(|field| is_inside(field)).cloned().collect();
        let mut inside = BTreeMap::new();
        for field in names {
            if let Some(value) = self.fields.remove(&field) {
                inside.insert(field[prefix.len()..].to_owned(), value);
            }
        }
        AwsForm { prefix: format!("{}{prefix}", self.prefix), fields: inside }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn finish(self) -> Result<(), AwsError> {
        match self.fields.first_key_value() {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("the parameter {}{name} is not known", self.prefix);
                Err(AwsError::new("UnknownParameter", message))
            }
        }
    }

    /// All that is left, in one text by which two calls can be compared.
    pub(super) fn outline(&self) -> String {
        let mut out = String::new();
        for (name, value) in &self.fields {
            // The length keeps a value from looking like another name.
            writeln!(out, "{name}={}:{value}", value.len()).expect("writing to a string cannot fail");
        }
        out
    }
}

/// Form decoding of one name or value.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let code = digit(bytes.next()?)? * 16 + digit(bytes.next()?)?;
                u8::try_from(code).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> AwsForm {
        AwsForm::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn lists_and_structures_are_spelled_out_in_names() {
        let mut form =
            form("Tag.2.Key=b&Tag.1.Key=a&Tag.1.Value=x+y%26&Id.10=j&Id.9=i&LaunchTemplate.Version=1&Z=");
        assert_eq!(form.list("Id").unwrap(), ["i", "j"]);
        let mut tags = form.groups("Tag").unwrap();
        assert_eq!(
            (tags[0].need("Key").unwrap(), tags[0].take("Value").unwrap()),
            ("a".into(), "x y&".into())
        );
        assert_eq!(tags[1].need("Value").unwrap_err().message, "the parameter Tag.2.Value is missing");
        assert_eq!(form.sub("LaunchTemplate").take("Version").as_deref(), Some("1"));
        assert_eq!(form.finish().unwrap_err().code, "UnknownParameter");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["A=%zz", "A=%f", "A=%ff", "A=1&A=2"] {
            assert_eq!(AwsForm::parse(text.as_bytes()).unwrap_err().code, "MalformedQueryString", "{text}");
        }
        let many: Vec<String> = (0..=FIELDS_MAX).map(|number| format!("A.{number}=x")).collect();
        assert!(AwsForm::parse(many.join("&").as_bytes()).is_err());
        assert!(form("A.x=1").list("A").is_err() && form("A.1.B=1").list("A").is_err());
        assert!(form("A=yes").flag("A").is_err() && form("A=x").number::<u32>("A").is_err());
    }

    #[test]
    fn an_outline_tells_calls_apart() {
        assert_eq!(form("A=1&B=2").outline(), form("B=2&A=1").outline());
        assert_ne!(form("A=1%0aB=1:2").outline(), form("A=1&B=2").outline());
    }
}
