//! The text form of a template, read by the same rules as oned's own scanner and grammar.
//!
//! They are odd and that matters: what they make of a carelessly pasted value is what an attacker gets. The
//! longest match wins, a character that fits nowhere is passed over in silence, and a quotation ends at the
//! first quotation mark that no backslash precedes.

use super::release::Release;
use super::template::{TemplateText, TemplateValue, Vector};
use super::xml;

/// Reads text, or XML where the first character is `<`. The error is what oned says about it.
pub(crate) fn parse(text: &str, release: Release) -> Result<TemplateText, String> {
    let mut template = if text.starts_with('<') {
        xml::read_template(text).ok_or("Parse error: XML Template malformed.")?
    } else {
        Parser { scanner: Scanner::new(text) }.template()?
    };
    match release {
        Release::Six => template.trim_end("NAME"),
        Release::Seven => template.trim(),
    }
    Ok(template)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateToken {
    Equal,
    Comma,
    OpenBracket,
    CloseBracket,
    EqualEmpty,
    /// A value with the end of a CDATA section in it, at which oned gives up.
    Data,
    String(String),
    Variable(String),
    End,
}

impl TemplateToken {
    fn name(&self) -> &'static str {
        match self {
            TemplateToken::Equal => "EQUAL",
            TemplateToken::Comma => "COMMA",
            TemplateToken::OpenBracket => "OBRACKET",
            TemplateToken::CloseBracket => "CBRACKET",
            TemplateToken::EqualEmpty => "EQUAL_EMPTY",
            TemplateToken::Data => "CCDATA",
            TemplateToken::String(_) => "STRING",
            TemplateToken::Variable(_) => "VARIABLE",
            TemplateToken::End => "$end",
        }
    }
}

struct Scanner<'a> {
    rest: &'a str,
    /// An equals sign was seen, and a value or a bracket comes.
    expects_value: bool,
    /// Counted from 0, and the columns on through all lines, as oned does.
    line: usize,
    columns: (usize, usize),
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Scanner { rest: text, expects_value: false, line: 0, columns: (1, 1) }
    }

    fn next(&mut self) -> TemplateToken {
        while !self.rest.is_empty() {
            let (length, token) = if self.expects_value { value_at(self.rest) } else { word_at(self.rest) };
            // What fits nowhere is one character that is passed over.
            let length =
                if length == 0 { self.rest.chars().next().map_or(1, char::len_utf8) } else { length };
            let (matched, rest) = self.rest.split_at(length);
            self.rest = rest;
            self.line += matched.matches('\n').count();
            self.columns = (self.columns.1, self.columns.1 + length);
            if let Some(token) = token {
                self.expects_value = token == TemplateToken::Equal;
                return token;
            }
        }
        TemplateToken::End
    }
}

/// The longest match outside of a value, and its token.
fn word_at(text: &str) -> (usize, Option<TemplateToken>) {
    let blanks = run(text, is_blank);
    let gap = run(text, is_gap);
    let after = |length: usize, skipped: fn(char) -> bool| length + run(&text[length..], skipped);
    let word = run(text, |c| c.is_ascii_alphanumeric() || c == '_');
    if word > 0 {
        return (word, Some(TemplateToken::Variable(text[..word].to_owned())));
    }
    if text[blanks..].starts_with('#')
        && let Some(end) = text.find('\n')
    {
        return (end + 1, None);
    }
    if text[blanks..].starts_with('=') {
        let equal = after(blanks + 1, is_blank);
        let is_empty = text[equal..].starts_with('\n');
        return if is_empty {
            (equal + 1, Some(TemplateToken::EqualEmpty))
        } else {
            (equal, Some(TemplateToken::Equal))
        };
    }
    match text[gap..].chars().next() {
        Some(',') => (after(gap + 1, is_gap), Some(TemplateToken::Comma)),
        Some(']') => (after(gap + 1, is_gap), Some(TemplateToken::CloseBracket)),
        _ => (gap, None),
    }
}

