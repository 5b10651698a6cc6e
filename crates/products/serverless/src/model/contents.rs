//! What a role adds to its VM template: capacity, disk, placement, and who the VM acts for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{ExposeSecret, SecretString};
use opennebula::{AttributeName, Dialect, NebulaTemplate, Text, Unfit, Vector, VmTemplate};

use super::fields::{Amount, BLOCK_FIELDS};
use super::function::{FunctionRole, FunctionSpec};
use super::json::{Json, Members};
use super::runtime_error::RuntimeError;
use super::settings::ServerlessSettings;
use super::spec::Spec;

/// What all roles of one service share.
pub(crate) struct Common<'a> {
    pub(crate) settings: &'a ServerlessSettings,
    pub(crate) spec: &'a Spec,
    pub(crate) service_template: i32,
    /// As whom the VM can act: a user and a password or a login.
    pub(crate) login: Option<&'a SecretString>,
}

const fn name(name: &'static str) -> AttributeName {
    AttributeName::of(name)
}

impl Common<'_> {
    /// In the order that existing tools know.
    pub(crate) fn contents(
        &self,
        (role, dialect): (FunctionRole, Dialect),
        asked: &FunctionSpec,
        (base, image_size): (&VmTemplate, Option<u32>),
    ) -> Result<NebulaTemplate, RuntimeError> {
        let settings = self.settings;
        let base = &base.template;
        let mut made = NebulaTemplate::new();
        let yes = || Text::ours("YES");
        let hot = vec![(name("CPU_HOT_ADD_ENABLED"), yes()), (name("MEMORY_HOT_ADD_ENABLED"), yes())];
        made.push_vector(name("HOT_RESIZE"), hot);
        made.set(name("MEMORY_RESIZE_MODE"), Text::ours(settings.resize_mode.as_str()));
        self.add_disks(&mut made, role, asked, (base, image_size))?;
        let wanted = |amount| asked.amounts.get(&amount).copied();
        let cpu = wanted(Amount::Cpu).or_else(|| whole(base.get("VCPU"))).unwrap_or(settings.cpu_default);
        let memory =
            wanted(Amount::Memory).or_else(|| whole(base.get("MEMORY"))).unwrap_or(settings.memory_default);
        let amounts = [
            (name("CPU"), cpu),
            (name("VCPU"), cpu),
            (name("MEMORY"), memory),
            (name("VCPU_MAX"), cpu.saturating_mul(settings.cpu_mult)),
            (name("MEMORY_MAX"), memory.saturating_mul(settings.memory_mult)),
        ];
        for (name, amount) in amounts {
            made.set(name, Text::ours(amount.to_string()));
        }
        if let Some(context) = self.context(dialect, base) {
            made.push(context);
        }
        place(&mut made, self.spec, settings)?;
        made.set(name("FLAVOURS"), Text::ours(self.service_template.to_string()));
        Ok(made)
    }

    /// The context of the VM template, where something about it changes. What is sent takes its place.
    fn context(&self, dialect: Dialect, base: &NebulaTemplate) -> Option<Vector> {
        let given = base.vectors("CONTEXT").next();
        let breaks = given.is_some_and(|given| {
            dialect == Dialect::Seven && given.pairs().iter().any(|(_, value)| value.as_str().contains('\n'))
        });
        if self.login.is_none() && !breaks {
            return None;
        }
        let mut context = given.cloned().unwrap_or_else(|| Vector::new(name("CONTEXT")));
        if breaks {
            keep_line_breaks(&mut context);
        }
        if let Some(login) = self.login {
            context.set(name("SR_AUTH"), Text::ours(STANDARD.encode(login.expose_secret())));
        }
        Some(context)
    }

    /// All disks of the VM template, the first with the size that was asked for.
    fn add_disks(
        &self,
        made: &mut NebulaTemplate,
        role: FunctionRole,
        asked: &FunctionSpec,
        (base, image_size): (&NebulaTemplate, Option<u32>),
    ) -> Result<(), RuntimeError> {
        let mut disks: Vec<Vector> = base.vectors("DISK").cloned().collect();
        let Some(first) = disks.first_mut() else {
            let error = format!("VM Template for Function {} has no disk", role.as_str());
            return Err(RuntimeError::new(
                422,
                error,
                "give the VM template a DISK, or ask for another flavour",
            ));
        };
        let least = image_size.unwrap_or_default();
        let wanted = asked.amounts.get(&Amount::DiskSize).copied();
        if let Some(size) = wanted.filter(|size| *size < least) {
            let role = role.as_str();
            let message = format!(
                "The property '#/SERVERLESS_RUNTIME/{role}/DISK_SIZE' is {size}, and the image of the disk has {least} MB: \
                 give at least {least}, or leave it out"
            );
            return Err(RuntimeError::new(422, "Failed to create Serverless Runtime Service", message));
        }
        let default = || self.settings.disk_default.max(least);
        let size = wanted.or_else(|| whole(first.get("SIZE"))).unwrap_or_else(default);
        first.set(name("SIZE"), Text::ours(size.to_string()));
        for disk in disks {
            made.push(disk);
        }
        Ok(())
    }
}

