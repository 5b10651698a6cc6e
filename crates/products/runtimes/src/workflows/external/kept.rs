//! What is kept of the answers of an external step, so that later passes need not ask again.

use std::collections::BTreeMap;

use engine::prelude::*;
use external_step::{Override, StepResponse};
use serde_json::{Map, Value};

use engine::overrides::{self, Overrides};

/// The fact of one external step. Whatever was secret is sealed.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ExternalFact {
    #[serde(default)]
    pub(crate) is_done: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) facts: Map<String, Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) secret_facts: BTreeMap<String, Sealed>,
    /// In the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<SealedOverride>,
    /// Components whose values of earlier steps are replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<String>,
    /// Why overrides of the answer do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ignored: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SealedOverride {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    component: Option<String>,
    key: String,
    value: SealedOrPlain,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SealedOrPlain {
    Plain(String),
    Secret(Sealed),
}

impl ExternalFact {
    /// Facts that come take the place of those that were there; without any they stay.
    pub(crate) fn take_facts<W: Workflow>(&mut self, op: &Operation<W>, answer: &mut StepResponse) {
        if let Some(facts) = answer.facts.take() {
            self.facts = facts;
        }
        if let Some(secrets) = answer.secret_facts.take() {
            self.secret_facts = secrets.iter().map(|(key, secret)| (key.clone(), op.seal(secret))).collect();
        }
    }

    pub(crate) fn take_overrides<W: Workflow>(&mut self, op: &Operation<W>, answer: StepResponse) {
        self.replaced = answer.replaced().into_iter().map(str::to_owned).collect();
        let kept = |Override { component, key, value, secret, .. }: Override| SealedOverride {
            component,
            key,
            value: if secret {
                SealedOrPlain::Secret(op.seal(&value))
            } else {
                SealedOrPlain::Plain(value.expose_secret().to_owned())
            },
        };
        self.overrides = answer.overrides.into_iter().map(kept).collect();
    }

    pub(crate) fn open_facts<W: Workflow>(
        &self,
        op: &Operation<W>,
    ) -> Result<BTreeMap<String, SecretString>, Halt> {
        self.secret_facts.iter().map(|(key, sealed)| Ok((key.clone(), op.open(sealed)?))).collect()
    }

    /// The overrides of the answer, once more.
    pub(crate) fn replay<W: Workflow>(&self, op: &Operation<W>, into: &mut Overrides) -> Result<(), Halt> {
        for component in &self.replaced {
            into.set(component, []);
        }
        for one in &self.overrides {
            let value = match &one.value {
                SealedOrPlain::Plain(text) => overrides::Value::Public(text.clone()),
                SealedOrPlain::Secret(sealed) => overrides::Value::Secret(op.open(sealed)?),
            };
            let entry = [(one.key.clone(), value)];
            match &one.component {
                Some(component) => into.append(component, entry),
                None => into.append_global(entry),
            }
        }
        Ok(())
    }
}
