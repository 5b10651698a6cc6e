//! A runtime as it is stored in its document, and as it is answered.

use opennebula::NebulaDocument;
use serde::{Serialize, Serializer};

use super::fields::{AMOUNTS, Amount};
use super::function::{FunctionRole, ObservedFunction, stored_id};
use super::json::{Json, Members};
use super::runtime_error::RuntimeError;
use super::spec::{NOT_IN_XML, Spec};
use super::state::RuntimeState;

#[derive(Debug, Clone, PartialEq)]
pub struct ServerlessRuntime {
    pub id: i32,
    pub name: String,
    /// Everything but the name and the id, in the order of its document.
    body: Members,
}

impl ServerlessRuntime {
    /// A runtime that is being made.
    pub(crate) fn asked(id: i32, name: &str, spec: &Spec) -> ServerlessRuntime {
        ServerlessRuntime { id, name: name.to_owned(), body: spec.body.clone() }
    }

    /// What a document says, also one of an older engine.
    pub(crate) fn stored(document: &NebulaDocument) -> Result<ServerlessRuntime, RuntimeError> {
        let broken = |why: String| {
            let error = format!("Serverless Runtime Document {} cannot be read", document.id);
            RuntimeError::new(500, error, format!("its body is not that of a runtime: {why}"))
        };
        let json = Json::parse(&document.body).map_err(broken)?;
        let Json::Object(mut body) = json else { return Err(broken(format!("{} found", json.kind()))) };
        for ours in ["NAME", "ID"] {
            body.remove(ours);
        }
        straighten(&mut body, &["SERVICE_ID"]);
        for role in FunctionRole::ALL {
            if let Some(function) = body.get_mut(role.as_str()).and_then(Json::as_object_mut) {
                straighten(function, &["VM_ID"]);
                straighten(function, &AMOUNTS.map(|field| field.member));
                if function.get("ENDPOINT") == Some(&Json::Null) {
                    function.set("ENDPOINT", "");
                }
            }
        }
        Ok(ServerlessRuntime { id: document.id, name: document.name.clone(), body })
    }

    pub fn service_id(&self) -> Option<i32> {
        stored_id(&self.body, "SERVICE_ID")
    }

    pub fn vm_id(&self, role: FunctionRole) -> Option<i32> {
        stored_id(self.function(role)?, "VM_ID")
    }

    pub fn state(&self, role: FunctionRole) -> Option<RuntimeState> {
        self.function(role)?.get("STATE").and_then(Json::as_str).and_then(RuntimeState::parse)
    }

    pub(crate) fn error(&self, role: FunctionRole) -> Option<&str> {
        self.function(role)?.get("ERROR").and_then(Json::as_str)
    }

    /// The flavours in one word.
    pub fn tuple(&self) -> String {
        let flavours: Vec<&str> = self.roles().map(|role| self.flavour(role)).collect();
        flavours.join("-")
    }

    /// The functions that it has.
    pub fn roles(&self) -> impl Iterator<Item = FunctionRole> {
        let has_daas = !self.flavour(FunctionRole::Daas).is_empty();
        FunctionRole::ALL.into_iter().filter(move |role| *role == FunctionRole::Faas || has_daas)
    }

    fn flavour(&self, role: FunctionRole) -> &str {
        self.function(role).and_then(|function| function.get("FLAVOUR")).and_then(Json::as_str).unwrap_or("")
    }

    fn function(&self, role: FunctionRole) -> Option<&Members> {
        self.body.get(role.as_str()).and_then(Json::as_object)
    }

    pub(crate) fn block(&self, name: &str) -> Option<&Members> {
        self.body.get(name).and_then(Json::as_object)
    }

    pub(crate) fn set_block(&mut self, name: &str, members: Members) {
        self.body.set(name, members);
    }

    pub(crate) fn set_service(&mut self, service: i32) {
        self.body.set("SERVICE_ID", service);
    }

