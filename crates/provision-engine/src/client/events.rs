//! The stream of an operation's events, as server-sent events.

use std::collections::VecDeque;

use doors::wire::{End, JournalEntry};
use reqwest::{Response, Url};

use super::CallError;
use super::error::shown;

/// Nobody sends a single event as long as this.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What comes out of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum News {
    Event(Box<JournalEntry>),
    /// The operation is finished and nothing more comes.
    End(End),
}

pub(crate) struct Events {
    response: Response,
    server: Url,
    parser: Parser,
}

impl Events {
    pub(super) fn new(response: Response, server: Url) -> Events {
        Events { response, server, parser: Parser::default() }
    }

    /// The next news; nothing when the stream has ended without an end, as when the server stops.
    pub(crate) async fn next(&mut self) -> Result<Option<News>, CallError> {
        loop {
            if let Some(message) = self.parser.ready.pop_front() {
                if let Some(news) = message.read().map_err(|what| self.strange(what))? {
                    return Ok(Some(news));
                }
                continue;
            }
            match self.response.chunk().await.map_err(|error| CallError::lost(&self.server, &error))? {
                Some(chunk) => self.parser.feed(&chunk).map_err(|what| self.strange(what))?,
                None => return Ok(None),
            }
        }
    }

    fn strange(&self, what: String) -> CallError {
        CallError::Strange { server: shown(&self.server), what }
    }
}

/// One message of the stream, in the words of the standard.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Message {
    event: String,
    data: String,
}

impl Message {
    fn read(&self) -> Result<Option<News>, String> {
        let bad = |error: serde_json::Error| format!("an event that cannot be read: {error}");
        match self.event.as_str() {
            "end" => serde_json::from_str(&self.data).map(News::End).map(Some).map_err(bad),
            // The name of an event is its kind, and a newer server may know more kinds than we do.
            _ if self.data.is_empty() => Ok(None),
            _ => serde_json::from_str(&self.data).map(News::Event).map(Some).map_err(bad),
        }
    }
}

/// Puts lines and messages together from pieces that are cut anywhere.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    message: Message,
    ready: VecDeque<Message>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            self.take(&String::from_utf8_lossy(line));
        }
        if self.line.len() + self.message.data.len() > LINE_BYTES_MAX {
            return Err("an event without an end".to_owned());
        }
        Ok(())
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            if message != Message::default() {
                self.ready.push_back(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // An empty field is a comment that keeps the connection alive; the number is in the data, too.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        for piece in pieces {
            parser.feed(piece).unwrap();
        }
        parser.ready.into_iter().map(|message| (message.event, message.data)).collect()
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let text = b": hi\n\nid: 1\nevent: created\ndata: {\"a\":\ndata: \"\xc3\xa9\"}\r\n\r\n\
            event:end\ndata:x\n\nrest";
        let expected =
            [("created", "{\"a\":\n\"é\"}"), ("end", "x")].map(|(e, d)| (e.to_owned(), d.to_owned()));
        assert_eq!(messages(&[text]), expected);
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(messages(&single), expected);
    }

    #[test]
    fn the_end_is_told_from_an_event() {
        let end = Message { event: "end".into(), data: r#"{"phase":"succeeded"}"#.into() };
        assert!(matches!(end.read(), Ok(Some(News::End(End { phase })) ) if phase.is_final()));
        let event = r#"{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"created","text":"created","data":{}}"#;
        let event = Message { event: "created".into(), data: event.into() };
        assert!(matches!(event.read(), Ok(Some(News::Event(entry))) if entry.seq == 1));
        assert!(Message { event: String::new(), data: "[".into() }.read().is_err());
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 65_536];
        let result = (0..80).try_for_each(|_| parser.feed(&piece));
        assert!(result.is_err());
    }
}
