//! What a caller asks for, checked: types, required members, ranges. What only we say is left out.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::fields::{AMOUNTS, Amounts, BLOCK_FIELDS, BLOCKS};
use super::function::{FunctionRole, FunctionSpec};
use super::json::{Json, Members};
use super::runtime_error::RuntimeError;

/// A runtime as a client asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Nothing where we have to think of one.
    pub name: Option<String>,
    /// FAAS, DAAS, SCHEDULING, `DEVICE_INFO` and what else came along, in the order in which it came.
    pub(crate) body: Members,
    pub faas: FunctionSpec,
    /// Nothing where no data service is asked for.
    pub daas: Option<FunctionSpec>,
}

/// What the caller cannot decide.
const OURS: [&str; 2] = ["ID", "SERVICE_ID"];
const OURS_OF_A_FUNCTION: [&str; 4] = ["VM_ID", "STATE", "ENDPOINT", "ERROR"];

const NAME_CHARS_MAX: usize = 128;
const FLAVOUR_CHARS_MAX: usize = 128;
const TEXT_CHARS_MAX: usize = 4096;

/// Besides control characters.
pub(crate) const NOT_IN_XML: [char; 2] = ['\u{fffe}', '\u{ffff}'];

const ROOT: &str = "#/SERVERLESS_RUNTIME";

impl Spec {
    /// Reads the body of a request.
    pub fn parse(body: &[u8]) -> Result<Spec, RuntimeError> {
        let text = std::str::from_utf8(body).map_err(|error| {
            let at = error.valid_up_to();
            RuntimeError::new(400, "Invalid JSON", format!("the body is not UTF-8 from byte {at} on"))
        })?;
        let json = Json::parse(text).map_err(|error| RuntimeError::new(400, "Invalid JSON", error))?;
        Spec::check(json).map_err(RuntimeError::invalid)
    }

    fn check(mut json: Json) -> Result<Spec, String> {
        let kind = json.kind();
        let whole = json.as_object_mut().ok_or_else(|| wrong_type("#/", kind, "object"))?;
        let asked = whole.remove("SERVERLESS_RUNTIME").ok_or_else(|| missing("#/", "SERVERLESS_RUNTIME"))?;
        let Json::Object(mut body) = asked else { return Err(wrong_type(ROOT, asked.kind(), "object")) };
        for name in OURS {
            body.remove(name);
        }
        let name = body.remove("NAME").map(|name| text(ROOT, "NAME", name, NAME_CHARS_MAX)).transpose()?;
        if body.get("DAAS") == Some(&Json::Null) {
            body.remove("DAAS");
        }
        let faas = function(&mut body, FunctionRole::Faas)?.ok_or_else(|| missing(ROOT, "FAAS"))?;
        let daas = function(&mut body, FunctionRole::Daas)?;
        for name in BLOCKS {
            block(&body, name)?;
        }
        // OpenNebula takes blanks away from the ends of some names, and not the same ones in every release.
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        Ok(Spec { name, body, faas, daas })
    }

    /// The flavours in one word, as service templates are called.
    pub fn tuple(&self) -> String {
        match &self.daas {
            Some(daas) if !daas.flavour.is_empty() => format!("{}-{}", self.faas.flavour, daas.flavour),
            _ => self.faas.flavour.clone(),
        }
    }

    /// The functions of a new runtime. Data without a flavour means no data.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionRole, &FunctionSpec)> {
        self.sent().filter(|(role, asked)| *role == FunctionRole::Faas || !asked.flavour.is_empty())
    }

    /// The functions that were sent. A change need not repeat the flavours of a runtime.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (FunctionRole, &FunctionSpec)> {
        let daas = self.daas.as_ref().map(|daas| (FunctionRole::Daas, daas));
        std::iter::once((FunctionRole::Faas, &self.faas)).chain(daas)
    }

    /// A member of SCHEDULING or `DEVICE_INFO`.
    pub(crate) fn block(&self, name: &str) -> Option<&Members> {
        self.body.get(name).and_then(Json::as_object)
    }

    fn to_json(&self) -> Json {
        let mut inner = Members::default();
        if let Some(name) = &self.name {
            inner.set("NAME", name.as_str());
        }
        for (name, value) in self.body.iter() {
            inner.set(name, value.clone());
        }
        Members::from_iter([("SERVERLESS_RUNTIME".to_owned(), Json::Object(inner))]).into()
    }
}

/// Takes what a function asks for out of the body, and leaves there what is echoed.
fn function(body: &mut Members, role: FunctionRole) -> Result<Option<FunctionSpec>, String> {
    let path = format!("{ROOT}/{}", role.as_str());
    let Some(json) = body.get_mut(role.as_str()) else { return Ok(None) };
    let kind = json.kind();
    let members = json.as_object_mut().ok_or_else(|| wrong_type(&path, kind, "object"))?;
    for name in OURS_OF_A_FUNCTION {
        members.remove(name);
    }
    let flavour = members.get("FLAVOUR").cloned().ok_or_else(|| missing(&path, "FLAVOUR"))?;
    let flavour = text(&path, "FLAVOUR", flavour, FLAVOUR_CHARS_MAX)?;
    let mut amounts = Amounts::new();
    for field in &AMOUNTS {
        let found = amount(&path, members, field.member, field.max)?;
        amounts.extend(found.map(|found| (field.amount, found)));
    }
    Ok(Some(FunctionSpec { flavour, amounts }))
}

