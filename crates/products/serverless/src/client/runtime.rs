//! A runtime as the API tells about it. Members that we do not know are kept, for scripts that do.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::FunctionRole;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct RuntimeBody {
    pub id: i32,
    body: Value,
}

/// How a runtime is as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Running,
    /// One function at least.
    Error,
    /// One function at least is not there yet, in the word of the API.
    Busy(String),
}

impl State {
    pub fn as_str(&self) -> &str {
        match self {
            State::Running => "RUNNING",
            State::Error => "ERROR",
            State::Busy(word) => word,
        }
    }

    /// Waiting changes nothing any longer.
    pub fn is_settled(&self) -> bool {
        matches!(self, State::Running | State::Error)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a runtime without an id")]
pub struct NoId;

impl TryFrom<Value> for RuntimeBody {
    type Error = NoId;

    fn try_from(body: Value) -> Result<RuntimeBody, NoId> {
        let id = body.get("ID").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
        id.map(|id| RuntimeBody { id, body }).ok_or(NoId)
    }
}

impl From<RuntimeBody> for Value {
    fn from(runtime: RuntimeBody) -> Value {
        runtime.body
    }
}

impl RuntimeBody {
    /// The text at a path such as `/FAAS/ENDPOINT`, also of a number, if it says something.
    pub fn word(&self, path: &str) -> Option<String> {
        let text = match self.body.pointer(path)? {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The same of one function.
    pub fn of(&self, role: FunctionRole, member: &str) -> Option<String> {
        self.word(&format!("/{}/{member}", role.as_str()))
    }

    /// The functions that it has.
    pub fn roles(&self) -> impl Iterator<Item = FunctionRole> {
        FunctionRole::ALL
            .into_iter()
            .filter(|role| *role == FunctionRole::Faas || self.of(*role, "FLAVOUR").is_some())
    }

    /// The flavours in one word, as service templates are named.
    pub fn flavours(&self) -> String {
        self.roles().filter_map(|role| self.of(role, "FLAVOUR")).collect::<Vec<_>>().join("-")
    }

    pub fn state(&self) -> State {
        let states: Vec<String> =
            self.roles().map(|role| self.of(role, "STATE").unwrap_or_else(|| "PENDING".into())).collect();
        if states.iter().any(|state| state == "ERROR") {
            return State::Error;
        }
        match states.into_iter().find(|state| state != "RUNNING") {
            Some(state) => State::Busy(state),
            None => State::Running,
        }
    }

    /// Why functions are failing, one line each.
    pub fn errors(&self) -> impl Iterator<Item = String> {
        self.roles().filter_map(|role| Some(format!("{}: {}", role.as_str(), self.of(role, "ERROR")?)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runtime(faas: &str, daas: Option<&str>) -> RuntimeBody {
        let mut body = json!({"ID": 7, "FAAS": {"FLAVOUR": "F", "STATE": faas}, "DAAS": {"FLAVOUR": ""}});
        if let Some(state) = daas {
            body["DAAS"] = json!({"FLAVOUR": "D", "STATE": state, "ERROR": "why", "ENDPOINT": ""});
        }
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_runtime_runs_when_all_of_it_does() {
        let pending = State::Busy("PENDING".into());
        for (faas, daas, state) in [
            ("RUNNING", None, State::Running),
            ("PENDING", None, pending.clone()),
            ("RUNNING", Some("RUNNING"), State::Running),
            ("RUNNING", Some("PENDING"), pending.clone()),
            ("PENDING", Some("ERROR"), State::Error),
            ("", None, pending),
        ] {
            assert_eq!(runtime(faas, daas).state(), state, "{faas} {daas:?}");
        }
    }

    #[test]
    fn what_is_empty_says_nothing_and_what_no_one_knows_is_kept() {
        let both = runtime("RUNNING", Some("ERROR"));
        assert_eq!((both.flavours().as_str(), both.of(FunctionRole::Daas, "ENDPOINT")), ("F-D", None));
        assert_eq!(both.errors().collect::<Vec<_>>(), ["DAAS: why"]);
        assert_eq!(runtime("RUNNING", None).roles().count(), 1);
        let odd = json!({"ID": 1, "NEW": {"A": [1]}});
        let read: RuntimeBody = serde_json::from_value(odd.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), odd);
        for bad in [json!({}), json!({"ID": "7"}), json!({"ID": 3_000_000_000_i64}), json!([])] {
            assert!(serde_json::from_value::<RuntimeBody>(bad.clone()).is_err(), "{bad}");
        }
    }
}
