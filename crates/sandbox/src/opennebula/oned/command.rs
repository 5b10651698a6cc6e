//! The methods that oned knows, with their parameters.

use crate::opennebula::xmlrpc::{Params, XmlRpcFault};

/// A call whose parameters are right. Who may do it is asked later.
#[derive(Debug)]
pub(super) enum Command {
    Version,
    UserInfo(i32),
    Login { user: String, token: String, valid_s: i32 },
    Documents(OnDocuments),
    Machines(OnMachines),
}

#[derive(Debug)]
pub(super) enum OnDocuments {
    Allocate { template: String, kind: i32 },
    Info(i32),
    Update { id: i32, template: String, mode: i32 },
    Rename { id: i32, name: String },
    Delete(i32),
    Chmod { id: i32, bits: [i32; 9] },
    Lock { id: i32, level: i32 },
    Unlock(i32),
    Pool { range: Range, kind: i32 },
}

#[derive(Debug)]
pub(super) enum OnMachines {
    TemplateInfo { id: i32, is_extended: bool },
    Instantiate { template: i32, name: String, is_held: bool, extra: String },
    Info(i32),
    Pool { range: Range, state: i32, search: String, is_extended: bool },
    Set { ids: String, is_extended: bool },
    Resize { id: i32, template: String },
    DiskResize { id: i32, disk: i32, size: String },
    Update { id: i32, template: String, mode: i32 },
    Action { action: String, id: i32 },
    Recover { id: i32, operation: i32 },
}

/// What of a pool is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    /// -4 the own group, -3 the own, -2 all, -1 the own and the group's, else of this user.
    pub(super) whose: i32,
    pub(super) start: i32,
    pub(super) end: i32,
}

impl Command {
    /// The first parameter, which is the session, is taken already.
    pub(super) fn read(method: &str, mut params: Params) -> Result<Self, XmlRpcFault> {
        let params = &mut params;
        Ok(match method {
            "one.system.version" => Command::Version,
            "one.user.info" => Command::UserInfo(params.integer()?),
            "one.user.login" => {
                let (user, token, valid_s) = (params.text()?, params.text()?, params.integer()?);
                params.optional_integer()?;
                Command::Login { user, token, valid_s }
            }
            _ if method.starts_with("one.document") => Command::Documents(OnDocuments::read(method, params)?),
            _ => Command::Machines(OnMachines::read(method, params)?),
        })
    }
}

impl OnDocuments {
    fn read(method: &str, params: &mut Params) -> Result<Self, XmlRpcFault> {
        Ok(match method {
            "one.document.allocate" => {
                OnDocuments::Allocate { template: params.text()?, kind: params.integer()? }
            }
            "one.document.info" => {
                let id = params.integer()?;
                params.optional_boolean()?;
                OnDocuments::Info(id)
            }
            "one.document.update" => {
                let (id, template) = (params.integer()?, params.text()?);
                OnDocuments::Update { id, template, mode: params.optional_integer()?.unwrap_or_default() }
            }
            "one.document.rename" => OnDocuments::Rename { id: params.integer()?, name: params.text()? },
            "one.document.delete" => OnDocuments::Delete(params.integer()?),
            "one.document.chmod" => {
                let (id, mut bits) = (params.integer()?, [0; 9]);
                for bit in &mut bits {
                    *bit = params.integer()?;
                }
                OnDocuments::Chmod { id, bits }
            }
            "one.document.lock" => {
                let (id, level) = (params.integer()?, params.integer()?);
                params.optional_boolean()?;
                OnDocuments::Lock { id, level }
            }
            "one.document.unlock" => OnDocuments::Unlock(params.integer()?),
            "one.documentpool.info" => {
                OnDocuments::Pool { range: Range::read(params)?, kind: params.integer()? }
            }
            _ => return Err(XmlRpcFault::unknown_method(method)),
        })
    }
}

impl OnMachines {
    fn read(method: &str, params: &mut Params) -> Result<Self, XmlRpcFault> {
        Ok(match method {
            "one.template.info" => {
                let (id, is_extended) = (params.integer()?, params.optional_boolean()?);
                params.optional_boolean()?;
                OnMachines::TemplateInfo { id, is_extended }
            }
            "one.template.instantiate" => {
                let (template, name, is_held) = (params.integer()?, params.text()?, params.boolean()?);
                let extra = params.text()?;
                params.optional_boolean()?;
                OnMachines::Instantiate { template, name, is_held, extra }
            }
            "one.vm.info" => {
                let id = params.integer()?;
                params.optional_boolean()?;
                OnMachines::Info(id)
            }
            "one.vmpool.info" | "one.vmpool.infoextended" => {
                let (range, state) = (Range::read(params)?, params.integer()?);
                let search = params.optional_text()?;
                OnMachines::Pool { range, state, search, is_extended: method == "one.vmpool.infoextended" }
            }
            "one.vmpool.infoset" => {
                OnMachines::Set { ids: params.text()?, is_extended: params.optional_boolean()? }
            }
            "one.vm.resize" => {
                let (id, template) = (params.integer()?, params.text()?);
                params.optional_boolean()?;
                OnMachines::Resize { id, template }
            }
            "one.vm.diskresize" => OnMachines::DiskResize {
                id: params.integer()?,
                disk: params.integer()?,
                size: params.text()?,
            },
            "one.vm.update" => {
                let (id, template) = (params.integer()?, params.text()?);
                OnMachines::Update { id, template, mode: params.optional_integer()?.unwrap_or_default() }
            }
            "one.vm.action" => OnMachines::Action { action: params.text()?, id: params.integer()? },
            "one.vm.recover" => OnMachines::Recover { id: params.integer()?, operation: params.integer()? },
            _ => return Err(XmlRpcFault::unknown_method(method)),
        })
    }
}

impl Range {
    fn read(params: &mut Params) -> Result<Self, XmlRpcFault> {
        Ok(Range { whose: params.integer()?, start: params.integer()?, end: params.integer()? })
    }
}
