//! Forms that are filled in over several pages. What was typed so far is kept by the server, sealed, for the session in
//! which it was begun: going back, a reload and a link find it again, and so does a server that was started anew.

use axum::http::StatusCode;
use engine::DraftRow;
use engine::secret::{ExposeSecret, Sealed, Sealer, SecretString};
use engine::store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::page_error::PageError;
use crate::signed_in::SignedIn;

/// More than any form that is read.
const BYTES_MAX: usize = 256 * 1024;

impl SignedIn {
    /// Keeps a draft under this id. A session has ten at most; the one that was saved first makes room.
    pub async fn save_draft(&self, id: &str, draft: &impl Serialize) -> Result<(), PageError> {
        let broken =
            |what: String| PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Draft not saved", what);
        let text = serde_json::to_string(draft).map_err(|error| broken(error.to_string()))?;
        if text.len() > BYTES_MAX {
            let detail = format!("What was typed is longer than {BYTES_MAX} bytes.");
            return Err(PageError::new(StatusCode::PAYLOAD_TOO_LARGE, "Draft not saved", detail));
        }
        let now = self.shared.inside.engine().now();
        let draft = DraftRow {
            session: self.digest.clone(),
            id: id.to_owned(),
            value: self.draft_sealer().seal(&SecretString::from(text)).as_str().to_owned(),
            saved_at: now,
            expires_at: now.plus(self.shared.settings.session),
        };
        self.shared.people.save_draft(&draft).await.map_err(|error| unavailable(&error))
    }

    /// The draft with this id, if it was begun in this session and can still be read.
    pub async fn draft<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>, PageError> {
        let found =
            self.shared.people.find_draft(&self.digest, id).await.map_err(|error| unavailable(&error))?;
        let now = self.shared.inside.engine().now();
        let read = |row: DraftRow| {
            let opened = self.draft_sealer().open(&Sealed::parse(&row.value).ok()?).ok()?;
            serde_json::from_str(opened.expose_secret()).ok()
        };
        Ok(found.filter(|row| row.expires_at > now).and_then(read))
    }

    fn draft_sealer(&self) -> Sealer {
        self.shared.inside.engine().sealer("console", &format!("draft:{}", self.digest))
    }
}

fn unavailable(error: &StoreError) -> PageError {
    PageError::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", error.to_string())
}
