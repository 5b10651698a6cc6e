//! `workflows init`: a declaration, a service with the SDK and a test, ready to run.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::output::{data, note};

/// Write a declaration, a service and its test into a folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine workflows init acme.database --language python")]
pub(super) struct InitArgs {
    /// The name of the workflow, with a dot in it
    name: String,
    /// The language of the service
    #[arg(long, value_enum)]
    language: Language,
    /// Where to write; files that are there stay as they are
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Python,
    Typescript,
    Go,
}

/// What is written: the path, the text, and whether names are put into it.
struct Template {
    path: &'static str,
    text: &'static str,
    is_filled: bool,
}

macro_rules! template {
    ($source:literal => $path:literal) => {
        Template {
            path: $path,
            text: include_str!(concat!("../../../../../sdk/templates/", $source)),
            is_filled: true,
        }
    };
    (sdk $source:literal => $path:literal) => {
        Template {
            path: $path,
            text: include_str!(concat!("../../../../../sdk/", $source)),
            is_filled: false,
        }
    };
}

const DECLARATION: &str = include_str!("../../../../../sdk/templates/workflow.yaml");
const GITIGNORE: &str = include_str!("../../../../../sdk/templates/gitignore");

const PYTHON: &[Template] = &[
    template!(sdk "python/provision_engine_steps.py" => "provision_engine_steps.py"),
    template!("python/service.py" => "service.py"),
    template!("python/test_service.py" => "test_service.py"),
    template!("python/README.md" => "README.md"),
];

const TYPESCRIPT: &[Template] = &[
    template!(sdk "typescript/provision_engine_steps.mts" => "provision_engine_steps.mts"),
    template!("typescript/service.mts" => "service.mts"),
    template!("typescript/service.test.mts" => "service.test.mts"),
    template!("typescript/tsconfig.json" => "tsconfig.json"),
    template!("typescript/start.mjs" => "start.mjs"),
    template!("typescript/README.md" => "README.md"),
    template!(sdk "typescript/provision_engine_steps.mjs" => "build/provision_engine_steps.mjs"),
    template!("typescript/build/service.mjs" => "build/service.mjs"),
    template!("typescript/build/service.test.mjs" => "build/service.test.mjs"),
];

const GO: &[Template] = &[
    template!(sdk "go/steps/steps.go" => "steps/steps.go"),
    template!("go/main.go" => "main.go"),
    template!("go/main_test.go" => "main_test.go"),
    template!("go/go.mod.template" => "go.mod"),
    template!("go/README.md" => "README.md"),
];

impl Language {
    /// In the order in which they are written: what is built comes after what it is built from.
    fn files(self) -> &'static [Template] {
        match self {
            Language::Python => PYTHON,
            Language::Typescript => TYPESCRIPT,
            Language::Go => GO,
        }
    }

    fn commands(self) -> &'static str {
        match self {
            Language::Python => include_str!("../../../../../sdk/templates/python/commands.txt"),
            Language::Typescript => include_str!("../../../../../sdk/templates/typescript/commands.txt"),
            Language::Go => include_str!("../../../../../sdk/templates/go/commands.txt"),
        }
    }
}

pub(super) fn run(args: &InitArgs) -> Result<Exit> {
    let InitArgs { name, language, dir } = args;
    declared::check_workflow_name(name).map_err(anyhow::Error::msg)?;
    let slug: String = name
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '-' })
        .collect();
    let fill = |text: &str| text.replace("{{name}}", name).replace("{{slug}}", &slug);
    let mut files: Vec<(PathBuf, String, u32)> = vec![
        (dir.join(format!("{name}.yaml")), fill(DECLARATION), 0o644),
        (dir.join(format!("{name}.secret")), format!("{}\n", secret()), 0o600),
        (dir.join(".gitignore"), fill(GITIGNORE), 0o644),
    ];
    for template in language.files() {
        let text = if template.is_filled { fill(template.text) } else { template.text.to_owned() };
        files.push((dir.join(template.path), text, 0o644));
    }
    if let Some((path, ..)) = files.iter().find(|(path, ..)| path.exists()) {
        bail!("{} already exists; choose another folder with --dir", path.display());
    }
    for (path, text, mode) in &files {
        write(path, text, *mode).with_context(|| format!("cannot write {}", path.display()))?;
    }
    note(format!("wrote {} files; run these:", files.len()));
    data(fill(language.commands()).trim_end())?;
    Ok(Exit::GOOD)
}

fn secret() -> String {
    let bytes = rand::random::<[u8; 32]>();
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}
