//! Questions at the terminal.

use std::io::{BufRead, IsTerminal, Read, Write};

use anyhow::{Context, Result, bail};

use crate::output::printable;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 4_096;
/// Who has not understood by then is not a person.
const TRIES_MAX: usize = 20;

/// Whether stdin and stderr are terminals, so that the user can be asked.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks about something that cannot be undone. Without a terminal to ask on, only `--yes` will do.
pub fn is_meant(question: &str) -> Result<bool> {
    if !is_interactive() {
        bail!("{question} stdin is no terminal: give --yes");
    }
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
    let answer = Asker::new(&mut input, &mut output).line(&format!("{question} [y/N]"), None)?;
    Ok(answer.is_some_and(|answer| is_yes(&answer)))
}

/// The same where only stdin has to be a terminal. `otherwise` is the error where it is none.
pub fn is_meant_or(question: &str, otherwise: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("{otherwise}: give --yes");
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush()).context("cannot ask")?;
    let mut answer = String::new();
    std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut answer).context("cannot read the answer")?;
    Ok(is_yes(answer.trim()))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// One of several things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What can be typed instead of its number.
    pub key: String,
    /// What people should know about it.
    pub about: String,
}

/// What came of a question that may be answered freely.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked {
    Choice(usize),
    Words(String),
}

