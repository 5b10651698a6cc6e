//! The pages: an index, and one page for each API.

use std::fmt::Write;

use serde_json::Value;

use super::Document;
use super::example::{curl, reference, resolved, value};
use super::html::{anchor, escape, line, paragraphs};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Links are relative, so that they hold behind a proxy that removes a path: `up` leads to the root, `docs` to the pages.
fn frame(title: &str, body: &str, up: &str, docs: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"{docs}style.css\">\n</head>\n<body>\n\
         <header><a href=\"{up}docs\">API reference</a> <a href=\"{up}\">Console</a></header>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

pub(super) fn index(documents: &[Document]) -> String {
    let mut body = String::from(
        "<h1>API reference</h1>\n<p>Every API of this server. Send a token as <code>Authorization: Bearer pe_…</code>; \
         <code>provision-engine tokens create</code> makes one. <code>$SERVER</code> in the examples is the address of \
         this server.</p>\n<ul class=\"apis\">\n",
    );
    for document in documents {
        let count = operations(&document.api).len();
        let about = document.api["info"]["description"].as_str().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            body,
            "<li><a href=\"docs/{}\">{}</a> <small>{count} operations</small>{}</li>",
            escape(&document.name),
            escape(document.title()),
            paragraphs(about)
        );
    }
    body.push_str("</ul>\n<p>For programs: <a href=\"openapi.json\">/openapi.json</a>. Error codes: <a href=\"errors\">/errors</a>.</p>\n");
    frame("API reference", &body, "./", "docs/")
}

