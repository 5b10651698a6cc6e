//! `GET /console/images`

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use doors::launch::images::{Image, ImageList};
use serde::Deserialize;

use crate::api::{Api, LAUNCH};
use crate::desk::Desk;
use crate::frame::{Frame, Section, html, page};
use crate::launch::field::sentence;
use crate::launch::image::title;
use crate::launches::view::{stage, when};
use crate::parts::{Chip, Icon, Pager, Tone};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/images";
const SHOWN: u64 = 25;
const STATUSES: [(&str, &str); 3] =
    [("success", "ready"), ("building", "being built"), ("failure", "failed")];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    status: String,
    cursor: Option<String>,
}

impl Filters {
    fn offset(&self) -> u64 {
        self.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0)
    }

    fn query(&self) -> String {
        path::query([("status", &*self.status), ("cursor", self.cursor.as_deref().unwrap_or_default())])
    }

    fn fits(&self, image: &Image) -> bool {
        let status = image.status.as_deref().unwrap_or_default();
        match self.status.as_str() {
            "" => true,
            "building" => !["success", "failure"].contains(&status),
            wanted => wanted == status,
        }
    }
}

#[derive(Template)]
#[template(path = "images/list.html")]
struct List {
    frame: Frame,
    filters: Filters,
    may_launch: bool,
    rows: Rows,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "images/rows.html")]
struct Rows {
    rows: Vec<Image>,
    is_filtered: bool,
    may_launch: bool,
    pager: Pager,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let may_launch = visitor.may_launch();
    match rows(&visitor.api, &filters, may_launch).await {
        Ok(rows) => {
            let frame = Frame::new(&desk, &visitor, Section::Images, "Images");
            page(&visitor, &List { frame, filters, may_launch, rows })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

/// `GET /console/images/now`: the list alone, as it is now.
pub(super) async fn now(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    match rows(&visitor.api, &filters, visitor.may_launch()).await {
        Ok(rows) => html(StatusCode::OK, &rows),
        Err(trouble) => trouble.status.into_response(),
    }
}

async fn rows(api: &Api, filters: &Filters, may_launch: bool) -> Result<Rows, Trouble> {
    let offset = filters.offset();
    let found: ImageList = api.get(&format!("{LAUNCH}/images?limit={SHOWN}&offset={offset}")).await?;
    let next = Some(offset + SHOWN).filter(|next| *next < found.metadata.total).map(|next| next.to_string());
    let kept = [("status", filters.status.as_str())];
    let pager = Pager::new(AT, &kept, filters.cursor.as_deref(), next.as_deref());
    let rows = found.data.into_iter().filter(|image| filters.fits(image)).collect();
    Ok(Rows { rows, is_filtered: !filters.status.is_empty(), may_launch, pager })
}

fn chip(image: &Image) -> Chip {
    match image.status.as_deref() {
        Some("success") => Chip::new(Tone::Good, Icon::Check, "ready"),
        Some("failure") => Chip::new(Tone::Bad, Icon::Cross, "failed"),
        Some(word) => Chip::new(Tone::Busy, Icon::Play, word),
        None => Chip::new(Tone::Quiet, Icon::Clock, "not known"),
    }
}

fn is_building(image: &Image) -> bool {
    image.status.as_deref().is_some_and(|status| !["success", "failure"].contains(&status))
}

fn percent(image: &Image) -> Option<u32> {
    let progress = image.progress.filter(|progress| progress.total > 0 && is_building(image))?;
    Some(progress.done * 100 / progress.total)
}

/// Whether a machine of AWS can be made from it.
fn fits(image: &Image) -> bool {
    let is_aws = image.image_type.as_deref().is_some_and(|kind| ["aws", "ami"].contains(&kind));
    is_aws && image.status.as_deref().is_some_and(|status| status != "failure")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn image(status: &str, kind: &str) -> Image {
        serde_json::from_value(json!({
            "id": "01a1e3e8-1cb7-727d-8e65-c6824062041d", "name": null, "created_at": "2026-01-01T00:00:00Z",
            "status": status, "progress": {"done": 1, "total": 2}, "architecture": "x86_64", "image_type": kind,
            "error": null, "launches": [],
        }))
        .unwrap()
    }

    #[test]
    fn only_what_can_be_launched_is_offered() {
        assert!(fits(&image("success", "ami")) && fits(&image("building", "aws")));
        assert!(!fits(&image("failure", "aws")) && !fits(&image("success", "vhd")));
    }

    #[test]
    fn a_build_shows_how_far_it_is_until_it_is_over() {
        assert_eq!(percent(&image("building", "aws")), Some(50));
        assert_eq!(percent(&image("success", "aws")), None);
    }

    #[test]
    fn whatever_is_not_over_is_being_built() {
        let building = Filters { status: "building".into(), cursor: None };
        assert!(building.fits(&image("uploading", "aws")) && !building.fits(&image("success", "aws")));
    }
}
