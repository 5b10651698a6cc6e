//! What a program gets from a product that it lists.

use std::sync::Arc;

use ::config::Preset::Is;
use ::config::file::BaseFile;
use ::config::{EffectiveValue, Section, SectionReader, Setting, TreeNode, ValueKind, ValueSource, set};
use async_trait::async_trait;
use clap::Args;

use super::*;

struct Letters;

struct Settings {
    greeting: String,
}

impl Section for Settings {
    const SETTINGS: &'static [Setting] =
        &[set("letters.greeting", Is("hello"), ValueKind::Text, "The first word.")];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings { greeting: settings.get("letters.greeting") }
    }
}

/// Write a letter
#[derive(Debug, Args)]
struct LettersArgs {
    /// How often
    #[arg(long)]
    times: u8,
}

#[async_trait]
impl Product for Letters {
    type Settings = Settings;

    fn removed_settings() -> &'static [&'static str] {
        &["letters.paper"]
    }

    fn base_file() -> Option<BaseFile> {
        Some(BaseFile {
            variable: "LETTERS_CONF",
            installed: "/etc/letters.conf",
            lay_over: |layers, path, text| {
                let node = TreeNode::text(String::from_utf8_lossy(text));
                let source = ValueSource::File(path.display().to_string().into());
                layers.found.insert("letters.greeting".to_owned(), EffectiveValue { node, source });
                Arc::new(text.len())
            },
        })
    }

    async fn open(_: &Settings, _: &Platform<'_>) -> Result<Letters> {
        Ok(Letters)
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        engine
    }

    fn commands(commands: &mut Commands) {
        commands.add("letters", |_, args: &LettersArgs| Ok(Exit(args.times)));
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        engine
    }
}

fn app() -> App {
    App::new("post").product::<Letters>()
}

fn load(base: Option<&Path>, flags: &[(&str, &str)]) -> (Config, Vec<Warning>) {
    let flags: Vec<_> = flags.iter().map(|(path, text)| (String::from(*path), String::from(*text))).collect();
    app().load_installed(Some(Path::new("/dev/null")), base, std::iter::empty(), &flags).unwrap()
}

fn greeting(config: &Config) -> &str {
    &config.section::<Settings>().greeting
}

#[test]
fn its_settings_are_part_of_the_configuration() {
    let (config, warnings) = load(None, &[("letters.greeting", "hi"), ("letters.paper", "a4")]);
    assert_eq!(greeting(&config), "hi");
    assert_eq!(config.to_value_masked()["letters"]["greeting"], "hi");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        matches!(warnings.as_slice(), [one] if one.contains("letters.paper") && one.contains("any more")),
        "{warnings:?}"
    );
}

#[test]
fn its_base_file_lies_below_the_other_layers_and_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("letters.conf");
    std::fs::write(&file, "dear").unwrap();
    let (config, _) = load(Some(&file), &[]);
    assert_eq!((greeting(&config), config.kept::<usize>()), ("dear", Some(&4)));
    assert_eq!(config.base_file.as_deref(), Some(file.as_path()));
    assert_eq!(greeting(&load(Some(&file), &[("letters.greeting", "hi")]).0), "hi");
    assert_eq!(greeting(&load(None, &[]).0), "hello");
}

#[test]
fn its_commands_stand_between_those_of_the_platform_and_run() {
    let app = app();
    let grammar = Cli::command(&app);
    let names: Vec<&str> = grammar.get_subcommands().map(clap::Command::get_name).collect();
    let at = |name| names.iter().position(|known| *known == name);
    assert!(at("explain") < at("letters") && at("letters") < at("plan"), "{names:?}");
    let cli = Cli::parse(&app, ["post", "letters", "--times", "7"]).unwrap();
    assert_eq!(cli.run().unwrap(), Exit(7));
    assert!(Cli::parse(&app, ["post", "letters"]).is_err());
}
