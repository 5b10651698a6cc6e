//! A stream of server-sent events.

use std::collections::VecDeque;

use reqwest::Response;
use serde::de::DeserializeOwned;

use super::{CallError, Client};

/// No single event is as long as this.
const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;

pub struct Events {
    response: Response,
    client: Client,
    parser: Parser,
}

/// One message of a stream, in the words of the standard.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Message {
    pub event: String,
    pub data: String,
}

impl Events {
    pub(super) fn new(response: Response, client: Client) -> Events {
        Events { response, client, parser: Parser::default() }
    }

    /// The next message with data; nothing when the stream has ended, as when the server stops.
    pub async fn next(&mut self) -> Result<Option<Message>, CallError> {
        loop {
            if let Some(message) = self.parser.ready.pop_front() {
                return Ok(Some(message));
            }
            match self.response.chunk().await.map_err(|error| self.client.lost(&error))? {
                Some(chunk) => self.parser.event_feed(&chunk).map_err(|what| self.client.unexpected(what))?,
                None => return Ok(None),
            }
        }
    }

    /// The data of a message.
    pub fn json<T: DeserializeOwned>(&self, message: &Message) -> Result<T, CallError> {
        let unreadable = |error| self.client.unexpected(format!("an event that cannot be read: {error}"));
        serde_json::from_str(&message.data).map_err(unreadable)
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
    fn event_feed(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            self.take(&String::from_utf8_lossy(line));
        }
        if self.line.len() + self.message.data.len() > EVENT_BYTES_MAX {
            return Err("an event without an end");
        }
        Ok(())
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            if !message.data.is_empty() {
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
            parser.event_feed(piece).unwrap();
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
    fn an_endless_line_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 65_536];
        let result = (0..80).try_for_each(|_| parser.event_feed(&piece));
        assert!(result.is_err());
    }
}