/// The longest match inside of a value; of equally long ones, the first counts.
fn value_at(text: &str) -> (usize, Option<TemplateToken>) {
    let blanks = run(text, is_blank);
    let bracket =
        if text[blanks..].starts_with('[') { blanks + 1 + run(&text[blanks + 1..], is_gap) } else { 0 };
    let line = text.find('\n').unwrap_or(text.len());
    let data = if text[..line].contains("]]>") { line } else { 0 };
    let quoted = quoted_at(text);
    let bare = run(text, |c| !is_gap(c) && !matches!(c, '=' | '#' | ',' | '[' | ']'));
    let longest = bracket.max(data).max(quoted).max(bare);
    if longest == 0 {
        return (0, None);
    }
    let token = match longest {
        _ if longest == bracket => TemplateToken::OpenBracket,
        _ if longest == data => TemplateToken::Data,
        _ if longest == quoted => TemplateToken::String(text[1..quoted - 1].to_owned()),
        _ => TemplateToken::String(text[..bare].to_owned()),
    };
    (longest, Some(token))
}

/// The length of a quotation with its marks: up to the first mark without a backslash before it, or, where
/// there is none, up to the last mark.
fn quoted_at(text: &str) -> usize {
    let Some(inside) = text.strip_prefix('"') else { return 0 };
    let mut end = 0;
    for (position, _) in inside.match_indices('"') {
        end = position + 2;
        if !inside[..position].ends_with('\\') {
            break;
        }
    }
    end
}

fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_gap(c: char) -> bool {
    is_blank(c) || c == '\n'
}

struct Parser<'a> {
    scanner: Scanner<'a>,
}

impl Parser<'_> {
    fn template(mut self) -> Result<TemplateText, String> {
        let mut template = TemplateText::default();
        loop {
            let name = match self.scanner.next() {
                TemplateToken::Variable(name) => name,
                TemplateToken::End => return Ok(template),
                other => return Err(self.unexpected(&other, "$end")),
            };
            match self.scanner.next() {
                TemplateToken::EqualEmpty => template.add(&name, TemplateValue::Text(String::new())),
                TemplateToken::Equal => {
                    let value = self.value()?;
                    template.add(&name, value);
                }
                other => return Err(self.unexpected(&other, "EQUAL or EQUAL_EMPTY")),
            }
        }
    }

    fn value(&mut self) -> Result<TemplateValue, String> {
        match self.scanner.next() {
            TemplateToken::String(text) => Ok(TemplateValue::Text(unescape(&text))),
            TemplateToken::OpenBracket => self.vector().map(TemplateValue::Vector),
            TemplateToken::Data => Err("Parse error.".into()),
            other => Err(self.unexpected(&other, "OBRACKET or CCDATA or STRING")),
        }
    }

    fn vector(&mut self) -> Result<Vector, String> {
        let mut vector = Vector::new();
        let mut expected = "CBRACKET or VARIABLE";
        loop {
            let name = match self.scanner.next() {
                TemplateToken::Variable(name) => name.to_ascii_uppercase(),
                TemplateToken::CloseBracket if vector.is_empty() => return Ok(vector),
                other => return Err(self.unexpected(&other, expected)),
            };
            match self.scanner.next() {
                TemplateToken::Equal => {}
                other => return Err(self.unexpected(&other, "EQUAL")),
            }
            let text = match self.scanner.next() {
                TemplateToken::String(text) => unescape(&text),
                other => return Err(self.unexpected(&other, "STRING")),
            };
            vector.entry(name).or_insert(text);
            match self.scanner.next() {
                TemplateToken::Comma => expected = "VARIABLE",
                TemplateToken::CloseBracket => return Ok(vector),
                other => return Err(self.unexpected(&other, "COMMA or CBRACKET")),
            }
        }
    }

    fn unexpected(&self, token: &TemplateToken, expected: &str) -> String {
        let Scanner { line, columns: (first, last), .. } = self.scanner;
        let name = token.name();
        format!(
            "Parse error: syntax error, unexpected {name}, expecting {expected} at line {line}, columns {first}:{last}"
        )
    }
}

fn unescape(text: &str) -> String {
    text.replace("\\\"", "\"")
}

#[cfg(test)]
mod tests;
