//! Cuts an expression into words.

use super::{Comparison, SearchError};

/// One word, and the number of its first character, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchWord<'a> {
    pub(crate) at: usize,
    pub(crate) kind: WordKind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind<'a> {
    Plain(&'a str),
    Quoted(&'a str),
    Comparison(Comparison),
    Open,
    Close,
    And,
    Or,
    Not,
    End,
}

/// All words, and the end behind them.
pub(crate) fn words(text: &str) -> Result<Vec<SearchWord<'_>>, SearchError> {
    let (mut words, mut rest, mut at) = (Vec::new(), text, 1);
    loop {
        let trimmed = rest.trim_start();
        at += rest[..rest.len() - trimmed.len()].chars().count();
        let (kind, bytes) = word(trimmed).map_err(|(expected, found)| SearchError { at, expected, found })?;
        words.push(SearchWord { at, kind });
        if kind == WordKind::End {
            return Ok(words);
        }
        at += trimmed[..bytes].chars().count();
        rest = &trimmed[bytes..];
    }
}

/// The first word, and how many bytes it takes. Otherwise what was expected, and what was found.
fn word(text: &str) -> Result<(WordKind<'_>, usize), (String, String)> {
    let Some(first) = text.chars().next() else { return Ok((WordKind::End, 0)) };
    if let Some(comparison) = comparison(text) {
        return Ok(comparison);
    }
    match first {
        '(' => Ok((WordKind::Open, 1)),
        ')' => Ok((WordKind::Close, 1)),
        '"' | '\'' => match text[1..].find(first) {
            Some(bytes) => Ok((WordKind::Quoted(&text[1..=bytes]), bytes + 2)),
            None => Err((format!("a closing {first}"), "the end".to_owned())),
        },
        _ => {
            let bytes = text.find(|char| !is_plain(char)).unwrap_or(text.len());
            match &text[..bytes] {
                "" => Err(("a word, a number or a comparison".to_owned(), format!("{first:?}"))),
                and if and.eq_ignore_ascii_case("and") => Ok((WordKind::And, bytes)),
                or if or.eq_ignore_ascii_case("or") => Ok((WordKind::Or, bytes)),
                not if not.eq_ignore_ascii_case("not") => Ok((WordKind::Not, bytes)),
                plain => Ok((WordKind::Plain(plain), bytes)),
            }
        }
    }
}

fn comparison(text: &str) -> Option<(WordKind<'_>, usize)> {
    let all = [
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("=", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("~", Comparison::Like),
    ];
    let found = all.into_iter().find(|(sign, _)| text.starts_with(sign));
    found.map(|(sign, comparison)| (WordKind::Comparison(comparison), sign.len()))
}

fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || "._-".contains(char)
}

impl WordKind<'_> {
    /// As an error names it.
    pub(crate) fn found(self) -> String {
        match self {
            WordKind::Plain(text) | WordKind::Quoted(text) => format!("{text:?}"),
            WordKind::Comparison(_) => "a comparison".to_owned(),
            WordKind::Open => "\"(\"".to_owned(),
            WordKind::Close => "\")\"".to_owned(),
            WordKind::And => "\"and\"".to_owned(),
            WordKind::Or => "\"or\"".to_owned(),
            WordKind::Not => "\"not\"".to_owned(),
            WordKind::End => "the end".to_owned(),
        }
    }
}
