//! What is done to documents.

use super::carry_out::{CANNOT_UPDATE, Counter, appends, parse, pool};
use super::command::OnDocuments;
use crate::opennebula::documents::Document;
use crate::opennebula::refusal::Refusal;
use crate::opennebula::users::Right;
use crate::opennebula::xmlrpc::Reply;

impl Counter<'_> {
    pub(super) fn on_documents(&mut self, command: OnDocuments) -> Result<Reply, Refusal> {
        let Counter { estate, caller, now } = self;
        let id = match command {
            OnDocuments::Allocate { template, kind } => {
                estate.allocate_document(caller, parse(&template, estate.release)?, kind)?
            }
            OnDocuments::Info(id) => {
                return Ok(Reply::Text(estate.documents.open(id, caller, Right::Use)?.to_xml()));
            }
            OnDocuments::Update { id, template, mode } => {
                estate.documents.open(id, caller, Right::Manage)?;
                let appends = appends(mode)?;
                let template = parse(&template, estate.release).map_err(|why| why.after(CANNOT_UPDATE))?;
                estate.documents.update(id, caller, template, appends)?;
                id
            }
            OnDocuments::Rename { id, name } => {
                estate.documents.rename(id, caller, &name)?;
                id
            }
            OnDocuments::Delete(id) => {
                estate.delete_document(caller, id)?;
                id
            }
            OnDocuments::Chmod { id, bits } => {
                estate.documents.open(id, caller, Right::Manage)?.permissions.change(bits);
                id
            }
            OnDocuments::Lock { id, level } => {
                let request = estate.requests;
                estate.documents.lock(id, caller, level, (now.unix_timestamp(), request))?;
                id
            }
            OnDocuments::Unlock(id) => {
                estate.documents.unlock(id, caller)?;
                id
            }
            OnDocuments::Pool { range, kind } => {
                range.check("Incorrect filter_flag")?;
                let documents = range.of(caller, estate.documents.of_kind(kind));
                return Ok(pool("DOCUMENT_POOL", documents.into_iter().map(Document::to_xml)));
            }
        };
        Ok(Reply::Integer(id))
    }
}
