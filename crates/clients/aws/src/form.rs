//! The parameters of a call, as the Query API of AWS wants them.

use http_client::percent_encoded;

/// One call: what is to be done, and to what. It may hold user data and secrets, so it is never shown.
#[derive(Clone)]
pub(super) struct QueryForm {
    pub(super) action: &'static str,
    pairs: Vec<(String, String)>,
}

impl QueryForm {
    pub(super) fn new(action: &'static str) -> QueryForm {
        QueryForm { action, pairs: Vec::new() }
    }

    #[must_use]
    pub(super) fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> QueryForm {
        self.pairs.push((name.into(), value.into()));
        self
    }

    /// Left out when there is nothing to say.
    #[must_use]
    pub(super) fn maybe(self, name: &str, value: Option<&str>) -> QueryForm {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// A list: `Name.1`, `Name.2` and so on.
    #[must_use]
    pub(super) fn each<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> QueryForm {
        let numbered = (1..).zip(values);
        numbered.fold(self, |form, (number, value): (usize, _)| form.with(format!("{name}.{number}"), value))
    }

    /// The only filter of a call. Its values are taken literally.
    #[must_use]
    pub(super) fn filter<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> QueryForm {
        let values: Vec<String> = values.into_iter().map(literally).collect();
        self.with("Filter.1.Name", name).each("Filter.1.Value", values.iter().map(String::as_str))
    }

    /// What a new thing of this kind is tagged with. Specifications are numbered from 1.
    #[must_use]
    pub(super) fn tagged(self, specification: usize, kind: &str, tags: &[(&str, &str)]) -> QueryForm {
        let head = format!("TagSpecification.{specification}");
        let form = self.with(format!("{head}.ResourceType"), kind);
        (1..).zip(tags).fold(form, |form, (number, (key, value)): (usize, _)| {
            let tag = format!("{head}.Tag.{number}");
            form.with(format!("{tag}.Key"), *key).with(format!("{tag}.Value"), *value)
        })
    }

    pub(super) fn body(&self, version: &str) -> String {
        let mut body = format!("Action={}&Version={version}", self.action);
        for (name, value) in &self.pairs {
            body.push('&');
            body.push_str(&percent_encoded(name));
            body.push('=');
            body.push_str(&percent_encoded(value));
        }
        body
    }
}

/// In a filter, an asterisk and a question mark stand for other characters.
fn literally(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '*' | '?' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_written_as_the_query_api_wants_it() {
        let form = QueryForm::new("RunInstances")
            .with("UserData", "a b+c=/&ä")
            .maybe("SubnetId", None)
            .each("SecurityGroupId", ["sg-1", "sg-2"])
            .tagged(1, "instance", &[("Name", "x y"), ("k", "")]);
        let body = "Action=RunInstances&Version=2016-11-15&UserData=a%20b%2Bc%3D%2F%26%C3%A4&SecurityGroupId.1=sg-1\
                    &SecurityGroupId.2=sg-2&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=Name\
                    &TagSpecification.1.Tag.1.Value=x%20y&TagSpecification.1.Tag.2.Key=k&TagSpecification.1.Tag.2.Value=";
        assert_eq!(form.body("2016-11-15"), body);
    }

    #[test]
    fn a_filter_finds_what_it_names_and_nothing_like_it() {
        let form = QueryForm::new("DescribeInstances").filter("tag:mark", ["a*b", "c?\\"]);
        let body = "Action=DescribeInstances&Version=1&Filter.1.Name=tag%3Amark&Filter.1.Value.1=a%5C%2Ab\
                    &Filter.1.Value.2=c%5C%3F%5C%5C";
        assert_eq!(form.body("1"), body);
    }
}
