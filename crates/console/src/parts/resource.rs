//! What an operation works on, with the way to its page where it has one.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};
use uuid::Uuid;

use crate::path;

pub(crate) struct Resource<'a>(pub(crate) &'a str);

impl Resource<'_> {
    /// The name of a resource tells what it is.
    pub(crate) fn page(&self) -> Option<String> {
        let (kind, name) = self.0.split_once(':')?;
        match kind {
            "runtime" => Some(format!("/console/runtimes/{}", path::part(name))),
            "binding" => {
                let (runtime, _) = name.split_once('/')?;
                Some(format!("/console/runtimes/{}", path::part(runtime)))
            }
            "launch" => {
                let launch = Uuid::try_parse(name.split(':').next()?).ok()?;
                Some(format!("/console/launches/{launch}"))
            }
            "serverless" => {
                let document: u32 = name.parse().ok()?;
                Some(format!("/console/serverless/{document}"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = escape(self.0, Html).map_err(|_| fmt::Error)?;
        match self.page() {
            Some(page) => write!(f, r#"<a href="{page}" class="long">{name}</a>"#),
            None => write!(f, r#"<span class="long">{name}</span>"#),
        }
    }
}

impl HtmlSafe for Resource<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_the_page_of_what_it_names() {
        for (name, page) in [
            ("runtime:9db2", Some("/console/runtimes/9db2")),
            ("runtime:a/b?c", Some("/console/runtimes/a%2Fb%3Fc")),
            ("binding:one/two", Some("/console/runtimes/one")),
            (
                "launch:01a1e3ec172177f3a879e1c416a6200e",
                Some("/console/launches/01a1e3ec-1721-77f3-a879-e1c416a6200e"),
            ),
            (
                "launch:01a1e3ec172177f3a879e1c416a6200e:instance:i-1",
                Some("/console/launches/01a1e3ec-1721-77f3-a879-e1c416a6200e"),
            ),
            ("serverless:20", Some("/console/serverless/20")),
            ("serverless:new:605d305d-42a2-44f0-b4bb-efb93c586c82", None),
            ("source-check:default:sandbox", None),
            ("anything", None),
        ] {
            assert_eq!(Resource(name).page().as_deref(), page, "{name}");
        }
        assert!(!Resource("<b>").to_string().contains("<b>"));
    }
}
