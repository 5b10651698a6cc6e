//! VMs and what they are made from.

use std::collections::BTreeMap;

use xml::Element;

use super::super::template::NebulaTemplate;
use super::super::xmlrpc::Param;
use super::super::{NebulaCredentials, NebulaError, NebulaErrorKind, OpenNebula};
use super::ONED;
use super::client::Method;
use super::documents::{DocumentPage, written};
use super::object::{named, number, template, text};

const TEMPLATE_INFO: Method = Method::read("one.template.info", "reads the VM template #");
const INFO: Method = Method::read("one.vm.info", "reads VM #");
const INFOSET: Method = Method::read("one.vmpool.infoset", "reads several VMs");
const POOL: Method = Method::read("one.vmpool.infoextended", "lists VMs from #");
const SHORT_POOL: Method = Method::read("one.vmpool.info", "lists VMs from #");
const RESIZE: Method = Method::write("one.vm.resize", "resizes VM #");
const RESIZE_DISK: Method = Method::write("one.vm.diskresize", "resizes a disk of VM #");
const UPDATE: Method = Method::write("one.vm.update", "updates VM #");
const ACTION: Method = Method::write("one.vm.action", "acts on VM #");
const RECOVER: Method = Method::write("one.vm.recover", "recovers VM #");

const APPEND: i32 = 1;
const ALL_VISIBLE: i32 = -2;
const ALL_BUT_DONE: i32 = -1;
/// So many VMs, each with many attributes, stay far below what an answer may have.
const PAGE: u32 = 200;
/// A page begins before the last one ended: VMs that end in between move all others up.
const STRIDE: u32 = 150;
/// Beyond this, looking through everything is the wrong way.
const PAGES_MAX: u32 = 300;
/// So many ids make one call.
const SET_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmTemplate {
    pub id: i32,
    pub name: String,
    pub template: NebulaTemplate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualMachine {
    pub id: i32,
    pub uid: i32,
    pub name: String,
    pub state: i32,
    /// Zero, whenever `state` is not 3.
    pub lcm_state: i32,
    pub resched: bool,
    pub template: NebulaTemplate,
    pub user_template: NebulaTemplate,
}

/// What a VM has, in cores and mebibytes. What is not given stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capacity {
    pub cpu: Option<u32>,
    pub memory: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmAction {
    Resched,
    Terminate,
    TerminateHard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    Retry = 2,
    Delete = 3,
}

/// Reading.
impl OpenNebula {
    pub async fn vm_template(&self, who: &NebulaCredentials, id: i32) -> Result<VmTemplate, NebulaError> {
        let params = [Param::Integer(id), Param::Boolean(false), Param::Boolean(false)];
        let element = self.oned.element(who, TEMPLATE_INFO, &params).await?;
        let found = named(&element, "VMTEMPLATE")?;
        let template = template(found, "TEMPLATE");
        Ok(VmTemplate { id: number(found, "ID")?, name: text(found, "NAME"), template })
    }

    /// Megabytes of the image of the first disk of a VM template: no disk can be smaller. Nothing where it is not told.
    pub async fn image_size(&self, who: &NebulaCredentials, id: i32) -> Result<Option<u32>, NebulaError> {
        let params = [Param::Integer(id), Param::Boolean(true), Param::Boolean(false)];
        let element = self.oned.element(who, TEMPLATE_INFO, &params).await?;
        let template = template(named(&element, "VMTEMPLATE")?, "TEMPLATE");
        let size = template.vectors("DISK").next().and_then(|disk| disk.get("ORIGINAL_SIZE"));
        Ok(size.and_then(|size| size.trim().parse().ok()))
    }

    /// A VM, also one that is done.
    pub async fn machine(&self, who: &NebulaCredentials, id: i32) -> Result<VirtualMachine, NebulaError> {
        let params = [Param::Integer(id), Param::Boolean(false)];
        read_machine(&self.oned.element(who, INFO, &params).await?)
    }

    /// Those of the VMs that there are and that the caller may see.
    pub async fn machines(
        &self,
        who: &NebulaCredentials,
        ids: &[i32],
    ) -> Result<Vec<VirtualMachine>, NebulaError> {
        let mut machines = Vec::with_capacity(ids.len());
        for ids in ids.chunks(SET_MAX) {
            let list = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let params = [Param::Text(&list), Param::Boolean(true)];
            match self.oned.element_if_known(who, INFOSET, &params).await? {
                Some(pool) => machines.extend(read_pool(&pool)?),
                None => machines.extend(self.machines_one_by_one(who, ids).await?),
            }
        }
        Ok(machines)
    }

    async fn machines_one_by_one(
        &self,
        who: &NebulaCredentials,
        ids: &[i32],
    ) -> Result<Vec<VirtualMachine>, NebulaError> {
        let mut machines = Vec::with_capacity(ids.len());
        for id in ids {
            match self.machine(who, *id).await {
                Ok(machine) => machines.push(machine),
                Err(error)
                    if error.is(NebulaErrorKind::NotFound) || error.is(NebulaErrorKind::Authorization) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(machines)
    }

    /// All VMs of a service that are not done, whether the service still knows them or not.
    pub async fn machines_of_service(
        &self,
        who: &NebulaCredentials,
        service: i32,
    ) -> Result<Vec<VirtualMachine>, NebulaError> {
        let service = service.to_string();
        let mut found = BTreeMap::new();
        for number in 0..PAGES_MAX {
            let page = DocumentPage { offset: number * STRIDE, size: PAGE };
            let (machines, last) = self.page_of_machines(who, page).await?;
            for machine in machines {
                if machine.user_template.get("SERVICE_ID") == Some(&service) {
                    found.insert(machine.id, machine);
                }
            }
            if last {
                return Ok(found.into_values().collect());
            }
        }
        Err(NebulaError::broken(ONED, format!("there are more than {} VMs", STRIDE * PAGES_MAX)))
    }

    /// A page, and whether it is the last one. The short form of a pool leaves the attributes out that say
    /// what a VM belongs to; only where there is no long form, the short one must do.
    async fn page_of_machines(
        &self,
        who: &NebulaCredentials,
        page: DocumentPage,
    ) -> Result<(Vec<VirtualMachine>, bool), NebulaError> {
        let (start, end) = page.range();
        let params = [ALL_VISIBLE, start, end, ALL_BUT_DONE].map(Param::Integer);
        let pool = match self.oned.element_if_known(who, POOL, &params).await? {
            Some(pool) => pool,
            None => self.oned.element(who, SHORT_POOL, &params).await?,
        };
        let machines = read_pool(&pool)?;
        let last = machines.len() < page.size as usize;
        Ok((machines, last))
    }
}

/// Changing.
impl OpenNebula {
    /// One virtual core stands for one real one. Without a change there is no call.
    pub async fn resize(&self, who: &NebulaCredentials, id: i32, to: Capacity) -> Result<(), NebulaError> {
        let mut lines = Vec::new();
        lines.extend(to.memory.map(|memory| format!("MEMORY={memory}")));
        lines.extend(to.cpu.map(|cpu| format!("VCPU={cpu}\nCPU={cpu}")));
        if lines.is_empty() {
            return Ok(());
        }
        let text = lines.join("\n");
        let params = [Param::Integer(id), Param::Text(&text), Param::Boolean(true)];
        self.oned.call(who, RESIZE, &params).await.map(drop)
    }

    /// A disk only grows.
    pub async fn resize_disk(
        &self,
        who: &NebulaCredentials,
        id: i32,
        disk: i32,
        megabytes: u32,
    ) -> Result<(), NebulaError> {
        let size = megabytes.to_string();
        let params = [Param::Integer(id), Param::Integer(disk), Param::Text(&size)];
        self.oned.call(who, RESIZE_DISK, &params).await.map(drop)
    }

    /// These attributes of the user template are set, and the others stay.
    pub async fn amend_machine(
        &self,
        who: &NebulaCredentials,
        id: i32,
        template: &NebulaTemplate,
    ) -> Result<(), NebulaError> {
        let xml = written(template)?;
        let params = [Param::Integer(id), Param::Text(&xml), Param::Integer(APPEND)];
        self.oned.call(who, UPDATE, &params).await.map(drop)
    }

    pub async fn act(&self, who: &NebulaCredentials, id: i32, action: VmAction) -> Result<(), NebulaError> {
        let action = match action {
            VmAction::Resched => "resched",
            VmAction::Terminate => "terminate",
            VmAction::TerminateHard => "terminate-hard",
        };
        self.oned.call(who, ACTION, &[Param::Text(action), Param::Integer(id)]).await.map(drop)
    }

    pub async fn recover(&self, who: &NebulaCredentials, id: i32, how: Recovery) -> Result<(), NebulaError> {
        self.oned.call(who, RECOVER, &[Param::Integer(id), Param::Integer(how as i32)]).await.map(drop)
    }
}

fn read_pool(pool: &Element) -> Result<Vec<VirtualMachine>, NebulaError> {
    named(pool, "VM_POOL")?.children("VM").map(read_machine).collect()
}

fn read_machine(element: &Element) -> Result<VirtualMachine, NebulaError> {
    let machine = named(element, "VM")?;
    Ok(VirtualMachine {
        id: number(machine, "ID")?,
        uid: number(machine, "UID")?,
        name: text(machine, "NAME"),
        state: number(machine, "STATE")?,
        lcm_state: number(machine, "LCM_STATE")?,
        resched: text(machine, "RESCHED").trim() == "1",
        template: template(machine, "TEMPLATE"),
        user_template: template(machine, "USER_TEMPLATE"),
    })
}
