//! The VM templates that are there from the start.

use time::OffsetDateTime;

use super::call_error::NebulaError;
use super::machines::extended;
use super::release::Release;
use super::template::TemplateText;
use super::template_text;
use super::users::{AuthenticatedUser, NebulaRight, Owned, Permissions};
use super::xml::{write, write_head, write_permissions, write_template};

#[derive(Debug)]
pub(crate) struct VmTemplate {
    pub(crate) id: i32,
    name: String,
    owner: AuthenticatedUser,
    permissions: Permissions,
    registered_at: OffsetDateTime,
    pub(super) template: TemplateText,
    /// Every machine of it ends in `BOOT_FAILURE`.
    pub(super) boot_fails: bool,
}

const CAPACITY: &str = "CPU=1\nVCPU=1\nMEMORY=128\n";
const CONTEXT: &str = "CONTEXT=[NETWORK=\"YES\",SSH_PUBLIC_KEY=\"$USER[SSH_PUBLIC_KEY]\"]\n";
const DISK: &str = "DISK=[IMAGE=\"function-image\",IMAGE_UNAME=\"oneadmin\"]\n";
const NIC: &str = "NIC=[NETWORK=\"edge-net\",NETWORK_UNAME=\"oneadmin\"]\n";
const READY_CONTEXT: &str = "CONTEXT=[NETWORK=\"YES\",REPORT_READY=\"YES\",TOKEN=\"YES\"]\n";
const SCRIPT_CONTEXT: &str = "CONTEXT=[NETWORK=\"YES\",START_SCRIPT=\"#!/bin/sh\necho one\necho two\"]\n";
const SIZED_DISK: &str = "DISK=[IMAGE=\"function-image\",IMAGE_UNAME=\"oneadmin\",SIZE=\"2048\"]\n";
const MISSING_DISK: &str = "DISK=[IMAGE=\"missing-image\",IMAGE_UNAME=\"oneadmin\"]\n";

/// Name, parts of the text, and whether the group may use it. The position is the id.
const FIXTURES: &[(&str, &[&str], bool)] = &[
    ("Function", &[CAPACITY, CONTEXT, DISK, NIC], true),
    ("Data", &[CAPACITY, CONTEXT, DISK, NIC], true),
    ("FunctionNoNet", &[CAPACITY, CONTEXT, DISK], true),
    ("FunctionNoDisk", &[CAPACITY, CONTEXT], true),
    ("FunctionNoContext", &[CAPACITY, DISK, NIC], true),
    ("FunctionSizedDisk", &[CAPACITY, CONTEXT, SIZED_DISK, NIC], true),
    ("FunctionReady", &[CAPACITY, READY_CONTEXT, DISK, NIC], true),
    ("FunctionTwoDisks", &[CAPACITY, CONTEXT, DISK, SIZED_DISK, NIC], true),
    (BOOT_FAILS, &[CAPACITY, CONTEXT, DISK, NIC], true),
    ("FunctionDenied", &[CAPACITY, CONTEXT, DISK, NIC], false),
    ("FunctionNoImage", &[CAPACITY, CONTEXT, MISSING_DISK, NIC], true),
    ("FunctionScript", &[CAPACITY, SCRIPT_CONTEXT, DISK, NIC], true),
];
const BOOT_FAILS: &str = "FunctionBootFails";

#[derive(Debug)]
pub(crate) struct VmTemplates {
    all: Vec<VmTemplate>,
}

impl VmTemplates {
    pub(super) fn fixtures(registered_at: OffsetDateTime) -> Self {
        let fixture = |(id, (name, parts, is_open)): (i32, &(&str, &[&str], bool))| VmTemplate {
            id,
            name: (*name).to_owned(),
            owner: AuthenticatedUser::oneadmin_for_users(),
            permissions: if *is_open { Permissions::GROUP_USE } else { Permissions::PRIVATE },
            registered_at,
            template: template_text::parse(&parts.concat(), Release::Six).expect("a test reads all fixtures"),
            boot_fails: *name == BOOT_FAILS,
        };
        VmTemplates { all: (0..).zip(FIXTURES).map(fixture).collect() }
    }

    pub(super) fn get(&self, id: i32) -> Option<&VmTemplate> {
        self.all.iter().find(|template| template.id == id)
    }

    pub(super) fn open(&self, id: i32, caller: &AuthenticatedUser) -> Result<&VmTemplate, NebulaError> {
        if id < 0 {
            return Err(NebulaError::unauthorized(caller, NebulaRight::Use, VmTemplate::OBJECT, None));
        }
        let template = self.get(id).ok_or_else(|| NebulaError::missing("virtual machine template", id))?;
        template.require(caller, NebulaRight::Use)?;
        Ok(template)
    }
}

impl VmTemplate {
    /// In full, its disks have what their images say.
    pub(super) fn to_xml(&self, is_extended: bool) -> String {
        let mut out = String::from("<VMTEMPLATE>");
        write_head(&mut out, self.id, &self.owner, &self.name);
        write_permissions(&mut out, self.permissions);
        write(&mut out, "REGTIME", self.registered_at.unix_timestamp());
        if is_extended {
            write_template(&mut out, "TEMPLATE", &extended(&self.template));
        } else {
            write_template(&mut out, "TEMPLATE", &self.template);
        }
        out += "</VMTEMPLATE>";
        out
    }
}

impl Owned for VmTemplate {
    const OBJECT: &'static str = "TEMPLATE";

    fn id(&self) -> i32 {
        self.id
    }

    fn owner(&self) -> &AuthenticatedUser {
        &self.owner
    }

    fn permissions(&self) -> Permissions {
        self.permissions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fixtures_can_be_read() {
        let templates = VmTemplates::fixtures(OffsetDateTime::UNIX_EPOCH);
        assert_eq!(templates.all.len(), FIXTURES.len());
        assert_eq!(
            templates.open(7, &AuthenticatedUser::oneadmin()).unwrap().template.vectors("DISK").count(),
            2
        );
        let cognit = AuthenticatedUser { uid: 2, gid: 1, name: "cognit".into(), group: "users".into() };
        let call_error = templates.open(9, &cognit).unwrap_err();
        assert_eq!(call_error.message, "User [2] : Not authorized to perform USE TEMPLATE [9].");
    }
}
