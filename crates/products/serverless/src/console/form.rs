//! The form of a serverless runtime, as typed and as the API takes it.

use crate::api::wire::Function;
use askama::Template;
use askama::filters::HtmlSafe;
use console::Fields;
use serde_json::{Map, Value, json};

/// A whole number in a form.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "amount.html")]
pub(super) struct Amount {
    name: String,
    label: &'static str,
    hint: &'static str,
    value: String,
    error: Option<&'static str>,
}

impl HtmlSafe for Amount {}

/// Cores, memory and disk of one of the two VMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionSize {
    pub(super) amounts: [Amount; 3],
}

const MEMBERS: [&str; 3] = ["CPU", "MEMORY", "DISK_SIZE"];

impl FunctionSize {
    fn new(prefix: &str, values: [String; 3]) -> FunctionSize {
        let [cpu, memory, disk] = values;
        let amount = |name: &str, label, hint, value| Amount {
            name: format!("{prefix}_{name}"),
            label,
            hint,
            value,
            error: None,
        };
        FunctionSize {
            amounts: [
                amount("cpu", "Cores", "", cpu),
                amount("memory", "Memory in MB", "", memory),
                amount("disk", "Disk in MB", "It can only grow.", disk),
            ],
        }
    }

    pub(super) fn empty(prefix: &str) -> FunctionSize {
        FunctionSize::new(prefix, Default::default())
    }

    pub(super) fn of(prefix: &str, function: &Function) -> FunctionSize {
        let text = |value: Option<u32>| value.map(|value| value.to_string()).unwrap_or_default();
        FunctionSize::new(prefix, [text(function.cpu), text(function.memory), text(function.disk_size)])
    }

    /// What was typed; what is no number is noted where it was typed.
    pub(super) fn typed(prefix: &str, fields: &Fields) -> FunctionSize {
        let text = |name: &str| fields.text(&format!("{prefix}_{name}")).to_owned();
        let mut machine = FunctionSize::new(prefix, [text("cpu"), text("memory"), text("disk")]);
        for amount in &mut machine.amounts {
            let is_good =
                amount.value.is_empty() || amount.value.parse::<u32>().is_ok_and(|number| number > 0);
            amount.error = (!is_good).then_some("It must be a whole number, 1 or more.");
        }
        machine
    }

    pub(super) fn is_good(&self) -> bool {
        self.amounts.iter().all(|amount| amount.error.is_none())
    }

    /// The members of the request.
    pub(super) fn members(&self, flavour: &str) -> Value {
        let mut all = Map::from_iter([("FLAVOUR".to_owned(), json!(flavour))]);
        for (member, amount) in MEMBERS.into_iter().zip(&self.amounts) {
            if let Ok(number) = amount.value.parse::<u32>() {
                all.insert(member.to_owned(), json!(number));
            }
        }
        Value::Object(all)
    }
}

impl Amount {
    fn is_described(&self) -> bool {
        !self.hint.is_empty() || self.error.is_some()
    }

    fn described(&self) -> String {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.name));
        let error = self.error.map(|_| format!("{}-error", self.name));
        hint.into_iter().chain(error).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_sent_as_numbers_and_what_is_not_a_number_is_said_so() {
        let fields = |cpu: &str| {
            let pairs = [("f_cpu", cpu), ("f_memory", "768")];
            Fields::from(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec())
        };
        let good = FunctionSize::typed("f", &fields("2"));
        assert!(good.is_good());
        assert_eq!(good.members("Function"), json!({"FLAVOUR": "Function", "CPU": 2, "MEMORY": 768}));
        for bad in ["0", "two", "-1", "1.5"] {
            assert!(!FunctionSize::typed("f", &fields(bad)).is_good(), "{bad}");
        }
    }
}
