//! What a page of the console links to and offers: read from its HTML, so that no page has to be listed.

/// A form with the fields that it has when nothing is typed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageForm {
    pub(crate) action: String,
    pub(crate) is_post: bool,
    pub(crate) fields: Vec<(String, String)>,
}

/// The value of an attribute in the first tag of the text.
pub(crate) fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
    let rest = tag.split(&format!("{name}=\"")).nth(1)?;
    Some(unescaped(&rest[..rest.find('"')?]))
}

/// Pages of the console that this one links to.
pub(crate) fn links(html: &str) -> Vec<String> {
    let hrefs = html.split("href=\"").skip(1).filter_map(|rest| Some(unescaped(&rest[..rest.find('"')?])));
    hrefs.filter(|href| href.starts_with("/console")).collect()
}

pub(crate) fn forms(html: &str) -> Vec<PageForm> {
    html.split("<form").skip(1).filter_map(form).collect()
}

fn form(rest: &str) -> Option<PageForm> {
    let body = &rest[..rest.find("</form>").unwrap_or(rest.len())];
    let inputs = body.split('<').filter(|tag| {
        ["input", "button", "textarea"].iter().any(|kind| tag.starts_with(kind)) && tag.contains("name=\"")
    });
    let mut fields: Vec<(String, String)> = inputs
        .filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default())))
        .collect();
    for select in body.split("<select").skip(1) {
        let options = select.split("</select>").next()?;
        let first = options.split("<option").nth(1).and_then(|option| attribute(option, "value"));
        fields.extend(attribute(select, "name").map(|name| (name, first.unwrap_or_default())));
    }
    Some(PageForm {
        action: attribute(rest, "action")?,
        is_post: attribute(rest, "method").is_some_and(|method| method.eq_ignore_ascii_case("post")),
        fields,
    })
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&#34;", "\"").replace("&#39;", "'");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&#38;", "&").replace("&amp;", "&")
}

#[test]
fn forms_and_links_are_read() {
    let html = r#"<a class="x" href="/console/a?b=1&#38;c=2">A</a><a href="https://else.where">B</a>
        <form method="post" action="/console/go"><input type="hidden" name="id" value="7"><select name="s">
        <option value="1"><option value="2"></select><button>Go</button></form>"#;
    assert_eq!(links(html), ["/console/a?b=1&c=2"]);
    let fields = [("id", "7"), ("s", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = PageForm { action: "/console/go".into(), is_post: true, fields: fields.into() };
    assert_eq!(forms(html), [expected]);
}
