//! A machine as XML, in full and in short.

use time::OffsetDateTime;

use super::machine::{Record, SimulatedVm};
use crate::opennebula::release::Release;
use crate::opennebula::template::{TemplateText, TemplateValue};
use crate::opennebula::xml::{write, write_head, write_permissions, write_template};

/// Of what the user wrote, a list in short has only these.
const OF_SHORT_USER_TEMPLATE: &[&str] = &[
    "ERROR",
    "LABELS",
    "SCHED_DS_RANK",
    "SCHED_DS_REQUIREMENTS",
    "SCHED_MESSAGE",
    "SCHED_RANK",
    "SCHED_REQUIREMENTS",
    "USER_PRIORITY",
];
const OF_SHORT_TEMPLATE: &[&str] = &["CPU", "GRAPHICS", "MEMORY", "VCPU"];
const OF_SHORT_DISK: &[&str] = &[
    "DISK_ID",
    "DATASTORE",
    "DATASTORE_ID",
    "IMAGE",
    "IMAGE_ID",
    "SIZE",
    "TYPE",
    "CLONE",
    "CLONE_TARGET",
    "LN_TARGET",
    "DISK_SNAPSHOT_TOTAL_SIZE",
];
const OF_SHORT_NIC: &[&str] = &["IP", "MAC", "NETWORK", "NETWORK_ID", "NIC_ID", "SECURITY_GROUPS"];

impl SimulatedVm {
    pub(crate) fn to_pool_xml(&self, is_extended: bool) -> String {
        if is_extended { self.to_xml() } else { self.to_short_xml() }
    }

    /// `<VM>` as lists answer it that are not extended.
    fn to_short_xml(&self) -> String {
        let mut out = String::from("<VM>");
        let (state, lcm_state) = self.state().codes();
        write_head(&mut out, self.id, &self.owner, &self.name);
        write(&mut out, "LAST_POLL", 0);
        write(&mut out, "STATE", state);
        write(&mut out, "LCM_STATE", lcm_state);
        write(&mut out, "RESCHED", i32::from(self.is_to_resched));
        self.write_times(&mut out);
        write_template(&mut out, "TEMPLATE", &self.short_template());
        out += "<MONITORING/>";
        let user_template =
            self.user_template.clone().split_off(|name| OF_SHORT_USER_TEMPLATE.contains(&name));
        write_template(&mut out, "USER_TEMPLATE", &user_template);
        match self.history.len().checked_sub(1) {
            None => out += "<HISTORY_RECORDS/>",
            Some(last) => {
                out += "<HISTORY_RECORDS><HISTORY>";
                self.write_host(&mut out, last);
                write(&mut out, "DS_ID", 0);
                write_drivers(&mut out);
                write(&mut out, "ACTION", 0);
                out += "</HISTORY></HISTORY_RECORDS>";
            }
        }
        out += "</VM>";
        out
    }

    fn short_template(&self) -> TemplateText {
        let mut short = self.template.clone().split_off(|name| OF_SHORT_TEMPLATE.contains(&name));
        for (name, members) in [("DISK", OF_SHORT_DISK), ("NIC", OF_SHORT_NIC)] {
            for vector in self.template.vectors(name) {
                let taken = vector.iter().filter(|(member, _)| members.contains(&member.as_str()));
                let taken = taken.map(|(member, text)| (member.clone(), text.clone())).collect();
                short.add(name, TemplateValue::Vector(taken));
            }
        }
        short
    }

    fn write_times(&self, out: &mut String) {
        write(out, "STIME", self.born_at.unix_timestamp());
        write(out, "ETIME", self.ended_at.map_or(0, OffsetDateTime::unix_timestamp));
        let deploy_id = if self.history.is_empty() { String::new() } else { self.deploy_id() };
        write(out, "DEPLOY_ID", deploy_id);
    }

    /// `<VM>` as `one.vm.info` answers it.
    pub(crate) fn to_xml(&self) -> String {
        let mut out = String::from("<VM>");
        let (state, lcm_state) = self.state().codes();
        write_head(&mut out, self.id, &self.owner, &self.name);
        write_permissions(&mut out, self.permissions);
        write(&mut out, "LAST_POLL", 0);
        for (name, value) in [
            ("STATE", state),
            ("LCM_STATE", lcm_state),
            ("PREV_STATE", state),
            ("PREV_LCM_STATE", lcm_state),
            ("RESCHED", i32::from(self.is_to_resched)),
        ] {
            write(&mut out, name, value);
        }
        self.write_times(&mut out);
        out += "<MONITORING></MONITORING><SCHED_ACTIONS></SCHED_ACTIONS>";
        write_template(&mut out, "TEMPLATE", &self.template);
        write_template(&mut out, "USER_TEMPLATE", &self.user_template);
        if self.history.is_empty() {
            out += "<HISTORY_RECORDS/>";
        } else {
            out += "<HISTORY_RECORDS>";
            for (seq, record) in self.history.iter().enumerate() {
                self.write_record(&mut out, seq, record);
            }
            out += "</HISTORY_RECORDS>";
        }
        out += "<BACKUPS><BACKUP_CONFIG/><BACKUP_IDS></BACKUP_IDS></BACKUPS></VM>";
        out
    }

    fn write_record(&self, out: &mut String, seq: usize, record: &Record) {
        *out += "<HISTORY>";
        self.write_host(out, seq);
        write(out, "STIME", record.started);
        write(out, "ETIME", record.ended);
        write_drivers(out);
        write(out, "DS_ID", 0);
        if self.release == Release::Seven {
            write(out, "PLAN_ID", -1);
            write(out, "ACTION_ID", -1);
        }
        for (name, second) in [
            ("PSTIME", record.prolog.start),
            ("PETIME", record.prolog.end),
            ("RSTIME", record.running.start),
            ("RETIME", record.running.end),
            ("ESTIME", record.epilog.start),
            ("EETIME", record.epilog.end),
        ] {
            write(out, name, second);
        }
        write(out, "ACTION", 0);
        for name in ["UID", "GID", "REQUEST_ID"] {
            write(out, name, -1);
        }
        *out += "</HISTORY>";
    }
    fn write_host(&self, out: &mut String, seq: usize) {
        write(out, "OID", self.id);
        write(out, "SEQ", seq);
        write(out, "HOSTNAME", SimulatedVm::host());
        write(out, "HID", 0);
        write(out, "CID", 0);
    }
}

fn write_drivers(out: &mut String) {
    write(out, "VM_MAD", "<![CDATA[dummy]]>");
    write(out, "TM_MAD", "<![CDATA[dummy]]>");
}
