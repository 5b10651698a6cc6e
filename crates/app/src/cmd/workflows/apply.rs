//! `workflows apply`: sends a declaration, with its secret.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use declared::SecretSource;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::check;
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::output::{self, Format, note};

pub(super) async fn run(global: &Global, file: &Path, client: &PlatformClient) -> Result<Exit> {
    let declaration = check::read(global, file)?.map_err(|wrong| anyhow!(wrong))?;
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut body: Value = serde_saphyr::from_str(&text).context("the declaration is no YAML")?;
    let Some(fields) = body.as_object_mut() else { bail!("the declaration is no map") };
    let dir = file.parent().unwrap_or(Path::new(""));
    if let Some(location @ (SecretSource::File(_) | SecretSource::Env(_))) = &declaration.secret {
        let secret = location.read(dir).map_err(|why| anyhow!(why))?;
        fields.remove("secret_file");
        fields.remove("secret_env");
        fields.insert("secret".to_owned(), json!(secret.expose_secret()));
    }
    let applied = client.apply_workflow(&declaration.workflow, &body).await?;
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &applied)?,
        Format::Table | Format::Wide | Format::Name => output::data(&applied.workflow)?,
    }
    let version = applied.version;
    note(if applied.is_new {
        format!("version {version} is in force; operations under way end with theirs")
    } else {
        format!("nothing has changed: version {version} is in force")
    });
    Ok(Exit::GOOD)
}
