//! `completions`: completion scripts for shells.

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;

use crate::cli::{Cli, Global};
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  provision-engine completions bash > ~/.local/share/bash-completion/completions/provision-engine
  provision-engine completions zsh > \"${fpath[1]}/_provision-engine\"
  provision-engine completions fish > ~/.config/fish/completions/provision-engine.fish";

// The program itself knows what fits; a script only asks it. Where nothing fits, the shell offers files.
// Bash takes words apart at `=` and completes what stands behind it.
const BASH: &str = r#"_NAME() {
    local words=() word before i
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ $i -gt 1 && ( ${COMP_WORDS[i]} == "=" || ${COMP_WORDS[i-1]} == "=" ) ]]; then
            words[${#words[@]}-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
    before=${words[${#words[@]}-1]}
    case $before in *=*) before=${before%"${before##*=}"} ;; *) before= ;; esac
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("${word#"$before"}")
        case $word in *=) compopt -o nospace 2>/dev/null ;; esac
    done < <(NAME complete -- "${words[@]}" 2>/dev/null)
    __ltrimcolon_completions "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null || true
}
complete -o default -F _NAME NAME
"#;
const ZSH: &str = r#"#compdef NAME
_NAME() {
    local -a found open
    local word about
    while IFS=$'\t' read -r word about; do
        if [[ $word == *= ]]; then open+=("${word//:/\\:}:$about"); else found+=("${word//:/\\:}:$about"); fi
    done < <(NAME complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#open} )); then _describe 'NAME' open -S ''; fi
    if (( ${#found} )); then _describe 'NAME' found; elif (( ! ${#open} )); then _files; fi
}
if [ "$funcstack[1]" = "_NAME" ]; then _NAME "$@"; else compdef _NAME NAME; fi
"#;
const FISH: &str = r"complete -c NAME -a '(NAME complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
";

/// Print the completions for a shell; those of bash, zsh and fish also complete ids, workflows, params and plans
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(global: &Global, args: &CompletionsArgs) -> Result<Exit> {
    let name = global.app.name;
    let script = match args.shell {
        Shell::Bash => BASH.replace("NAME", name),
        Shell::Zsh => ZSH.replace("NAME", name),
        Shell::Fish => FISH.replace("NAME", name),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(&global.app), name, &mut script);
            String::from_utf8(script)?
        }
    };
    output::data(&script)?;
    Ok(Exit::GOOD)
}