/// Where a VM should be, and what is known about its device: attributes that the scheduler reads.
pub(crate) fn place(
    made: &mut NebulaTemplate,
    spec: &Spec,
    settings: &ServerlessSettings,
) -> Result<(), RuntimeError> {
    if let Some(scheduling) = spec.block("SCHEDULING") {
        for (member, attribute) in SCHEDULING {
            if let Some(text) = scheduling.get(member).and_then(Json::as_str) {
                let path = format!("SCHEDULING/{member}");
                made.set(name(attribute), from_user(&path, schedule(text, settings))?);
            }
        }
    }
    if let Some(info) = spec.block("DEVICE_INFO") {
        made.push(device_info(info)?);
    }
    Ok(())
}

pub(crate) const SCHEDULING: [(&str, &str); 2] =
    [("POLICY", "SCHED_RANK"), ("REQUIREMENTS", "SCHED_REQUIREMENTS")];

/// As the scheduler gets it.
pub(crate) fn schedule(text: &str, settings: &ServerlessSettings) -> String {
    if settings.scheduling_verbatim { text.to_owned() } else { text.to_uppercase() }
}

/// The members that VMs know, in the order in which they came.
pub(crate) fn device_info(info: &Members) -> Result<Vector, RuntimeError> {
    let mut vector = Vector::new(name("DEVICE_INFO"));
    for (member, value) in info.iter() {
        let known = BLOCK_FIELDS.iter().find(|known| known.block == "DEVICE_INFO" && known.member == member);
        let Some(known) = known.map(|known| known.member) else { continue };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        vector.set(name(known), from_user(&format!("DEVICE_INFO/{known}"), text)?);
    }
    Ok(vector)
}

fn from_user(path: &str, text: String) -> Result<Text, RuntimeError> {
    Text::from_user(text).map_err(|why| unfit(path, why))
}

fn unfit(path: &str, why: Unfit) -> RuntimeError {
    RuntimeError::invalid(format!("The property '#/SERVERLESS_RUNTIME/{path}' cannot be used: {why}"))
}

fn whole(text: Option<&str>) -> Option<u32> {
    text?.trim().parse().ok().filter(|number| *number > 0)
}

/// OneFlow 7 puts a comma before every line break inside a vector. A script travels in the form that VMs decode;
/// of all other values only the last line breaks can be left out.
fn keep_line_breaks(context: &mut Vector) {
    let broken: Vec<(AttributeName, String)> = context
        .pairs()
        .iter()
        .filter(|(_, value)| value.as_str().contains('\n'))
        .map(|(name, value)| (name.clone(), value.as_str().to_owned()))
        .collect();
    for (own, value) in broken {
        if own.as_str() == START_SCRIPT {
            context.remove(START_SCRIPT);
            context.set(name("START_SCRIPT_BASE64"), Text::ours(STANDARD.encode(value)));
        } else {
            let value = if own.as_str().ends_with("BASE64") {
                value.split_whitespace().collect()
            } else {
                value.trim_end_matches('\n').to_owned()
            };
            context.set(own, Text::ours(value));
        }
    }
}