    pub(crate) fn set_state(&mut self, role: FunctionRole, state: RuntimeState) {
        if let Some(function) = self.body.get_mut(role.as_str()).and_then(Json::as_object_mut) {
            function.set("STATE", state.as_str());
        }
    }

    pub(crate) fn set_amount(&mut self, role: FunctionRole, amount: Amount, value: u32) {
        if let Some(function) = self.body.get_mut(role.as_str()).and_then(Json::as_object_mut) {
            function.set(amount.member(), value);
        }
    }

    /// Puts what is seen now in the place of what was stored.
    pub(crate) fn show(&mut self, role: FunctionRole, seen: &ObservedFunction) {
        if self.function(role).is_none() {
            self.body.set(role.as_str(), Members::default());
        }
        if let Some(function) = self.body.get_mut(role.as_str()).and_then(Json::as_object_mut) {
            if function.get("FLAVOUR").and_then(Json::as_str).is_none() {
                function.set("FLAVOUR", "");
            }
            seen.onto(function);
        }
    }

    /// The body of its document. The end of a CDATA section in it is written so that it ends none, and what XML
    /// cannot carry so that it can.
    pub(crate) fn to_document(&self) -> String {
        let text = Json::Object(self.body.clone()).to_string().replace("]]>", "]]\\u003e");
        NOT_IN_XML.iter().fold(text, |text, c| text.replace(*c, &format!("\\u{:04x}", u32::from(*c))))
    }

    /// The body of an answer.
    pub fn to_answer(&self) -> String {
        let members = [("SERVERLESS_RUNTIME".to_owned(), Json::Object(self.members()))];
        Json::Object(members.into_iter().collect()).to_string()
    }

    fn members(&self) -> Members {
        let mut members = Members::default();
        members.set("NAME", self.name.as_str());
        members.set("ID", self.id);
        for (name, value) in self.body.iter() {
            members.set(name, value.clone());
        }
        members
    }
}

/// As it stands inside an answer.
impl Serialize for ServerlessRuntime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members().serialize(serializer)
    }
}

