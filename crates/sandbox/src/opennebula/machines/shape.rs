//! A machine as XML, in full and in short.

use time::OffsetDateTime;

use super::machine::{Machine, Record};
use crate::opennebula::template::Template;
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
const OF_SHORT_TEMPLATE: &[&str] = &["CPU", "DISK", "GRAPHICS", "MEMORY", "NIC"];

impl Machine {
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
        let taken = |names: &[&str], from: &Template| from.clone().split_off(|name| names.contains(&name));
        write_template(&mut out, "TEMPLATE", &taken(OF_SHORT_TEMPLATE, &self.template));
        out += "<MONITORING/>";
        write_template(&mut out, "USER_TEMPLATE", &taken(OF_SHORT_USER_TEMPLATE, &self.user_template));
        out += "<HISTORY_RECORDS/></VM>";
        out
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
        write(out, "OID", self.id);
        write(out, "SEQ", seq);
        write(out, "HOSTNAME", Machine::host());
        write(out, "HID", 0);
        write(out, "CID", 0);
        write(out, "STIME", record.started);
        write(out, "ETIME", record.ended);
        write(out, "VM_MAD", "<![CDATA[dummy]]>");
        write(out, "TM_MAD", "<![CDATA[dummy]]>");
        write(out, "DS_ID", 0);
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
}
