//! Text in HTML.

/// The text with everything escaped that HTML could read.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A description: `code` between backticks, on one line.
pub(super) fn line(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a second one is itself.
    let pairs = if parts.len().is_multiple_of(2) { parts.len() - 1 } else { parts.len() };
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let escaped = escape(part);
        match at {
            at if at >= pairs => out.extend(["`", &escaped]),
            at if at % 2 == 1 => out.extend(["<code>", &escaped, "</code>"]),
            _ => out.push_str(&escaped),
        }
    }
    out
}

/// A description of several paragraphs.
pub(super) fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(|paragraph| format!("<p>{}</p>\n", line(paragraph))).collect::<Vec<_>>().concat()
}

/// What can be the end of an address on this page.
pub(super) fn anchor(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup_but_its_code() {
        assert_eq!(line("a `b<c>` & d"), "a <code>b&lt;c&gt;</code> &amp; d");
        assert_eq!(line("one ` alone"), "one ` alone");
        assert_eq!(line("`a` and ` alone"), "<code>a</code> and ` alone");
        assert_eq!(paragraphs("<script>\n\n  two "), "<p>&lt;script&gt;</p>\n<p>two</p>\n");
        assert_eq!(anchor("launches/{id}"), "launches--id-");
    }
}