const START_SCRIPT: &str = "START_SCRIPT";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::settings::ResizeMode;

    /// With more members of the function and of the runtime.
    fn spec(function: &str, runtime: &str) -> Spec {
        let function = format!(r#"{{"FLAVOUR":"Function"{function}}}"#);
        let text = format!(r#"{{"SERVERLESS_RUNTIME":{{"FAAS":{function}{runtime}}}}}"#);
        Spec::parse(text.as_bytes()).unwrap()
    }

    fn base(disks: &[&[(&'static str, &'static str)]]) -> VmTemplate {
        let mut template = NebulaTemplate::new();
        template.set(name("CPU"), "0.5");
        template.set(name("VCPU"), "1");
        template.set(name("MEMORY"), "128");
        for disk in disks {
            let pairs = disk.iter().map(|(key, value)| (AttributeName::of(key), Text::ours(*value)));
            template.push_vector(name("DISK"), pairs.collect());
        }
        let context = vec![(name("NETWORK"), "YES".into()), (name("KEY"), "$USER[KEY]".into())];
        template.push_vector(name("CONTEXT"), context);
        VmTemplate { id: 0, name: "Function".into(), template }
    }

    fn made(
        settings: &ServerlessSettings,
        spec: &Spec,
        base: &VmTemplate,
        login: Option<&str>,
    ) -> Result<NebulaTemplate, RuntimeError> {
        made_for(Dialect::Six, settings, spec, base, login)
    }

    fn made_for(
        dialect: Dialect,
        settings: &ServerlessSettings,
        spec: &Spec,
        base: &VmTemplate,
        login: Option<&str>,
    ) -> Result<NebulaTemplate, RuntimeError> {
        let login = login.map(SecretString::from);
        let common = Common { settings, spec, service_template: 3, login: login.as_ref() };
        common.contents((FunctionRole::Faas, dialect), &spec.faas, (base, Some(1000)))
    }

    #[test]
    fn a_role_adds_everything_in_its_order() {
        let spec = spec(
            r#","CPU":2,"MEMORY":133,"DISK_SIZE":1025"#,
            r#","SCHEDULING":{"POLICY":"energy","REQUIREMENTS":"FREE_CPU > 1"},
            "DEVICE_INFO":{"GEOGRAPHIC_LOCATION":"Madrid","LATENCY_TO_PE":0.36,"X":"y"}"#,
        );
        let base = base(&[&[("IMAGE", "function-image")]]);
        let made = made(&ServerlessSettings::default(), &spec, &base, Some("cognit:cognitpass")).unwrap();
        let text = made.to_text().unwrap();
        let expected = "HOT_RESIZE=[CPU_HOT_ADD_ENABLED=\"YES\",\nMEMORY_HOT_ADD_ENABLED=\"YES\"]\n\
            MEMORY_RESIZE_MODE=\"BALLOONING\"\nDISK=[IMAGE=\"function-image\",\nSIZE=\"1025\"]\n\
            CPU=\"2\"\nVCPU=\"2\"\nMEMORY=\"133\"\nVCPU_MAX=\"4\"\nMEMORY_MAX=\"266\"\n\
            CONTEXT=[NETWORK=\"YES\",\nKEY=\"$USER[KEY]\",\nSR_AUTH=\"Y29nbml0OmNvZ25pdHBhc3M=\"]\n\
            SCHED_RANK=\"ENERGY\"\nSCHED_REQUIREMENTS=\"FREE_CPU > 1\"\n\
            DEVICE_INFO=[GEOGRAPHIC_LOCATION=\"Madrid\",\nLATENCY_TO_PE=\"0.36\"]\nFLAVOURS=\"3\"";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_no_one_asks_for_comes_from_the_vm_template_and_then_from_the_settings() {
        let plain = spec("", "");
        let settings =
            ServerlessSettings { resize_mode: ResizeMode::Hotplug, ..ServerlessSettings::default() };
        let known = made(&settings, &plain, &base(&[&[("IMAGE", "i")]]), None).unwrap();
        let of = |template: &NebulaTemplate, name: &str| template.get(name).map(str::to_owned);
        assert_eq!((of(&known, "CPU"), of(&known, "MEMORY")), (Some("1".into()), Some("128".into())));
        assert_eq!(of(&known, "MEMORY_RESIZE_MODE").as_deref(), Some("HOTPLUG"));
        assert_eq!(known.vectors("DISK").next().unwrap().get("SIZE"), Some("1024"));
        let mut bare = base(&[&[("IMAGE", "i")]]);
        bare.template.remove("VCPU");
        bare.template.remove("MEMORY");
        let unknown = made(&settings, &plain, &bare, None).unwrap();
        assert_eq!((of(&unknown, "CPU"), of(&unknown, "MEMORY")), (Some("2".into()), Some("1024".into())));
    }

    #[test]
    fn the_first_disk_gets_the_size_and_the_others_stay() {
        let spec = spec(r#","DISK_SIZE":2048"#, "");
        let base = base(&[&[("IMAGE", "a"), ("SIZE", "512")], &[("IMAGE", "b"), ("SIZE", "77")]]);
        let made = made(&ServerlessSettings::default(), &spec, &base, None).unwrap();
        let sizes: Vec<_> = made.vectors("DISK").map(|disk| (disk.get("IMAGE"), disk.get("SIZE"))).collect();
        assert_eq!(sizes, [(Some("a"), Some("2048")), (Some("b"), Some("77"))]);
    }

    #[test]
    fn no_disk_is_smaller_than_its_image() {
        let (settings, base) = (ServerlessSettings::default(), base(&[&[("IMAGE", "a")]]));
        let small = ServerlessSettings { disk_default: 10, ..settings.clone() };
        let made_plain = made(&small, &spec("", ""), &base, None).unwrap();
        assert_eq!(made_plain.vectors("DISK").next().unwrap().get("SIZE"), Some("1000"));
        assert!(made(&settings, &spec(r#","DISK_SIZE":1000"#, ""), &base, None).is_ok());
        let runtime_error = made(&settings, &spec(r#","DISK_SIZE":999"#, ""), &base, None).unwrap_err();
        let message = runtime_error.message.as_str().unwrap();
        assert!(
            runtime_error.status == 422 && message.contains("FAAS/DISK_SIZE' is 999"),
            "{runtime_error:?}"
        );
    }

    #[test]
    fn a_vm_template_without_a_disk_is_refused() {
        let runtime_error =
            made(&ServerlessSettings::default(), &spec("", ""), &base(&[]), None).unwrap_err();
        assert_eq!(
            (runtime_error.status, runtime_error.error.as_str()),
            (422, "VM Template for Function FAAS has no disk")
        );
    }

    #[test]
    fn without_a_login_the_context_stays_as_it_is() {
        let base = base(&[&[("IMAGE", "i")]]);
        let made = made(&ServerlessSettings::default(), &spec("", ""), &base, None).unwrap();
        assert_eq!(made.vectors("CONTEXT").count(), 0);
    }

    #[test]
    fn requirements_can_keep_their_letters() {
        let spec = spec("", r#","SCHEDULING":{"REQUIREMENTS":"ARCH=\"x86_64\""}"#);
        let settings = ServerlessSettings { scheduling_verbatim: true, ..ServerlessSettings::default() };
        let made = made(&settings, &spec, &base(&[&[("IMAGE", "i")]]), None).unwrap();
        assert_eq!(made.get("SCHED_REQUIREMENTS"), Some("ARCH=\"x86_64\""));
        assert!(made.to_text().unwrap().contains(r#"SCHED_REQUIREMENTS="ARCH=\"x86_64\"""#));
    }

    #[test]
    fn a_value_cannot_become_an_attribute() {
        let spec = spec("", r#","DEVICE_INFO":{"GEOGRAPHIC_LOCATION":"x\"] INJECTED=[A=\"bar"}"#);
        let made = made(&ServerlessSettings::default(), &spec, &base(&[&[("IMAGE", "i")]]), None).unwrap();
        assert!(made.to_text().unwrap().contains(r#"GEOGRAPHIC_LOCATION="x\"] INJECTED=[A=\"bar""#));
    }

    #[test]
    fn no_line_break_goes_into_a_vector_of_oneflow_7() {
        let login = format!("user:{}", "p".repeat(200));
        let (settings, spec) = (ServerlessSettings::default(), spec("", ""));
        let mut base = base(&[&[("IMAGE", "i")]]);
        for login in [None, Some(login.as_str())] {
            let plain = made_for(Dialect::Seven, &settings, &spec, &base, login).unwrap();
            assert_eq!(plain.vectors("CONTEXT").count(), usize::from(login.is_some()));
            assert!(!plain.to_json().unwrap().to_string().contains("\\n"));
        }
        base.template.remove("CONTEXT");
        let script = "#!/bin/sh\necho \"$HOME\"\n";
        let pairs = [
            ("NETWORK", "YES"),
            ("START_SCRIPT", script),
            ("KEY", "ssh-rsa a\n"),
            ("X_BASE64", "YQ\nYg==\n"),
        ];
        let pairs = pairs.map(|(key, value)| (name(key), Text::ours(value)));
        base.template.push_vector(name("CONTEXT"), pairs.to_vec());
        for login in [None, Some(login.as_str())] {
            let made = made_for(Dialect::Seven, &settings, &spec, &base, login).unwrap();
            let context = made.vectors("CONTEXT").next().unwrap();
            assert_eq!(context.get("START_SCRIPT"), None);
            assert_eq!(context.get("START_SCRIPT_BASE64"), Some(STANDARD.encode(script).as_str()));
            assert_eq!((context.get("KEY"), context.get("NETWORK")), (Some("ssh-rsa a"), Some("YES")));
            assert_eq!(context.get("X_BASE64"), Some("YQYg=="));
            assert_eq!(context.get("SR_AUTH"), login.map(|login| STANDARD.encode(login)).as_deref());
        }
        let six = made(&settings, &spec, &base, Some(&login)).unwrap();
        let context = six.vectors("CONTEXT").next().unwrap();
        assert_eq!(context.get("START_SCRIPT"), Some(script), "OneFlow 6 keeps it");
        assert_eq!(context.get("SR_AUTH"), Some(STANDARD.encode(&login).as_str()));
    }
}
