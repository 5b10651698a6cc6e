//! Reads a password without echo.

use std::io::{self, BufRead, IsTerminal, Read, Stdin, Write};

use anyhow::{Context, Result, bail};
use engine::secret::{ExposeSecret, SecretString};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Longer than any password.
const LINE_BYTES_MAX: u64 = 4_096;

/// Typed twice where there is a terminal, else the first line of stdin.
pub(super) fn read(name: &str) -> Result<SecretString> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return line(&mut stdin.lock());
    }
    let _quiet = Quiet::new(&stdin)?;
    let first = asked(&stdin, &format!("New password of {name}"))?;
    let again = asked(&stdin, "The same again")?;
    if first.expose_secret() != again.expose_secret() {
        bail!("these were two different passwords; nothing was changed");
    }
    Ok(first)
}

/// The same for what is typed once.
pub(crate) fn once(question: &str) -> Result<SecretString> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return line(&mut stdin.lock());
    }
    let _quiet = Quiet::new(&stdin)?;
    asked(&stdin, question)
}

fn asked(stdin: &Stdin, question: &str) -> Result<SecretString> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}: ").and_then(|()| stderr.flush()).context("cannot ask")?;
    let answer = line(&mut stdin.lock());
    // Enter was not shown either.
    writeln!(stderr).context("cannot ask")?;
    answer
}

fn line(input: &mut dyn BufRead) -> Result<SecretString> {
    let mut line = String::new();
    input.take(LINE_BYTES_MAX).read_line(&mut line).context("cannot read the password")?;
    let text = line.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("nothing was typed, and stdin has no line: no password");
    }
    Ok(SecretString::from(text))
}

/// The terminal shows nothing of what is typed, until this is dropped.
struct Quiet<'a> {
    stdin: &'a Stdin,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn new(stdin: &'a Stdin) -> Result<Quiet<'a>> {
        let before = tcgetattr(stdin).context("cannot ask at this terminal")?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin, OptionalActions::Flush, &quiet).context("cannot hide what is typed")?;
        Ok(Quiet { stdin, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to show.
        let _ = tcsetattr(self.stdin, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expect: Option<&str>) {
        let found = line(&mut input.as_bytes()).ok();
        assert_eq!(found.as_ref().map(ExposeSecret::expose_secret), expect, "{input:?}");
    }

    #[test]
    fn a_password_is_one_line_and_keeps_its_spaces() {
        check("twelve herons\n", Some("twelve herons"));
        check(" twelve herons \r\nmore\n", Some(" twelve herons "));
        check("without an end", Some("without an end"));
        check("", None);
        check("\n", None);
        check("\nsecond line\n", None);
    }
}
