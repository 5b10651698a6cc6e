//! Documents: small objects that OpenNebula keeps for others. A runtime is one of them.

use xml::Element;

use super::super::template::NebulaTemplate;
use super::super::xmlrpc::{Param, XmlRpcValue};
use super::super::{NebulaCredentials, NebulaError, NebulaErrorKind, OpenNebula};
use super::ONED;
use super::client::Method;
use super::object::{named, number, template, text};

/// The kind of document that stands for a serverless runtime.
pub const RUNTIME_DOCUMENT: i32 = 1337;

const ALLOCATE: Method = Method::write("one.document.allocate", "makes a document of kind #");
const INFO: Method = Method::read("one.document.info", "reads document #");
const POOL: Method = Method::read("one.documentpool.info", "lists documents");
const UPDATE: Method = Method::write("one.document.update", "updates document #");
const RENAME: Method = Method::write("one.document.rename", "renames document #");
const DELETE: Method = Method::write("one.document.delete", "deletes document #");

const REPLACE: i32 = 0;
const APPEND: i32 = 1;
const BODY: &str = "BODY";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NebulaDocument {
    pub id: i32,
    pub uid: i32,
    pub gid: i32,
    pub uname: String,
    pub gname: String,
    pub name: String,
    pub kind: i32,
    /// The attribute `BODY`, empty when there is none.
    pub body: String,
    /// All other attributes.
    pub template: NebulaTemplate,
}

/// Whose documents are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFilter {
    Mine,
    MineAndGroup,
    /// All that the caller may see.
    All,
}

/// A part of a pool. The newest objects come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentPage {
    pub offset: u32,
    pub size: u32,
}

impl OpenNebula {
    pub async fn allocate_document(
        &self,
        who: &NebulaCredentials,
        template: &NebulaTemplate,
        kind: i32,
    ) -> Result<i32, NebulaError> {
        let xml = written(template)?;
        match self.oned.call(who, ALLOCATE, &[Param::Text(&xml), Param::Integer(kind)]).await? {
            XmlRpcValue::Integer(id) => i32::try_from(id)
                .map_err(|_| NebulaError::broken(ONED, "the id of the new document is too large")),
            _ => Err(NebulaError::broken(ONED, "the new document has no id")),
        }
    }

    /// A document of any kind: look at `kind`.
    pub async fn document(&self, who: &NebulaCredentials, id: i32) -> Result<NebulaDocument, NebulaError> {
        let params = [Param::Integer(id), Param::Boolean(false)];
        read_document(&self.oned.element(who, INFO, &params).await?)
    }

    pub async fn documents(
        &self,
        who: &NebulaCredentials,
        whose: DocumentFilter,
        kind: i32,
        page: Option<DocumentPage>,
    ) -> Result<Vec<NebulaDocument>, NebulaError> {
        let whose = match whose {
            DocumentFilter::Mine => -3,
            DocumentFilter::All => -2,
            DocumentFilter::MineAndGroup => -1,
        };
        let (start, end) = page.map_or((-1, -1), DocumentPage::range);
        let params = [whose, start, end, kind].map(Param::Integer);
        let pool = self.oned.element(who, POOL, &params).await?;
        let documents = named(&pool, "DOCUMENT_POOL")?.children("DOCUMENT").map(read_document);
        documents.take(page.map_or(usize::MAX, |page| page.size as usize)).collect()
    }

    /// The attributes become exactly these.
    pub async fn replace_document(
        &self,
        who: &NebulaCredentials,
        id: i32,
        template: &NebulaTemplate,
    ) -> Result<(), NebulaError> {
        self.update_document(who, id, template, REPLACE).await
    }

    /// These attributes are set, and the others stay.
    pub async fn amend_document(
        &self,
        who: &NebulaCredentials,
        id: i32,
        template: &NebulaTemplate,
    ) -> Result<(), NebulaError> {
        self.update_document(who, id, template, APPEND).await
    }

    async fn update_document(
        &self,
        who: &NebulaCredentials,
        id: i32,
        template: &NebulaTemplate,
        how: i32,
    ) -> Result<(), NebulaError> {
        let xml = written(template)?;
        let params = [Param::Integer(id), Param::Text(&xml), Param::Integer(how)];
        self.oned.call(who, UPDATE, &params).await.map(drop)
    }

    pub async fn rename_document(
        &self,
        who: &NebulaCredentials,
        id: i32,
        name: &str,
    ) -> Result<(), NebulaError> {
        self.oned.call(who, RENAME, &[Param::Integer(id), Param::Text(name)]).await.map(drop)
    }

    pub async fn delete_document(&self, who: &NebulaCredentials, id: i32) -> Result<(), NebulaError> {
        self.oned.call(who, DELETE, &[Param::Integer(id)]).await.map(drop)
    }
}

impl DocumentPage {
    /// Where it begins, and how long it is as a negative number. Minus one would mean everything, so the
    /// shortest page that can be asked for has two.
    pub(super) fn range(self) -> (i32, i32) {
        let offset = i32::try_from(self.offset).unwrap_or(i32::MAX);
        let size = i32::try_from(self.size.max(2)).unwrap_or(i32::MAX);
        (offset, -size)
    }
}

pub(super) fn written(template: &NebulaTemplate) -> Result<String, NebulaError> {
    template.to_xml().map_err(|why| NebulaError::refused(ONED, NebulaErrorKind::Api, &why.to_string()))
}

fn read_document(element: &Element) -> Result<NebulaDocument, NebulaError> {
    let document = named(element, "DOCUMENT")?;
    let mut template = template(document, "TEMPLATE");
    let body = template.get(BODY).unwrap_or_default().to_owned();
    template.remove(BODY);
    Ok(NebulaDocument {
        id: number(document, "ID")?,
        uid: number(document, "UID")?,
        gid: number(document, "GID")?,
        uname: text(document, "UNAME"),
        gname: text(document, "GNAME"),
        name: text(document, "NAME"),
        kind: number(document, "TYPE")?,
        body,
        template,
    })
}
