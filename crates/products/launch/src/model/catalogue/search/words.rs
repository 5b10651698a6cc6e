//! Cuts an expression into words.

use super::{Comparison, SearchError};

/// One word, and the number of its first character, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) at: usize,
    pub(crate) kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
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
pub(crate) fn words(text: &str) -> Result<Vec<Word<'_>>, SearchError> {
    let (mut words, mut rest, mut at) = (Vec::new(), text, 1);
    loop {
        let trimmed = rest.trim_start();
        at += rest[..rest.len() - trimmed.len()].chars().count();
        let (kind, bytes) = word(trimmed).map_err(|(expected, found)| SearchError { at, expected, found })?;
        words.push(Word { at, kind });
        if kind == Kind::End {
            return Ok(words);
        }
        at += trimmed[..bytes].chars().count();
        rest = &trimmed[bytes..];
    }
}

/// The first word, and how many bytes it takes. Otherwise what was expected, and what was found.
fn word(text: &str) -> Result<(Kind<'_>, usize), (String, String)> {
    let Some(first) = text.chars().next() else { return Ok((Kind::End, 0)) };
    if let Some(comparison) = comparison(text) {
        return Ok(comparison);
    }
    match first {
        '(' => Ok((Kind::Open, 1)),
        ')' => Ok((Kind::Close, 1)),
        '"' | '\'' => match text[1..].find(first) {
            Some(bytes) => Ok((Kind::Quoted(&text[1..=bytes]), bytes + 2)),
            None => Err((format!("a closing {first}"), "the end".to_owned())),
        },
        _ => {
            let bytes = text.find(|char| !is_plain(char)).unwrap_or(text.len());
            match &text[..bytes] {
                "" => Err(("a word, a number or a comparison".to_owned(), format!("{first:?}"))),
                and if and.eq_ignore_ascii_case("and") => Ok((Kind::And, bytes)),
                or if or.eq_ignore_ascii_case("or") => Ok((Kind::Or, bytes)),
                not if not.eq_ignore_ascii_case("not") => Ok((Kind::Not, bytes)),
                plain => Ok((Kind::Plain(plain), bytes)),
            }
        }
    }
}

fn comparison(text: &str) -> Option<(Kind<'_>, usize)> {
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
    found.map(|(sign, comparison)| (Kind::Comparison(comparison), sign.len()))
}

fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || "._-".contains(char)
}

impl Kind<'_> {
    /// As an error names it.
    pub(crate) fn found(self) -> String {
        match self {
            Kind::Plain(text) | Kind::Quoted(text) => format!("{text:?}"),
            Kind::Comparison(_) => "a comparison".to_owned(),
            Kind::Open => "\"(\"".to_owned(),
            Kind::Close => "\")\"".to_owned(),
            Kind::And => "\"and\"".to_owned(),
            Kind::Or => "\"or\"".to_owned(),
            Kind::Not => "\"not\"".to_owned(),
            Kind::End => "the end".to_owned(),
        }
    }
}
