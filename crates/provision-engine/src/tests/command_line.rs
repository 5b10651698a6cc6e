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

fn check(command: &clap::Command, path: &str) {
    assert!(command.get_about().is_some(), "{path} has no help");
    for argument in command.get_arguments() {
        assert!(argument.get_help().is_some(), "{path} {} has no help", argument.get_id());
    }
    for inner in command.get_subcommands() {
        check(inner, &format!("{path} {}", inner.get_name()));
    }
}
