//! The reference of the command line in Markdown, from the same texts as `--help`.

use std::fmt::Write;

use clap::{Arg, Command};

/// All commands, each with its arguments and examples.
pub fn reference(mut root: Command) -> String {
    root.build();
    let mut page = format!(
        "# Command line\n\nGenerated from the program: `{0} man --markdown`. Every command has `--help`.\n\n{1}\n\n",
        root.get_name(),
        text(root.get_about())
    );
    fenced(&mut page, &text(root.get_after_help()));
    page.push_str("## Global options\n\n");
    table(&mut page, root.get_arguments().filter(|it| it.is_global_set()));
    for command in root.get_subcommands() {
        section(&mut page, command, root.get_name(), 2);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn section(page: &mut String, command: &Command, path: &str, depth: usize) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let path = format!("{path} {}", command.get_name());
    let about = text(command.get_long_about().or(command.get_about()));
    // Writing to a string cannot fail.
    let _ = write!(page, "{} {path}\n\n{}.\n\n", "#".repeat(depth), about.trim_end_matches('.'));
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if !aliases.is_empty() {
        let _ = write!(page, "Alias: `{}`.\n\n", aliases.join("`, `"));
    }
    let own = |it: &&Arg| !it.is_global_set() && !it.is_hide_set() && it.get_id() != "help";
    let positional = command.get_positionals().map(|it| format!(" {it}")).collect::<Vec<_>>().concat();
    if command.get_subcommands().next().is_none() {
        fenced(page, &format!("{path}{positional} [OPTIONS]"));
    }
    table(page, command.get_arguments().filter(own));
    fenced(page, &text(command.get_after_help()));
    for inner in command.get_subcommands() {
        section(page, inner, &path, depth + 1);
    }
}

fn table<'a>(page: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let mut rows = arguments.peekable();
    if rows.peek().is_none() {
        return;
    }
    page.push_str("| argument | meaning |\n|---|---|\n");
    for argument in rows {
        let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
        let name = argument.to_string().replace("...", "");
        let help =
            text(argument.get_long_help().or(argument.get_help())).replace('\n', " ").replace('|', "\\|");
        let mut values: Vec<String> = Vec::new();
        if argument.get_action().takes_values() {
            values
                .extend(argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())));
        }
        let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        let defaults: Vec<String> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        let is_shown = !defaults.is_empty() && argument.get_action().takes_values();
        let default = if is_shown { format!(" [default: `{}`]", defaults.join(", ")) } else { String::new() };
        let _ = writeln!(page, "| {short}`{}` | {help}{values}{default} |", name.replace('|', "\\|"));
    }
    page.push('\n');
}

fn fenced(page: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = write!(page, "```text\n{}\n```\n\n", text.trim_end());
    }
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}
