//! The text form of a template, read the way `oned` reads it: the longest match wins, and between two that are
//! equally long, the first.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Single(String, String),
    Vector(String, Vec<(String, String)>),
}

/// All attributes, or where it cannot be read.
pub(crate) fn parse(text: &str) -> Result<Vec<Parsed>, String> {
    let mut rest = Scanner { rest: text };
    let mut attributes = Vec::new();
    loop {
        rest.skip_blanks_and_comments();
        if rest.rest.is_empty() {
            return Ok(attributes);
        }
        let name = rest.name()?;
        attributes.push(match rest.equal()? {
            Equal::Empty => Parsed::Single(name, String::new()),
            Equal::Vector => Parsed::Vector(name, rest.pairs()?),
            Equal::Value => Parsed::Single(name, rest.value()?),
        });
    }
}

struct Scanner<'a> {
    rest: &'a str,
}

enum Equal {
    Empty,
    Vector,
    Value,
}

const BLANK: [char; 2] = [' ', '\t'];
const WHITE: [char; 3] = [' ', '\t', '\n'];

impl Scanner<'_> {
    fn skip_blanks_and_comments(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(WHITE);
            match self.rest.strip_prefix('#').and_then(|comment| comment.split_once('\n')) {
                Some((_, after)) => self.rest = after,
                None => return,
            }
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name.is_empty() { Err(format!("no name before {rest:?}")) } else { Ok(name.to_uppercase()) }
    }

    fn equal(&mut self) -> Result<Equal, String> {
        let rest = self.rest.trim_start_matches(BLANK);
        let rest = rest.strip_prefix('=').ok_or_else(|| format!("no = before {rest:?}"))?;
        let rest = rest.trim_start_matches(BLANK);
        if let Some(rest) = rest.strip_prefix('\n') {
            self.rest = rest;
            return Ok(Equal::Empty);
        }
        self.rest = rest;
        // A line with this in it is longer than the bracket.
        if self.line().contains("]]>") {
            return Err("the end of CDATA".to_owned());
        }
        if let Some(rest) = rest.strip_prefix('[') {
            self.rest = rest.trim_start_matches(WHITE);
            return Ok(Equal::Vector);
        }
        Ok(Equal::Value)
    }

    fn pairs(&mut self) -> Result<Vec<(String, String)>, String> {
        let mut pairs = Vec::new();
        loop {
            self.skip_blanks_and_comments();
            if let Some(rest) = self.rest.strip_prefix(']') {
                self.rest = rest;
                return Ok(pairs);
            }
            if !pairs.is_empty() {
                self.rest = self.rest.strip_prefix(',').ok_or("no comma")?.trim_start_matches(WHITE);
            }
            let name = self.name()?;
            let value = match self.equal()? {
                Equal::Value => self.value()?,
                Equal::Empty => String::new(),
                Equal::Vector => return Err("a vector in a vector".to_owned()),
            };
            pairs.push((name, value));
        }
    }

    fn value(&mut self) -> Result<String, String> {
        let quoted = self.quoted();
        if self.line().contains("]]>") && self.line().len() >= quoted.unwrap_or(0) {
            return Err("the end of CDATA".to_owned());
        }
        let bare = self.rest.find(|c| "=# \t\n,[]".contains(c)).unwrap_or(self.rest.len());
        let end = quoted.unwrap_or(0).max(bare);
        if end == 0 {
            return Err(format!("no value before {:?}", self.rest));
        }
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        if quoted == Some(end) {
            return Ok(value[1..end - 1].replace("\\\"", "\""));
        }
        Ok(value.to_owned())
    }

    /// Where the longest quoted value ends. A quote after a backslash can be a part of it or its end.
    fn quoted(&self) -> Option<usize> {
        let inside = self.rest.strip_prefix('"')?;
        let mut end = None;
        for (at, _) in inside.match_indices('"') {
            end = Some(at + 2);
            if !inside[..at].ends_with('\\') {
                break;
            }
        }
        end
    }

    fn line(&self) -> &str {
        self.rest.split('\n').next().unwrap_or_default()
    }
}

#[test]
fn it_reads_what_was_recorded() {
    let text = "HOT_RESIZE=[CPU_HOT_ADD_ENABLED=YES,\nMEMORY_HOT_ADD_ENABLED=YES]\nCPU=2\n\
                CONTEXT=[NETWORK=\"YES\",\nSR_AUTH=\"YTpi\n\"]\nDEVICE_INFO=[]\nFLAVOURS=\"1\"";
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let yes = vec![pair("CPU_HOT_ADD_ENABLED", "YES"), pair("MEMORY_HOT_ADD_ENABLED", "YES")];
    let expected = vec![
        Parsed::Vector("HOT_RESIZE".to_owned(), yes),
        Parsed::Single("CPU".to_owned(), "2".to_owned()),
        Parsed::Vector("CONTEXT".to_owned(), vec![pair("NETWORK", "YES"), pair("SR_AUTH", "YTpi\n")]),
        Parsed::Vector("DEVICE_INFO".to_owned(), Vec::new()),
        Parsed::Single("FLAVOURS".to_owned(), "1".to_owned()),
    ];
    assert_eq!(parse(text), Ok(expected));
}

#[test]
fn it_falls_for_what_oned_falls_for() {
    let injected = parse("RANK=\"x\"]\nMEMORY=\"9\"").unwrap_err();
    assert!(injected.contains("no name"), "{injected}");
    assert_eq!(parse("A=\"x\"\nB=\"y\"").unwrap().len(), 2);
    // The backslash takes the closing quote away, and the next attribute with it.
    assert_eq!(parse("A=\"x\\\"\nB=\"y\"").unwrap_err(), "no = before \"\\\"\"");
    assert_eq!(parse("A=\"x]]>\"").unwrap_err(), "the end of CDATA");
}
