//! The names of the elements of an answer, in their order, with those of XML inside of its text.

use quick_xml::Reader;
use quick_xml::events::Event;

/// One line for each element, with a blank for each level.
pub(crate) fn outline(xml: &str) -> Vec<String> {
    let (mut lines, mut depth, mut text) = (Vec::new(), 0, String::new());
    walk(xml, |event| match event {
        Event::Start(start) => {
            lines.push(format!("{}{}", " ".repeat(depth), start.name().as_ref()));
            depth += 1;
            text.clear();
        }
        Event::Empty(start) => lines.push(format!("{}{}", " ".repeat(depth), start.name().as_ref())),
        Event::End(_) => {
            depth -= 1;
            if text.trim_start().starts_with('<') {
                lines.extend(outline(&text));
            }
            text.clear();
        }
        other => text.push_str(&content(other)),
    });
    lines
}

/// The text of the first `<string>`, and of the numbers behind it.
pub(crate) fn first_text(xml: &str) -> String {
    let (mut inside, mut text, mut found) = (false, String::new(), None);
    walk(xml, |event| match event {
        Event::Start(start) => {
            inside = start.name().as_ref() == "string";
            text.clear();
        }
        Event::End(_) if inside => {
            inside = false;
            found.get_or_insert_with(|| std::mem::take(&mut text));
        }
        other => text.push_str(&content(other)),
    });
    found.unwrap_or_default()
}

fn walk<'a>(xml: &'a str, mut visit: impl FnMut(&Event<'a>)) {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} in {xml}")) {
            Event::Eof => return,
            event => visit(&event),
        }
    }
}

fn content(event: &Event<'_>) -> String {
    match event {
        Event::Text(text) => text.to_string(),
        Event::CData(data) => data.to_string(),
        Event::GeneralRef(reference) => match reference.resolve_char_ref().unwrap() {
            Some(character) => character.to_string(),
            None => quick_xml::escape::resolve_predefined_entity(reference).unwrap().to_owned(),
        },
        _ => String::new(),
    }
}

/// Every path to a text in XML, such as `VM/TEMPLATE/NIC/IP`, with that text.
pub(crate) fn values(xml: &str) -> Vec<(String, String)> {
    let (mut path, mut text, mut found) = (Vec::<String>::new(), String::new(), Vec::new());
    let mut is_leaf = false;
    walk(xml, |event| match event {
        Event::Start(start) => {
            path.push(start.name().as_ref().to_owned());
            text.clear();
            is_leaf = true;
        }
        Event::End(_) => {
            if is_leaf {
                found.push((path.join("/"), std::mem::take(&mut text)));
            }
            path.pop();
            is_leaf = false;
        }
        other => text.push_str(&content(other)),
    });
    found
}
