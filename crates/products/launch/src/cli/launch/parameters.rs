//! Where and how to launch, as flags and in a file.

use crate::api::types::NewParameters;
use anyhow::{Result, bail};
use clap::Args;

use super::key::KeyChoice;
use crate::client::LaunchClient;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Where and how")]
pub(crate) struct ParameterArgs {
    /// The account to launch in; `sources list` shows them
    #[arg(long, value_name = "ID")]
    pub(super) source: Option<String>,
    /// The region [default: where the image is, or the one in which images are built]
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
    /// Your public key: its name, its id, or a file, which is saved if it is new
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What to call a key that is new [default: its comment]
    #[arg(long, value_name = "NAME", requires = "key")]
    key_name: Option<String>,
    /// A file with text for the first start of every instance, - for stdin; it is never shown
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
    /// Azure: the resource group to launch in [default: one that is created for the launch]
    #[arg(long, value_name = "NAME")]
    resource_group: Option<String>,
}

impl ParameterArgs {
    /// The flags that are given.
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("--source", self.source.is_some()),
            ("--region", self.region.is_some()),
            ("--type", self.instance_type.is_some()),
            ("--template", self.template.is_some()),
            ("--name", self.name.is_some()),
            ("--subnet", self.subnet.is_some()),
            ("--count", self.count.is_some()),
            ("--key", self.key.is_some()),
            ("--user-data", self.user_data.is_some()),
            ("--poweroff", self.poweroff),
            ("--security-group", !self.security_groups.is_empty()),
            ("--resource-group", self.resource_group.is_some()),
        ];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
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

    /// Puts what is given over what is there.
    pub(crate) async fn lay_over(&self, client: &LaunchClient, parameters: &mut NewParameters) -> Result<()> {
        let over = |there: &mut Option<String>, given: &Option<String>| {
            if given.is_some() {
                there.clone_from(given);
            }
        };
        parameters.source_id =
            self.source.clone().unwrap_or_else(|| std::mem::take(&mut parameters.source_id));
        over(&mut parameters.region, &self.region);
        over(&mut parameters.instance_type, &self.instance_type);
        over(&mut parameters.launch_template_id, &self.template);
        over(&mut parameters.name, &self.name);
        over(&mut parameters.subnet, &self.subnet);
        over(&mut parameters.resource_group, &self.resource_group);
        parameters.amount = self.count.map(i64::from).or(parameters.amount);
        parameters.poweroff |= self.poweroff;
        if !self.security_groups.is_empty() {
            parameters.security_groups.clone_from(&self.security_groups);
        }
        if let Some(path) = &self.user_data {
            parameters.user_data = Some(app::given::text("--user-data", path)?);
        }
        if let Some(key) = &self.key {
            KeyChoice::find(client, key, self.key_name.as_deref()).await?.lay_over(parameters);
        }
        Ok(())
    }
}
