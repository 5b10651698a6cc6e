//! Where and how to launch, as flags and in a file.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Map, Value};

use super::file;
use super::key::Key;
use crate::launching::LaunchClient;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Where and how")]
pub(in crate::cmd) struct ParameterArgs {
    /// The account to launch in; `sources list` shows them
    #[arg(long, value_name = "ID")]
    pub(super) source: Option<String>,
    /// The region [default: the one in which images are built]
    #[arg(long)]
    region: Option<String>,
    /// The instance type, such as t3.small; `instance-types` lists them
    #[arg(long = "type", value_name = "TYPE")]
    instance_type: Option<String>,
    /// A launch template of the account
    #[arg(long, value_name = "ID")]
    template: Option<String>,
    /// How many instances [default: 1]
    #[arg(long, value_name = "N")]
    count: Option<u32>,
    /// What to call the instances
    #[arg(long)]
    name: Option<String>,
    /// The public key that lets you in: its name, its id, or a file, which is kept if it is not yet
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What to call a key that is new [default: its comment]
    #[arg(long, value_name = "NAME", requires = "key")]
    key_name: Option<String>,
    /// A file with text for the first start of every instance, - for stdin; it is shown to nobody
    #[arg(long, value_name = "FILE")]
    user_data: Option<String>,
    /// Shut every instance down after its first start
    #[arg(long)]
    poweroff: bool,
    /// The subnet to launch in
    #[arg(long, value_name = "ID")]
    subnet: Option<String>,
    /// A security group for every instance; may be repeated
    #[arg(long = "security-group", value_name = "ID")]
    security_groups: Vec<String>,
}

impl ParameterArgs {
    fn texts(&self) -> [(&'static str, &'static str, Option<&String>); 6] {
        [
            ("--source", "source_id", self.source.as_ref()),
            ("--region", "region", self.region.as_ref()),
            ("--type", "instance_type", self.instance_type.as_ref()),
            ("--template", "launch_template_id", self.template.as_ref()),
            ("--name", "name", self.name.as_ref()),
            ("--subnet", "subnet", self.subnet.as_ref()),
        ]
    }

    /// The flags that are given.
    fn given(&self) -> Vec<&'static str> {
        let texts = self.texts().into_iter().filter_map(|(flag, _, text)| text.map(|_| flag));
        let others = [
            ("--count", self.count.is_some()),
            ("--key", self.key.is_some()),
            ("--user-data", self.user_data.is_some()),
            ("--poweroff", self.poweroff),
            ("--security-group", !self.security_groups.is_empty()),
        ];
        texts.chain(others.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag))).collect()
    }

    pub(in crate::cmd) fn is_empty(&self) -> bool {
        self.given().is_empty()
    }

    /// Parameters that come later cannot be given now, except the account that an image is shared with.
    pub(super) fn must_come_later(&self) -> Result<()> {
        let given: Vec<&str> = self.given().into_iter().filter(|flag| *flag != "--source").collect();
        if !given.is_empty() {
            bail!("--deferred: {} can come later; leave it out, or leave --deferred out", given.join(", "));
        }
        Ok(())
    }

    /// Puts what is given over what is there. What is not given is not sent.
    pub(in crate::cmd) async fn lay_over(
        &self,
        client: &LaunchClient,
        parameters: &mut Map<String, Value>,
    ) -> Result<()> {
        for (_, name, text) in self.texts() {
            parameters.extend(text.map(|text| (name.to_owned(), text.as_str().into())));
        }
        parameters.extend(self.count.map(|count| ("amount".to_owned(), count.into())));
        parameters.extend(self.poweroff.then(|| ("poweroff".to_owned(), true.into())));
        if !self.security_groups.is_empty() {
            parameters.insert("security_groups".to_owned(), self.security_groups.clone().into());
        }
        if let Some(path) = &self.user_data {
            parameters.insert("user_data".to_owned(), file::text("--user-data", path)?.into());
        }
        if let Some(key) = &self.key {
            Key::find(client, key, self.key_name.as_deref()).await?.lay_over(parameters);
        }
        Ok(())
    }
}
