//! The command line of the whole program.

use app::cli::Cli;

#[test]
fn the_command_line_makes_sense() {
    Cli::command(&crate::app()).debug_assert();
}

#[test]
fn every_command_and_every_argument_has_help() {
    check(&Cli::command(&crate::app()), "provision-engine");
}

#[test]
fn every_command_that_does_something_has_examples() {
    fn check(command: &clap::Command, path: &str) {
        let has_examples =
            command.get_after_help().is_some_and(|help| help.to_string().contains("Examples:\n  "));
        assert!(has_examples, "{path} has no examples");
        for inner in command.get_subcommands() {
            check(inner, &format!("{path} {}", inner.get_name()));
        }
    }
    check(&Cli::command(&crate::app()), "provision-engine");
}

/// `UPDATE=1 cargo test -p provision-engine --lib command_line` writes it anew.
#[test]
fn the_reference_page_is_what_the_program_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    let page = app::cmd::reference::reference(Cli::command(&crate::app()));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let saved = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        saved == page,
        "docs/reference/cli.md is old: run UPDATE=1 cargo test -p provision-engine --lib command_line"
    );
}

fn check(command: &clap::Command, path: &str) {
    assert!(command.get_about().is_some(), "{path} has no help");
    for argument in command.get_arguments() {
        assert!(argument.get_help().is_some(), "{path} {} has no help", argument.get_id());
    }
    for inner in command.get_subcommands() {
        check(inner, &format!("{path} {}", inner.get_name()));
    }
}