pub struct Asker<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl<'a> Asker<'a> {
    pub fn new(input: &'a mut dyn BufRead, output: &'a mut dyn Write) -> Asker<'a> {
        Asker { input, output }
    }

    pub fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.output, "{text}").context("cannot ask")
    }

    /// A line of text; an empty one means the default, and nothing where there is none.
    pub fn line(&mut self, question: &str, default: Option<&str>) -> Result<Option<String>> {
        let shown = default.map(|default| format!(" [{}]", printable(default))).unwrap_or_default();
        write!(self.output, "{question}{shown}: ")
            .and_then(|()| self.output.flush())
            .context("cannot ask")?;
        let mut line = String::new();
        (&mut *self.input).take(LINE_BYTES_MAX).read_line(&mut line).context("cannot read the answer")?;
        if line.is_empty() {
            bail!("the answers ended before everything was said; nothing was done");
        }
        let line = line.trim();
        Ok(if line.is_empty() { default.map(str::to_owned) } else { Some(line.to_owned()) })
    }

    /// A number from the list, or anything else.
    pub fn pick(&mut self, question: &str, choices: &[Choice], default: Option<usize>) -> Result<Picked> {
        let width = choices.iter().map(|choice| choice.key.chars().count()).max().unwrap_or(0);
        for (index, Choice { key, about }) in choices.iter().enumerate() {
            let line = format!("  {:>2}  {:width$}  {}", index + 1, printable(key), printable(about));
            self.say(line.trim_end())?;
        }
        let default = default.map(|index| (index + 1).to_string());
        for _ in 0..TRIES_MAX {
            let Some(answer) = self.line(question, default.as_deref())? else { continue };
            match answer.parse::<usize>() {
                Ok(number) if (1..=choices.len()).contains(&number) => return Ok(Picked::Choice(number - 1)),
                Ok(_) if !choices.is_empty() => {
                    self.say(&format!("say a number from 1 to {}", choices.len()))?;
                }
                _ => {
                    let known = choices.iter().position(|choice| choice.key == answer);
                    return Ok(known.map_or(Picked::Words(answer), Picked::Choice));
                }
            }
        }
        bail!("{question}: no answer fits; nothing was launched")
    }

    /// One of the list and nothing else.
    pub fn choose(&mut self, question: &str, choices: &[Choice], default: Option<usize>) -> Result<usize> {
        for _ in 0..TRIES_MAX {
            match self.pick(question, choices, default)? {
                Picked::Choice(index) => return Ok(index),
                Picked::Words(_) => self.say("say one of the numbers")?,
            }
        }
        bail!("{question}: no answer fits; nothing was launched")
    }

    /// A whole number in a range.
    pub fn number(&mut self, question: &str, default: u32, most: u32) -> Result<u32> {
        for _ in 0..TRIES_MAX {
            let answer = self.line(question, Some(&default.to_string()))?;
            match answer.and_then(|answer| answer.parse().ok()).filter(|number| (1..=most).contains(number)) {
                Some(number) => return Ok(number),
                None => self.say(&format!("say a number from 1 to {most}"))?,
            }
        }
        bail!("{question}: no answer fits; nothing was launched")
    }

    pub fn confirm(&mut self, question: &str) -> Result<bool> {
        let answer = self.line(&format!("{question} [Y/n]"), None)?;
        Ok(answer.is_none_or(|answer| is_yes(&answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an asker makes of these lines, and what it has said.
    fn asked<T>(lines: &str, ask: impl FnOnce(&mut Asker<'_>) -> Result<T>) -> (Result<T>, String) {
        let (mut input, mut output) = (lines.as_bytes(), Vec::new());
        let answer = ask(&mut Asker::new(&mut input, &mut output));
        (answer, String::from_utf8(output).unwrap())
    }

    fn choices() -> Vec<Choice> {
        ["one", "two"].map(|key| Choice { key: key.into(), about: format!("the {key}") }).to_vec()
    }

    #[test]
    fn a_choice_is_a_number_a_name_or_the_default() {
        let pick = |lines: &str, default| asked(lines, |asker| asker.pick("Which", &choices(), default));
        let (picked, said) = pick("2\n", None);
        assert_eq!(picked.unwrap(), Picked::Choice(1));
        assert_eq!(said, "   1  one  the one\n   2  two  the two\nWhich: ");
        assert_eq!(pick("one\n", None).0.unwrap(), Picked::Choice(0));
        assert_eq!(pick("\n", Some(1)).0.unwrap(), Picked::Choice(1));
        assert_eq!(pick(" something else \n", None).0.unwrap(), Picked::Words("something else".into()));
        let (picked, said) = pick("3\n0\n\n1\n", None);
        assert_eq!(picked.unwrap(), Picked::Choice(0));
        assert_eq!(said.matches("from 1 to 2").count(), 2, "{said}");
        let (chosen, said) = asked("three\n2\n", |asker| asker.choose("Which", &choices(), None));
        assert!(chosen.unwrap() == 1 && said.contains("one of the numbers"), "{said}");
    }

    #[test]
    fn numbers_have_limits_and_lines_have_defaults() {
        let (number, said) = asked("0\n46\nmany\n45\n", |asker| asker.number("How many", 1, 45));
        assert_eq!(number.unwrap(), 45);
        assert_eq!(said.matches("from 1 to 45").count(), 3, "{said}");
        assert_eq!(asked("\n", |asker| asker.number("How many", 1, 45)).0.unwrap(), 1);
        assert_eq!(asked("\n", |asker| asker.line("Name", None)).0.unwrap(), None);
        assert_eq!(asked("\n", |asker| asker.line("Name", Some("d"))).0.unwrap().as_deref(), Some("d"));
        for (lines, expected) in [("\n", true), ("Y\n", true), ("n\n", false), ("what\n", false)] {
            assert_eq!(asked(lines, |asker| asker.confirm("Launch?")).0.unwrap(), expected, "{lines}");
        }
    }

    #[test]
    fn answers_that_end_or_never_fit_launch_nothing() {
        let gone = asked("", |asker| asker.line("Name", Some("d"))).0.unwrap_err();
        assert!(gone.to_string().contains("nothing was done"), "{gone}");
        let lines = "9\n".repeat(100);
        assert!(asked(&lines, |asker| asker.pick("Which", &choices(), None)).0.is_err());
        assert!(asked(&lines, |asker| asker.number("How many", 1, 3)).0.is_err());
    }
}