fn amount(path: &str, members: &Members, name: &str, max: u32) -> Result<Option<u32>, String> {
    let Some(json) = members.get(name) else { return Ok(None) };
    let Json::Number(number) = json else {
        return Err(wrong_type(&format!("{path}/{name}"), json.kind(), "integer"));
    };
    if number.is_f64() {
        return Err(wrong_type(&format!("{path}/{name}"), "number", "integer"));
    }
    let amount = number.as_u64().and_then(|number| u32::try_from(number).ok());
    match amount.filter(|amount| (1..=max).contains(amount)) {
        Some(amount) => Ok(Some(amount)),
        None => Err(format!("The property '{path}/{name}' is {number}: give an integer from 1 to {max}")),
    }
}

fn text(path: &str, name: &str, json: Json, chars_max: usize) -> Result<String, String> {
    let kind = json.kind();
    let Json::Text(text) = json else {
        return Err(wrong_type(&format!("{path}/{name}"), kind, "string"));
    };
    let rule = if text.chars().count() > chars_max {
        format!("has more than {chars_max} characters: give a shorter one")
    } else if text.chars().any(|c| c.is_control() || NOT_IN_XML.contains(&c)) {
        "has control characters: leave them out".to_owned()
    } else {
        return Ok(text);
    };
    Err(format!("The property '{path}/{name}' {rule}"))
}

fn block(body: &Members, name: &str) -> Result<(), String> {
    let Some(json) = body.get(name) else { return Ok(()) };
    let path = format!("{ROOT}/{name}");
    let members = json.as_object().ok_or_else(|| wrong_type(&path, json.kind(), "object"))?;
    for field in BLOCK_FIELDS.iter().filter(|field| field.block == name) {
        match members.get(field.member) {
            Some(Json::Number(_)) if field.is_number => {}
            Some(value) if field.is_number => {
                return Err(wrong_type(&format!("{path}/{}", field.member), value.kind(), "number"));
            }
            Some(value) => drop(text(&path, field.member, value.clone(), TEXT_CHARS_MAX)?),
            None => {}
        }
    }
    Ok(())
}

fn wrong_type(path: &str, kind: &str, wanted: &str) -> String {
    format!("The property '{path}' of type {kind} did not match the following type: {wanted}")
}

fn missing(path: &str, name: &str) -> String {
    format!("The property '{path}' did not contain a required property of '{name}'")
}

