//! What is done to documents.

use super::carry_out::{CANNOT_UPDATE, OnedSession, appends, parse, pool};
use super::command::OnDocuments;
use crate::opennebula::call_error::NebulaError;
use crate::opennebula::documents::Document;
use crate::opennebula::users::NebulaRight;
use crate::opennebula::xmlrpc::XmlRpcReply;

impl OnedSession<'_> {
    pub(super) fn on_documents(&mut self, command: OnDocuments) -> Result<XmlRpcReply, NebulaError> {
        let OnedSession { nebula_state, caller, now } = self;
        let id = match command {
            OnDocuments::Allocate { template, kind } => {
                nebula_state.allocate_document(caller, parse(&template, nebula_state.release)?, kind)?
            }
            OnDocuments::Info(id) => {
                return Ok(XmlRpcReply::Text(
                    nebula_state.documents.open(id, caller, NebulaRight::Use)?.to_xml(),
                ));
            }
            OnDocuments::Update { id, template, mode } => {
                nebula_state.documents.open(id, caller, NebulaRight::Manage)?;
                let appends = appends(mode)?;
                let template =
                    parse(&template, nebula_state.release).map_err(|why| why.after(CANNOT_UPDATE))?;
                nebula_state.documents.update(id, caller, template, appends)?;
                id
            }
            OnDocuments::Rename { id, name } => {
                nebula_state.documents.rename(id, caller, &name)?;
                id
            }
            OnDocuments::Delete(id) => {
                nebula_state.delete_document(caller, id)?;
                id
            }
            OnDocuments::Chmod { id, bits } => {
                nebula_state.documents.open(id, caller, NebulaRight::Manage)?.permissions.change(bits);
                id
            }
            OnDocuments::Lock { id, level } => {
                let request = nebula_state.requests;
                nebula_state.documents.lock(id, caller, level, (now.unix_timestamp(), request))?;
                id
            }
            OnDocuments::Unlock(id) => {
                nebula_state.documents.unlock(id, caller)?;
                id
            }
            OnDocuments::Pool { range, kind } => {
                range.check("Incorrect filter_flag")?;
                let documents = range.of(caller, nebula_state.documents.of_kind(kind));
                return Ok(pool("DOCUMENT_POOL", documents.into_iter().map(Document::to_xml)));
            }
        };
        Ok(XmlRpcReply::Integer(id))
    }
}
