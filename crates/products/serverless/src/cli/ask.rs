//! The body of a request, from flags.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::{Map, Value, json};

use crate::model::FunctionRole;

/// Nothing in OpenNebula is larger.
fn amount() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(u32::MAX))
}

#[derive(Debug, Default, Args)]
pub(super) struct AmountArgs {
    /// Logical cores of the function
    #[arg(long, value_name = "N", value_parser = amount())]
    cpu: Option<u32>,
    /// Megabytes of memory of the function
    #[arg(long, value_name = "MB", value_parser = amount())]
    memory: Option<u32>,
    /// Megabytes of the function's disk, which can only grow
    #[arg(long, value_name = "MB", value_parser = amount())]
    disk: Option<u32>,
    /// Logical cores of the data service
    #[arg(long, value_name = "N", value_parser = amount())]
    daas_cpu: Option<u32>,
    /// Megabytes of memory of the data service
    #[arg(long, value_name = "MB", value_parser = amount())]
    daas_memory: Option<u32>,
    /// Megabytes of the data service's disk, which can only grow
    #[arg(long, value_name = "MB", value_parser = amount())]
    daas_disk: Option<u32>,
}

#[derive(Debug, Default, Args)]
pub(super) struct PlacementArgs {
    /// Which hosts are better: an expression that becomes `SCHED_RANK`
    #[arg(long, value_name = "TEXT")]
    policy: Option<String>,
    /// Which hosts will do: an expression that becomes `SCHED_REQUIREMENTS`
    #[arg(long, value_name = "TEXT")]
    requirements: Option<String>,
}

impl AmountArgs {
    fn of(&self, role: FunctionRole) -> [(&'static str, Option<u32>); 3] {
        match role {
            FunctionRole::Faas => [("CPU", self.cpu), ("MEMORY", self.memory), ("DISK_SIZE", self.disk)],
            FunctionRole::Daas => {
                [("CPU", self.daas_cpu), ("MEMORY", self.daas_memory), ("DISK_SIZE", self.daas_disk)]
            }
        }
    }

    fn names(&self, role: FunctionRole) -> bool {
        self.of(role).iter().any(|(_, amount)| amount.is_some())
    }
}

impl PlacementArgs {
    fn members(&self) -> [(&'static str, Option<&str>); 2] {
        [("POLICY", self.policy.as_deref()), ("REQUIREMENTS", self.requirements.as_deref())]
    }
}

/// A runtime as a user wants it. What is not named is not sent.
#[derive(Debug)]
pub(super) struct RuntimeArgs<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) amounts: &'a AmountArgs,
    pub(super) place: &'a PlacementArgs,
}

impl RuntimeArgs<'_> {
    /// Nothing but flavours.
    pub(super) fn is_empty(&self) -> bool {
        let has_place = self.place.members().iter().any(|(_, text)| text.is_some());
        self.name.is_none()
            && !has_place
            && !FunctionRole::ALL.into_iter().any(|role| self.amounts.names(role))
    }

    pub(super) fn body(&self, faas: &str, daas: Option<&str>) -> Result<Value> {
        let mut runtime = Map::new();
        runtime.extend(self.name.map(|name| ("NAME".to_owned(), name.into())));
        runtime.insert(FunctionRole::Faas.as_str().to_owned(), self.function(FunctionRole::Faas, faas));
        match daas {
            Some(daas) => {
                runtime
                    .insert(FunctionRole::Daas.as_str().to_owned(), self.function(FunctionRole::Daas, daas));
            }
            None if self.amounts.names(FunctionRole::Daas) => {
                bail!("there is no data service whose --daas-cpu, --daas-memory or --daas-disk could be set")
            }
            None => {}
        }
        let place = self.place.members().into_iter();
        let place: Map<String, Value> =
            place.filter_map(|(name, text)| Some((name.to_owned(), text?.into()))).collect();
        if !place.is_empty() {
            runtime.insert("SCHEDULING".to_owned(), place.into());
        }
        Ok(json!({"SERVERLESS_RUNTIME": runtime}))
    }

    fn function(&self, role: FunctionRole, flavour: &str) -> Value {
        let mut function = json!({"FLAVOUR": flavour});
        for (name, amount) in self.amounts.of(role) {
            if let Some(amount) = amount {
                function[name] = amount.into();
            }
        }
        function
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_sent() {
        let bare =
            RuntimeArgs { name: None, amounts: &AmountArgs::default(), place: &PlacementArgs::default() };
        assert!(bare.is_empty());
        let body = bare.body("F", None).unwrap();
        assert_eq!(body, json!({"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "F"}}}));
        let amounts =
            AmountArgs { cpu: Some(2), disk: Some(9), daas_memory: Some(512), ..AmountArgs::default() };
        let place = PlacementArgs { policy: Some("ENERGY".into()), requirements: None };
        let full = RuntimeArgs { name: Some("n"), amounts: &amounts, place: &place };
        assert!(!full.is_empty());
        let expected = json!({"SERVERLESS_RUNTIME": {
            "NAME": "n", "FAAS": {"FLAVOUR": "F", "CPU": 2, "DISK_SIZE": 9},
            "DAAS": {"FLAVOUR": "D", "MEMORY": 512}, "SCHEDULING": {"POLICY": "ENERGY"},
        }});
        assert_eq!(full.body("F", Some("D")).unwrap(), expected);
        assert!(full.body("F", None).unwrap_err().to_string().contains("--daas-memory"));
    }
}
