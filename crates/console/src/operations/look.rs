//! One operation with its explanation, from the API.

use api::types::{Explanation, JournalEntry, JournalPage, OperationDetail};
use tokio::try_join;
use uuid::Uuid;

use super::timeline::Timeline;
use crate::api::ApiClient;
use crate::page_error::PageError;

/// Events that are read at a time, and at most.
const PAGE: usize = 500;
const EVENTS_MAX: usize = 5000;

/// The id in the address.
pub(super) fn id_of(text: &str) -> Result<Uuid, PageError> {
    Uuid::try_parse(text).map_err(|_| PageError::missing("operation with this id"))
}

/// How it stands.
#[derive(Clone)]
pub(super) struct StatusLook {
    pub(super) detail: OperationDetail,
    pub(super) why: Explanation,
}

impl StatusLook {
    pub(super) async fn at(api: &ApiClient, id: Uuid) -> Result<StatusLook, PageError> {
        let (at, why) = (format!("/operations/{id}"), format!("/operations/{id}/explain"));
        let (detail, why) = try_join!(api.get(&at), api.get(&why))?;
        Ok(StatusLook { detail, why })
    }
}

/// Its journal, as far as it was read.
#[derive(Default)]
pub(super) struct Story {
    pub(super) entries: Vec<JournalEntry>,
    pub(super) timeline: Timeline,
    /// Who asked for it.
    pub(super) by: Option<String>,
    /// The number of the last event that was read.
    pub(super) last: u32,
    /// There is more than a page shows.
    pub(super) is_cut: bool,
}

impl Story {
    /// Reads on. The user who keeps only the timeline drains the entries.
    pub(super) async fn read_on(&mut self, api: &ApiClient, id: Uuid) -> Result<(), PageError> {
        loop {
            let path = format!("/operations/{id}/journal?after={}&limit={PAGE}", self.last);
            let page: JournalPage = api.get(&path).await?;
            for entry in page.items {
                self.timeline.add(&entry);
                self.last = entry.seq;
                if entry.kind == "created" {
                    self.by = entry.data["by"].as_str().map(str::to_owned);
                }
                self.entries.push(entry);
            }
            if page.next.is_none() {
                return Ok(());
            }
            if self.entries.len() >= EVENTS_MAX {
                self.is_cut = true;
                return Ok(());
            }
        }
    }
}