/// Older engines wrote numbers as text.
fn straighten(members: &mut Members, names: &[&str]) {
    for name in names {
        let number = members.get(name).filter(|json| json.as_str().is_some()).and_then(Json::as_integer);
        if let Some(number) = number {
            members.set(name, Json::Number(number.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use opennebula::NebulaTemplate;

    use super::*;

    fn document(body: &str) -> NebulaDocument {
        NebulaDocument {
            id: 45,
            uid: 2,
            gid: 1,
            uname: "cognit".into(),
            gname: "users".into(),
            name: "n".into(),
            kind: 1337,
            body: body.into(),
            template: NebulaTemplate::new(),
        }
    }

    fn seen() -> ObservedFunction {
        ObservedFunction {
            vm_id: Some(20),
            state: RuntimeState::Pending,
            error: None,
            amounts: [(Amount::Cpu, 1), (Amount::Memory, 128), (Amount::DiskSize, 1024)].into(),
            endpoint: "192.0.2.12".into(),
        }
    }

    fn asked(runtime: &str) -> Spec {
        Spec::parse(format!(r#"{{"SERVERLESS_RUNTIME":{runtime}}}"#).as_bytes()).unwrap()
    }

    #[test]
    fn a_runtime_is_answered_member_by_member_as_clients_know_it() {
        let spec = asked(r#"{"FAAS":{"FLAVOUR":"Function"}}"#);
        let mut runtime = ServerlessRuntime::asked(45, "Function_1", &spec);
        runtime.show(FunctionRole::Faas, &seen());
        runtime.set_service(44);
        let answer = r#"{"SERVERLESS_RUNTIME":{"NAME":"Function_1","ID":45,"FAAS":{"FLAVOUR":"Function","VM_ID":20,"STATE":"PENDING","CPU":1,"MEMORY":128,"DISK_SIZE":1024,"ENDPOINT":"192.0.2.12"},"SERVICE_ID":44}}"#;
        assert_eq!(runtime.to_answer(), answer);
        let spec = asked(r#"{"FAAS":{"FLAVOUR":"F","CPU":1,"MEMORY":128,"DISK_SIZE":1024},"SCHEDULING":{}}"#);
        let mut runtime = ServerlessRuntime::asked(45, "n", &spec);
        runtime.show(FunctionRole::Faas, &seen());
        runtime.set_service(44);
        let stored = r#"{"FAAS":{"FLAVOUR":"F","CPU":1,"MEMORY":128,"DISK_SIZE":1024,"VM_ID":20,"STATE":"PENDING","ENDPOINT":"192.0.2.12"},"SCHEDULING":{},"SERVICE_ID":44}"#;
        assert_eq!(runtime.to_document(), stored);
    }

    #[test]
    fn a_document_of_an_older_engine_is_read() {
        let body = r#"{"FAAS":{"FLAVOUR":"nature","CPU":"1","VCPU":"1","MEMORY":"768","DISK_SIZE":"1024","VM_ID":"3","STATE":"ACTIVE","ENDPOINT":null},"SERVICE_ID":"9","registration_time":1693247494,"ID":7}"#;
        let runtime = ServerlessRuntime::stored(&document(body)).unwrap();
        assert_eq!((runtime.service_id(), runtime.vm_id(FunctionRole::Faas)), (Some(9), Some(3)));
        let answer = r#"{"SERVERLESS_RUNTIME":{"NAME":"n","ID":45,"FAAS":{"FLAVOUR":"nature","CPU":1,"VCPU":"1","MEMORY":768,"DISK_SIZE":1024,"VM_ID":3,"STATE":"ACTIVE","ENDPOINT":""},"SERVICE_ID":9,"registration_time":1693247494}}"#;
        assert_eq!(runtime.to_answer(), answer);
    }

    #[test]
    fn what_is_over_is_not_told_any_longer() {
        let body = r#"{"FAAS":{"FLAVOUR":"F","STATE":"ERROR","ERROR":"old"},"SERVICE_ID":1}"#;
        let mut runtime = ServerlessRuntime::stored(&document(body)).unwrap();
        runtime.show(FunctionRole::Faas, &seen());
        assert_eq!(
            (runtime.state(FunctionRole::Faas), runtime.error(FunctionRole::Faas)),
            (Some(RuntimeState::Pending), None)
        );
    }

    #[test]
    fn the_end_of_a_cdata_section_ends_nothing() {
        let note = "a]]>b]]]>\u{ffff}\u{0}";
        let spec = asked(&format!(r#"{{"FAAS":{{"FLAVOUR":"F"}},"NOTE":{}}}"#, Json::from(note)));
        let text = ServerlessRuntime::asked(1, "n", &spec).to_document();
        assert!(!text.contains("]]>") && !text.contains(['\u{ffff}', '\u{0}']), "{text}");
        let read = ServerlessRuntime::stored(&document(&text)).unwrap();
        assert_eq!(read.body.get("NOTE").and_then(Json::as_str), Some(note));
    }

    #[test]
    fn a_document_without_a_runtime_in_it_is_told_apart() {
        for body in ["", "[]", "{nope"] {
            let runtime_error = ServerlessRuntime::stored(&document(body)).unwrap_err();
            assert_eq!(runtime_error.status, 500, "{body}");
        }
    }

    #[test]
    fn an_empty_data_service_is_echoed_and_is_none() {
        let body = r#"{"FAAS":{"FLAVOUR":"F"},"DAAS":{"FLAVOUR":""},"SERVICE_ID":1}"#;
        let runtime = ServerlessRuntime::stored(&document(body)).unwrap();
        assert_eq!((runtime.roles().count(), runtime.tuple().as_str()), (1, "F"));
        assert!(runtime.to_answer().contains(r#""DAAS":{"FLAVOUR":""}"#));
    }
}
