//! A resource, with a link to its page where it has one.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};

pub(crate) struct ResourceLink<'a> {
    pub(crate) name: &'a str,
    pub(crate) page: Option<String>,
}

impl fmt::Display for ResourceLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = escape(self.name, Html).map_err(|_| fmt::Error)?;
        match &self.page {
            Some(page) => write!(f, r#"<a href="{page}" class="long">{name}</a>"#),
            None => write!(f, r#"<span class="long">{name}</span>"#),
        }
    }
}

impl HtmlSafe for ResourceLink<'_> {}

#[cfg(test)]
mod tests {
    use crate::Pages;

    #[test]
    fn a_name_is_escaped() {
        assert!(!Pages::default().show("<b>").to_string().contains("<b>"));
    }
}