/// Path, method and description of every operation.
fn operations(api: &Value) -> Vec<(&str, &'static str, &Value)> {
    let paths = api["paths"].as_object().into_iter().flatten();
    let of_path = |(path, item): (&'_ String, &'_ Value)| -> Vec<(String, &'static str)> {
        METHODS
            .into_iter()
            .filter(|method| !item[*method].is_null())
            .map(|method| (path.clone(), method))
            .collect()
    };
    let names: Vec<(String, &'static str)> = paths.flat_map(of_path).collect();
    let all = api["paths"].as_object();
    names
        .into_iter()
        .filter_map(|(path, method)| {
            let (path, item) = all?.get_key_value(&path)?;
            Some((path.as_str(), method, &item[method]))
        })
        .collect()
}

pub(super) fn one(document: &Document) -> String {
    let api = &document.api;
    let all = operations(api);
    // What stands before every path.
    let base = api["servers"][0]["url"].as_str().filter(|url| url.starts_with('/')).unwrap_or_default();
    let base = base.trim_end_matches('/');
    let mut tags: Vec<&str> =
        api["tags"].as_array().into_iter().flatten().filter_map(|tag| tag["name"].as_str()).collect();
    for (_, _, operation) in &all {
        let tag = operation["tags"][0].as_str().unwrap_or("other");
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let mut body = format!("<h1>{}</h1>\n", escape(document.title()));
    body.push_str(&paragraphs(api["info"]["description"].as_str().unwrap_or_default()));
    let mut contents = String::from("<nav aria-label=\"Operations\">\n");
    let mut parts = String::new();
    for tag in tags {
        let of_tag: Vec<_> = all
            .iter()
            .filter(|(_, _, operation)| operation["tags"][0].as_str().unwrap_or("other") == tag)
            .collect();
        if of_tag.is_empty() {
            continue;
        }
        let _ = write!(contents, "<h2>{}</h2>\n<ul>\n", escape(tag));
        let _ = writeln!(parts, "<h2 id=\"{}\">{}</h2>", anchor(tag), escape(tag));
        for (path, method, operation) in of_tag {
            let path = &format!("{base}{path}");
            let id = anchor(operation["operationId"].as_str().unwrap_or(path));
            let _ = writeln!(
                contents,
                "<li><a href=\"#{id}\">{} {}</a></li>",
                method.to_uppercase(),
                escape(path)
            );
            parts.push_str(&section(api, path, method, operation, &id));
        }
        contents.push_str("</ul>\n");
    }
    contents.push_str("</nav>\n");
    body.push_str(&contents);
    body.push_str(&parts);
    body.push_str(&schemas(api));
    frame(document.title(), &body, "../", "")
}

fn section(api: &Value, path: &str, method: &str, operation: &Value, id: &str) -> String {
    let mut out = format!(
        "<section id=\"{id}\">\n<h3><span class=\"method {method}\">{}</span> <code>{}</code></h3>\n",
        method.to_uppercase(),
        escape(path)
    );
    for field in ["summary", "description"] {
        out.push_str(&paragraphs(operation[field].as_str().unwrap_or_default()));
    }
    let parameters: Vec<String> =
        operation["parameters"].as_array().into_iter().flatten().map(parameter).collect();
    out.push_str(&table(["Parameter", "In", "Type", "Meaning"], &parameters));
    let body = &operation["requestBody"]["content"];
    for (kind, content) in body.as_object().into_iter().flatten() {
        let _ = writeln!(out, "<p>Body: <code>{}</code> {}</p>", escape(kind), type_of(&content["schema"]));
        out.push_str(&members(resolved(api, &content["schema"])));
    }
    let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(&curl(api, method, path, operation)));
    let answers: Vec<String> = operation["responses"].as_object().into_iter().flatten().map(answer).collect();
    out.push_str(&table(["Status", "Body", "Meaning"], &answers));
    out.push_str(&example_answer(api, operation));
    out.push_str("</section>\n");
    out
}

fn parameter(parameter: &Value) -> String {
    let name = escape(parameter["name"].as_str().unwrap_or_default());
    let is_required = if parameter["required"] == true { " <em>required</em>" } else { "" };
    format!(
        "<td><code>{name}</code>{is_required}</td><td>{}</td><td>{}</td><td>{}</td>",
        escape(parameter["in"].as_str().unwrap_or_default()),
        type_of(&parameter["schema"]),
        line(parameter["description"].as_str().unwrap_or_default())
    )
}

fn answer((status, answer): (&String, &Value)) -> String {
    let content = answer["content"].as_object().and_then(|content| content.iter().next());
    let body = content.map_or_else(String::new, |(_, content)| type_of(&content["schema"]));
    let about = line(answer["description"].as_str().unwrap_or_default());
    format!("<td>{}</td><td>{body}</td><td>{about}</td>", escape(status))
}

/// The first good answer that is JSON.
fn example_answer(api: &Value, operation: &Value) -> String {
    let answers = operation["responses"].as_object().into_iter().flatten();
    let good = answers.filter(|(status, _)| status.starts_with('2'));
    let schema =
        good.map(|(_, answer)| &answer["content"]["application/json"]["schema"]).find(|it| !it.is_null());
    let Some(schema) = schema else { return String::new() };
    let text = serde_json::to_string_pretty(&value(api, schema, 0)).unwrap_or_default();
    format!(
        "<details><summary>Example of an answer</summary><pre><code>{}</code></pre></details>\n",
        escape(&text)
    )
}

fn schemas(api: &Value) -> String {
    let mut out = String::from("<h2 id=\"schemas\">Schemas</h2>\n");
    for (name, schema) in api["components"]["schemas"].as_object().into_iter().flatten() {
        let _ =
            writeln!(out, "<section id=\"schema-{}\">\n<h3><code>{}</code></h3>", anchor(name), escape(name));
        out.push_str(&paragraphs(schema["description"].as_str().unwrap_or_default()));
        out.push_str(&members(schema));
        out.push_str("</section>\n");
    }
    out
}

/// The members of an object, or the values of an enumeration.
fn members(schema: &Value) -> String {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let member = |(name, member): (&String, &Value)| {
        let mark = if is_required(name) { " <em>required</em>" } else { "" };
        let about = line(member["description"].as_str().unwrap_or_default());
        format!("<td><code>{}</code>{mark}</td><td>{}</td><td>{about}</td>", escape(name), type_of(member))
    };
    let rows: Vec<String> = schema["properties"].as_object().into_iter().flatten().map(member).collect();
    let values: Vec<String> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(escape).collect();
    if !values.is_empty() {
        return format!("<p>One of <code>{}</code>.</p>\n", values.join("</code>, <code>"));
    }
    table(["Member", "Type", "Meaning"], &rows)
}

/// The type of a schema in a few words, with a link to a schema of its own.
fn type_of(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        return format!("<a href=\"#schema-{}\">{}</a>", anchor(name), escape(name));
    }
    let types = &schema["type"];
    let names: Vec<&str> = match types.as_array() {
        Some(types) => types.iter().filter_map(Value::as_str).collect(),
        None => types.as_str().into_iter().collect(),
    };
    let mut text = escape(&names.join(" or "));
    if names.contains(&"array") {
        text = format!("array of {}", type_of(&schema["items"]));
    }
    for (key, word) in [("format", ""), ("default", "default "), ("minimum", "from "), ("maximum", "to ")] {
        match &schema[key] {
            Value::Null => {}
            Value::String(value) => text.extend([" ", word, &escape(value)]),
            value => text.extend([" ", word, &escape(&value.to_string())]),
        }
    }
    text
}

fn table<const N: usize>(titles: [&str; N], rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let titles = titles.map(|title| format!("<th scope=\"col\">{title}</th>")).concat();
    let rows = rows.iter().map(|row| format!("<tr>{row}</tr>\n")).collect::<Vec<_>>().concat();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_every_operation_and_escapes_what_it_prints() {
        let api = json!({
            "servers": [{"url": "/base"}],
            "info": {"title": "T <b>", "description": "About `this`."},
            "paths": {"/things/{id}": {
                "get": {"operationId": "get_thing", "summary": "One thing.", "responses": {"200": {
                    "description": "It.", "content": {"application/json": {"schema": {"$ref": "#/x/Thing"}}}}}},
                "delete": {"tags": ["other"], "responses": {"204": {"description": "<script>"}}},
            }},
            "components": {"schemas": {"Thing": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer", "minimum": 1, "description": "Its number."}}}}},
        });
        let page = one(&Document { name: "t".into(), api });
        for part in [
            "T &lt;b&gt;",
            "id=\"get_thing\"",
            "DELETE",
            "href=\"#schema-Thing\"",
            "&lt;script&gt;",
            "from 1",
            "$SERVER/base/things/{id}",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script>") && !page.contains("style="), "{page}");
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    }
}
