//! Commands in messages, with the flags by which this process found its server: they can be pasted as they are.

use std::sync::OnceLock;

const NAME: &str = "provision-engine";

static CALL: OnceLock<Call> = OnceLock::new();

/// How this program was called.
#[derive(Debug, Default)]
pub struct Call {
    pub name: &'static str,
    /// The flags that every further command needs.
    pub flags: Vec<(&'static str, String)>,
}

impl Call {
    /// From now on commands in messages have these flags.
    pub fn remember(self) {
        // A process parses one command line.
        let _ = CALL.set(self);
    }

    fn with(&self, words: &str) -> String {
        let is_new = |(flag, _): &&(&str, String)| !words.split(' ').any(|word| word == *flag);
        let flags =
            self.flags.iter().filter(is_new).map(|(flag, value)| format!(" {flag} {}", quoted(value)));
        format!("{} {words}{}", self.name, flags.collect::<String>())
    }
}

/// The whole command line of a command of this program, such as `operations watch ID`.
pub fn command(words: &str) -> String {
    match CALL.get() {
        Some(call) => call.with(words),
        None => format!("{NAME} {words}"),
    }
}

/// The same for commands in backticks in a text of the server, which does not know how it was reached.
pub fn in_text(text: &str) -> String {
    replaced(text, command)
}

fn replaced(text: &str, command: impl Fn(&str) -> String) -> String {
    let start = format!("`{NAME} ");
    let mut parts = text.split(&start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('`');
        match part.split_once('`') {
            Some((words, rest)) => {
                out.push_str(&command(words));
                out.push('`');
                out.push_str(rest);
            }
            None => out.extend([NAME, " ", part]),
        }
    }
    out
}

/// As a shell reads it back.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=,~".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_keeps_the_flags_of_this_process() {
        let flags = vec![("--data-dir", "/tmp/my data".to_owned()), ("--context", "prod".to_owned())];
        let call = Call { name: NAME, flags };
        assert_eq!(
            call.with("explain ID"),
            "provision-engine explain ID --data-dir '/tmp/my data' --context prod"
        );
        // A text may have a command that has them already.
        let whole = call.with("explain ID");
        assert_eq!(call.with(whole.trim_start_matches("provision-engine ")), whole);
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn commands_in_a_text_are_found_and_the_rest_stays() {
        let text = "`provision-engine status` and `provision-engine plan`";
        assert_eq!(replaced(text, str::to_uppercase), "`STATUS` and `PLAN`");
        for text in ["`provision-engine status` shows it, `x` too", "nothing", "`provision-engine open", ""] {
            assert_eq!(replaced(text, |words| format!("{NAME} {words}")), text);
        }
    }
}