/// As text, because what is saved does not keep the order of members.
impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_json().to_string())
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spec, D::Error> {
        let text = String::deserialize(deserializer)?;
        let json = Json::parse(&text).map_err(serde::de::Error::custom)?;
        Spec::check(json).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::Amount;
    use super::*;

    fn read(text: &str) -> Result<Spec, String> {
        Spec::parse(text.as_bytes()).map_err(|runtime_error| {
            assert_eq!(runtime_error.status, 400, "{runtime_error:?}");
            runtime_error.message.as_str().expect("a text").to_owned()
        })
    }

    fn of(runtime: &str) -> Result<Spec, String> {
        read(&format!(r#"{{"SERVERLESS_RUNTIME":{runtime}}}"#))
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_that_clients_know() {
        let property = |path: &str, rest: &str| format!("The property '#/{path}' {rest}");
        let typed = |path: &str, kind: &str, wanted: &str| {
            property(path, &format!("of type {kind} did not match the following type: {wanted}"))
        };
        let lacks = |path: &str, name: &str| {
            property(path, &format!("did not contain a required property of '{name}'"))
        };
        let inner = |path: &str| format!("SERVERLESS_RUNTIME/{path}");
        let cases = [
            ("[]", typed("", "array", "object")),
            ("null", typed("", "null", "object")),
            ("\"/etc/passwd\"", typed("", "string", "object")),
            ("{}", lacks("", "SERVERLESS_RUNTIME")),
            (r#"{"SERVERLESS_RUNTIME":7}"#, typed("SERVERLESS_RUNTIME", "integer", "object")),
            (r#"{"SERVERLESS_RUNTIME":{"NAME":"x"}}"#, lacks("SERVERLESS_RUNTIME", "FAAS")),
            (r#"{"SERVERLESS_RUNTIME":{"FAAS":{}}}"#, lacks(&inner("FAAS"), "FLAVOUR")),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err(), message, "{text}");
        }
        let functions = [
            (r#""CPU":"two""#, typed(&inner("FAAS/CPU"), "string", "integer")),
            (r#""CPU":0.5"#, typed(&inner("FAAS/CPU"), "number", "integer")),
            (r#""CPU":1.0"#, typed(&inner("FAAS/CPU"), "number", "integer")),
            (r#""CPU":0"#, property(&inner("FAAS/CPU"), "is 0: give an integer from 1 to 1024")),
            (r#""MEMORY":-5"#, property(&inner("FAAS/MEMORY"), "is -5: give an integer from 1 to 16777216")),
            (r#""MEMORY":true"#, typed(&inner("FAAS/MEMORY"), "boolean", "integer")),
            (r#""DISK_SIZE":null"#, typed(&inner("FAAS/DISK_SIZE"), "null", "integer")),
        ];
        for (member, message) in functions {
            let text = format!(r#"{{"FAAS":{{"FLAVOUR":"F",{member}}}}}"#);
            assert_eq!(of(&text).unwrap_err(), message, "{text}");
        }
        let others = [
            (r#""DAAS":{}"#, lacks(&inner("DAAS"), "FLAVOUR")),
            (r#""NAME":5"#, typed(&inner("NAME"), "integer", "string")),
            (r#""SCHEDULING":{"POLICY":1}"#, typed(&inner("SCHEDULING/POLICY"), "integer", "string")),
            (r#""DEVICE_INFO":[]"#, typed(&inner("DEVICE_INFO"), "array", "object")),
            (
                r#""DEVICE_INFO":{"LATENCY_TO_PE":"x"}"#,
                typed(&inner("DEVICE_INFO/LATENCY_TO_PE"), "string", "number"),
            ),
        ];
        for (member, message) in others {
            let text = format!(r#"{{"FAAS":{{"FLAVOUR":"F"}},{member}}}"#);
            assert_eq!(of(&text).unwrap_err(), message, "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_as_such() {
        for body in [&b""[..], b"{nope", b"\xff", b"{} {}"] {
            let runtime_error = Spec::parse(body).unwrap_err();
            assert_eq!(
                (runtime_error.status, runtime_error.error.as_str()),
                (400, "Invalid JSON"),
                "{body:?}"
            );
        }
    }

    #[test]
    fn no_data_service_is_asked_for_in_three_ways() {
        for member in ["", r#","DAAS":null"#, r#","DAAS":{"FLAVOUR":""}"#] {
            let spec = of(&format!(r#"{{"FAAS":{{"FLAVOUR":"F"}}{member}}}"#)).unwrap();
            assert_eq!((spec.functions().count(), spec.tuple().as_str()), (1, "F"), "{member}");
        }
        let spec = of(r#"{"FAAS":{"FLAVOUR":"F"},"DAAS":{"FLAVOUR":"D","CPU":2}}"#).unwrap();
        assert_eq!(
            (spec.tuple().as_str(), spec.daas.unwrap().amounts),
            ("F-D", Amounts::from([(Amount::Cpu, 2)]))
        );
    }

    #[test]
    fn what_only_we_say_is_not_taken_from_a_caller() {
        let text = r#"{"NAME":"n","ID":7,"SERVICE_ID":8,"FOO":[1],"FAAS":
            {"FLAVOUR":"F","VM_ID":3,"STATE":"ERROR","ENDPOINT":"http://x","ERROR":"e","BAR":"b"}}"#;
        let spec = of(text).unwrap();
        let body = Json::Object(spec.body.clone()).to_string();
        assert_eq!(body, r#"{"FOO":[1],"FAAS":{"FLAVOUR":"F","BAR":"b"}}"#);
        assert_eq!(spec.name.as_deref(), Some("n"));
    }

    #[test]
    fn a_spec_comes_back_from_where_it_was_saved() {
        let text = r#"{"NAME":"n","Z":1,"FAAS":{"FLAVOUR":"F","MEMORY":768},"A":2,"DEVICE_INFO":{"LATENCY_TO_PE":0.5}}"#;
        let spec = of(text).unwrap();
        let saved = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<Spec>(saved).unwrap(), spec);
    }

    #[test]
    fn blanks_at_the_ends_of_a_name_do_not_count() {
        let name = |name: &str| of(&format!(r#"{{"NAME":"{name}","FAAS":{{"FLAVOUR":"F"}}}}"#)).unwrap().name;
        assert_eq!(name("  two words  ").as_deref(), Some("two words"));
        assert_eq!(name("   "), None);
    }

    #[test]
    fn names_and_texts_have_limits() {
        for (member, part) in [
            (format!(r#""NAME":"{}""#, "n".repeat(129)), "more than 128 characters"),
            (r#""NAME":"a\nb""#.to_owned(), "control characters"),
            (r#""NAME":"a\ufffeb""#.to_owned(), "control characters"),
            (format!(r#""SCHEDULING":{{"POLICY":"{}"}}"#, "p".repeat(4097)), "more than 4096 characters"),
        ] {
            let error = of(&format!(r#"{{"FAAS":{{"FLAVOUR":"F"}},{member}}}"#)).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
