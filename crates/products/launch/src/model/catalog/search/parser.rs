//! Reads an expression: `or` binds weaker than `and`, and both weaker than `not`.

use cloud::Architecture;

use super::words::{SearchWord, WordKind, words};
use super::{Comparison, Condition, DEPTH_MAX, SearchError, SearchNumber};

pub(crate) fn parse(text: &str) -> Result<Condition, SearchError> {
    let mut parser = Parser { words: words(text)?, next: 0 };
    let condition = parser.any(0)?;
    match parser.peek() {
        WordKind::End => Ok(condition),
        _ => Err(parser.error("\"and\", \"or\" or the end")),
    }
}

struct Parser<'a> {
    /// The last one is the end.
    words: Vec<SearchWord<'a>>,
    next: usize,
}

/// What can be compared.
#[derive(Clone, Copy)]
enum SearchField {
    Number(SearchNumber),
    Name,
    Architecture,
    Supported,
}

impl<'a> Parser<'a> {
    fn any(&mut self, depth: usize) -> Result<Condition, SearchError> {
        let mut any = vec![self.all(depth)?];
        while self.take(WordKind::Or) {
            any.push(self.all(depth)?);
        }
        Ok(one_or(any, Condition::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, SearchError> {
        let mut all = vec![self.one(depth)?];
        while self.take(WordKind::And) {
            all.push(self.one(depth)?);
        }
        Ok(one_or(all, Condition::All))
    }

    fn one(&mut self, depth: usize) -> Result<Condition, SearchError> {
        if depth > DEPTH_MAX {
            return Err(self.error(&format!("at most {DEPTH_MAX} nested conditions")));
        }
        if self.take(WordKind::Not) {
            return Ok(negated(self.one(depth + 1)?));
        }
        if self.take(WordKind::Open) {
            let condition = self.any(depth + 1)?;
            return if self.take(WordKind::Close) { Ok(condition) } else { Err(self.error("\")\"")) };
        }
        match self.peek() {
            WordKind::Quoted(text) => {
                self.next += 1;
                Ok(Condition::NameHas(text.to_ascii_lowercase()))
            }
            WordKind::Plain(text) => self.comparison(text),
            _ => Err(self.error("a condition such as vcpus = 2")),
        }
    }

    /// A field, a comparison and a value; or a word that is a part of the name.
    fn comparison(&mut self, text: &str) -> Result<Condition, SearchError> {
        let is_compared = matches!(self.after_next(), WordKind::Comparison(_));
        let field = match field(text) {
            Some(field) => field,
            None if is_compared => {
                return Err(self.error("vcpus, cores, memory, storage, name, architecture or supported"));
            }
            None => {
                self.next += 1;
                return Ok(Condition::NameHas(text.to_ascii_lowercase()));
            }
        };
        self.next += 1;
        let WordKind::Comparison(is) = self.peek() else {
            return Err(self.error("=, !=, <, <=, >, >= or ~"));
        };
        match field {
            SearchField::Number(of) => self.number(of, is),
            SearchField::Name => self.name(is),
            SearchField::Architecture => self.choice(is, "x86_64 or arm64", architecture),
            SearchField::Supported => self.choice(is, "true or false", supported),
        }
    }

    fn number(&mut self, of: SearchNumber, is: Comparison) -> Result<Condition, SearchError> {
        if is == Comparison::Like {
            return Err(self.error("=, !=, <, <=, > or >="));
        }
        self.next += 1;
        let value = match self.peek() {
            WordKind::Plain(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok()
            }
            _ => None,
        };
        let value = value.ok_or_else(|| self.error("a whole number"))?;
        self.next += 1;
        Ok(Condition::Number { of, is, value })
    }

    fn name(&mut self, is: Comparison) -> Result<Condition, SearchError> {
        if !matches!(is, Comparison::Like | Comparison::Equal | Comparison::NotEqual) {
            return Err(self.error("~, = or !="));
        }
        let text = self.value("a name or a part of one")?;
        Ok(match is {
            Comparison::Like => Condition::NameHas(text.to_ascii_lowercase()),
            Comparison::Equal => Condition::NameIs(text.to_owned()),
            _ => negated(Condition::NameIs(text.to_owned())),
        })
    }

    /// One of a few words.
    fn choice(
        &mut self,
        is: Comparison,
        expected: &str,
        choose: fn(&str) -> Option<Condition>,
    ) -> Result<Condition, SearchError> {
        if !matches!(is, Comparison::Equal | Comparison::NotEqual) {
            return Err(self.error("= or !="));
        }
        let text = self.value(expected)?;
        let Some(condition) = choose(&text.to_ascii_lowercase()) else {
            self.next -= 1;
            return Err(self.error(expected));
        };
        Ok(if is == Comparison::Equal { condition } else { negated(condition) })
    }

    /// The text behind a comparison.
    fn value(&mut self, expected: &str) -> Result<&'a str, SearchError> {
        self.next += 1;
        match self.peek() {
            WordKind::Plain(text) | WordKind::Quoted(text) => {
                self.next += 1;
                Ok(text)
            }
            _ => Err(self.error(expected)),
        }
    }

    fn peek(&self) -> WordKind<'a> {
        self.word_at(self.next).1
    }

    fn after_next(&self) -> WordKind<'a> {
        self.word_at(self.next + 1).1
    }

    /// Behind the end there is the end.
    fn word_at(&self, index: usize) -> (usize, WordKind<'a>) {
        let word = self.words.get(index).or_else(|| self.words.last());
        word.map_or((1, WordKind::End), |word| (word.at, word.kind))
    }

    fn take(&mut self, kind: WordKind<'_>) -> bool {
        let is_there = self.peek() == kind;
        self.next += usize::from(is_there);
        is_there
    }

    fn error(&self, expected: &str) -> SearchError {
        let (at, kind) = self.word_at(self.next);
        SearchError { at, expected: expected.to_owned(), found: kind.found() }
    }
}

fn field(text: &str) -> Option<SearchField> {
    Some(match text.to_ascii_lowercase().as_str() {
        "vcpus" => SearchField::Number(SearchNumber::Vcpus),
        "cores" => SearchField::Number(SearchNumber::Cores),
        "memory" | "memory_mib" => SearchField::Number(SearchNumber::Memory),
        "storage" | "storage_gb" => SearchField::Number(SearchNumber::Storage),
        "name" => SearchField::Name,
        "architecture" | "arch" => SearchField::Architecture,
        "supported" => SearchField::Supported,
        _ => return None,
    })
}

fn architecture(text: &str) -> Option<Condition> {
    match text {
        "x86_64" | "amd64" => Some(Condition::Architecture(Architecture::X86_64)),
        "arm64" | "aarch64" => Some(Condition::Architecture(Architecture::Arm64)),
        _ => None,
    }
}

fn supported(text: &str) -> Option<Condition> {
    match text {
        "true" => Some(Condition::Supported),
        "false" => Some(negated(Condition::Supported)),
        _ => None,
    }
}

fn negated(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn one_or(mut all: Vec<Condition>, more: fn(Vec<Condition>) -> Condition) -> Condition {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => one,
        (last, _) => {
            all.extend(last);
            more(all)
        }
    }
}
