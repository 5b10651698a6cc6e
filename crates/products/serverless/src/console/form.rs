//! The form of a serverless runtime, as typed and as the API takes it.

use crate::api::wire::Function;
use crate::model::fields::{AMOUNTS, AmountField};
use askama::Template;
use askama::filters::HtmlSafe;
use console::Fields;
use serde_json::{Map, Value, json};

/// A whole number in a form.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "amount.html")]
pub(super) struct Amount {
    name: String,
    member: &'static str,
    label: String,
    hint: &'static str,
    value: String,
    error: Option<&'static str>,
}

impl HtmlSafe for Amount {}

/// Cores, memory and disk of one of the two VMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionSize {
    pub(super) amounts: Vec<Amount>,
}

impl FunctionSize {
    fn new(prefix: &str, value: impl Fn(&AmountField) -> String) -> FunctionSize {
        let amount = |field: &AmountField| Amount {
            name: format!("{prefix}_{}", field.word),
            member: field.member,
            label: if field.is_megabytes { format!("{} in MB", field.label) } else { field.label.to_owned() },
            hint: field.hint,
            value: value(field),
            error: None,
        };
        FunctionSize { amounts: AMOUNTS.iter().map(amount).collect() }
    }

    pub(super) fn empty(prefix: &str) -> FunctionSize {
        FunctionSize::new(prefix, |_| String::new())
    }

    pub(super) fn of(prefix: &str, function: &Function) -> FunctionSize {
        FunctionSize::new(prefix, |field| function.text(field.member))
    }

    /// What was typed; what is no number is noted where it was typed.
    pub(super) fn typed(prefix: &str, fields: &Fields) -> FunctionSize {
        let text = |field: &AmountField| fields.text(&format!("{prefix}_{}", field.word)).to_owned();
        let mut machine = FunctionSize::new(prefix, text);
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
        for amount in &self.amounts {
            if let Ok(number) = amount.value.parse::<u32>() {
                all.insert(amount.member.to_owned(), json!(number));
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
