//! XML as EC2 and STS write it: elements without attributes, and lists of `item`.

use std::fmt::Display;

use quick_xml::escape::escape;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

const MOMENT: &[FormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

#[derive(Debug, Default)]
pub(super) struct Xml {
    out: String,
}

impl Xml {
    /// What was written inside one closure, as text.
    pub(super) fn of(write: impl FnOnce(&mut Xml)) -> String {
        let mut xml = Xml::default();
        write(&mut xml);
        xml.out
    }

    pub(super) fn leaf(&mut self, name: &str, value: impl Display) {
        let value = value.to_string();
        self.branch(name, |xml| xml.out += &escape(value.as_str()));
    }

    /// Nothing at all where there is no value.
    pub(super) fn maybe(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.leaf(name, value);
        }
    }

    pub(super) fn moment(&mut self, name: &str, at: OffsetDateTime) {
        self.leaf(name, moment(at));
    }

    pub(super) fn branch(&mut self, name: &str, inside: impl FnOnce(&mut Xml)) {
        for part in ["<", name, ">"] {
            self.out += part;
        }
        inside(self);
        for part in ["</", name, ">"] {
            self.out += part;
        }
    }

    pub(super) fn items<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Xml, T),
    ) {
        self.branch(name, |xml| {
            for item in items {
                xml.branch("item", |xml| write(xml, item));
            }
        });
    }

    /// A list of plain texts.
    pub(super) fn texts<T: Display>(&mut self, name: &str, texts: impl IntoIterator<Item = T>) {
        self.branch(name, |xml| texts.into_iter().for_each(|text| xml.leaf("item", text)));
    }

    pub(super) fn tags<'a>(&mut self, tags: impl IntoIterator<Item = (&'a String, &'a String)>) {
        self.items("tagSet", tags, |xml, (key, value)| {
            xml.leaf("key", key);
            xml.leaf("value", value);
        });
    }
}

pub(super) fn moment(at: OffsetDateTime) -> String {
    at.format(MOMENT).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let text = Xml::of(|xml| {
            xml.leaf("a", "</a><b>&");
            xml.texts("set", ["x", "y"]);
            xml.maybe("none", None::<u8>);
            xml.moment("at", OffsetDateTime::UNIX_EPOCH);
        });
        let expected = "<a>&lt;/a&gt;&lt;b&gt;&amp;</a><set><item>x</item><item>y</item></set>\
                        <at>1970-01-01T00:00:00.000Z</at>";
        assert_eq!(text, expected);
    }
}
