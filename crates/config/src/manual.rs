//! The reference manual of all settings, written from their table.

use std::fmt::Write;

use crate::program::in_own_name;
use crate::setting::{Preset, Setting};
use crate::table::Table;

const INTRODUCTION: &str = "\
# Settings

This file is written from the table of settings in the program; change it there.

The configuration is one YAML file. The first of these that is given or exists is read: the file named by
`--config`, the file named by `PROVISION_ENGINE_CONFIG`, `./provision-engine.yaml`,
`/etc/provision-engine/config.yaml`. No file at all is fine: every setting has a default or is optional.

Below it lies `engine.conf`, the file of the COGNIT Provisioning Engine, if there is one: the file named by
`--engine-conf`, the file named by `PROVISION_ENGINE_ENGINE_CONF`, `/etc/provision-engine/engine.conf`. [Install
it](guide/install.md) says which of its keys stands for which setting. Both files in `/etc`, and the directories in
`/var`, are looked for below `PROVISION_ENGINE_PREFIX` where that is set.

Environment variables win over the files, and flags win over all of them. Maps are merged; lists and single values
replace what was there. A variable is `PROVISION_ENGINE_` and the path in capitals, with two underscores
between its parts: `PROVISION_ENGINE_SERVER__LISTEN` sets `server.listen`. An empty variable counts as not
set. In variables a list can be written as `stderr,file`. In the file a key may have a leading colon, and a
key without a value keeps its default. A mapping of flavours counts as one value.

Times are a whole number and a unit: `250ms`, `10s`, `5m`, `24h`, `90d`. A path may begin with `~/`.

`provision-engine config show` prints what is in force and where each value came from.
";

/// The whole manual, in Markdown.
pub fn render(table: &Table) -> String {
    let mut text = in_own_name(INTRODUCTION);
    let mut section = None;
    for setting in table {
        let name = setting.path.split_once('.').map(|(name, _)| name);
        if section != Some(name) {
            section = Some(name);
            let heading = name.unwrap_or("general");
            text.push_str("\n## ");
            text.push_str(heading);
            text.push_str("\n\n| setting | default | expects | meaning |\n|---|---|---|---|\n");
        }
        row(&mut text, setting);
    }
    text
}

fn row(text: &mut String, setting: &Setting) {
    let Setting { path, default, kind, doc, .. } = setting;
    let path = path.replace('*', "NAME");
    let default = match default {
        Preset::Nothing | Preset::StateDir => default.to_string(),
        Preset::Is(_) | Preset::InDataDir(_) => format!("`{default}`"),
    };
    writeln!(text, "| `{path}` | {default} | {kind} | {doc} |").expect("writing to a string cannot fail");
}
