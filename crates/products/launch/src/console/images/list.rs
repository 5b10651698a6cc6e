//! `GET /console/images`

use crate::api::images::{Image, ImageList};
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use cloud::ProviderKind;
use serde::Deserialize;

use super::super::launches::view::{stage, when};
use super::super::new::field::sentence;
use super::super::new::image::{cloud_of, title};
use super::super::{LAUNCH, may_launch};
use console::list::{Filtered, ListPosition};
use console::parts::{Chip, Icon, Pager, Tone};
use console::{PageError, Shell, SignedIn};

const SHOWN: u64 = 25;
const STATUSES: [(&str, &str); 3] =
    [("success", "ready"), ("building", "being built"), ("failure", "failed")];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    status: String,
    cursor: String,
}

impl Filters {
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
struct ImageListPage {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "images/rows.html")]
pub(super) struct Rows {
    rows: Vec<Image>,
    is_filtered: bool,
    may_launch: bool,
    pager: Pager,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&signed_in).await {
        Ok(rows) => Shell::new(&signed_in, &super::SECTION, "Images").page(&ImageListPage { filters, rows }),
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Filtered for Filters {
    const AT: &'static str = "/console/images";
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![("status", &self.status)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let position = ListPosition::new(&self.cursor, SHOWN);
        let at = format!("{LAUNCH}/images?limit={SHOWN}&offset={}", position.offset);
        let found: ImageList = signed_in.api.get(&at).await?;
        let pager = self.pager(position.next(found.metadata.total).as_deref());
        let rows = found.data.into_iter().filter(|image| self.fits(image)).collect();
        Ok(Rows { rows, is_filtered: !self.is_none(), may_launch: may_launch(signed_in), pager })
    }
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

/// Whether an instance can be made from it in one of the clouds.
fn fits(image: &Image) -> bool {
    cloud_of(image).is_some()
}

/// What it is made for: the cloud, or the type where no cloud starts it.
fn made_for(image_type: &str) -> &str {
    ProviderKind::of_image_type(image_type).map_or(image_type, |cloud| cloud.spec().title)
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
        assert!(fits(&image("success", "vhd")) && fits(&image("success", "gcp")));
        assert!(!fits(&image("failure", "aws")) && !fits(&image("success", "guest-image")));
        assert_eq!([made_for("vhd"), made_for("gcp"), made_for("wsl")], ["Azure", "Google Cloud", "wsl"]);
    }

    #[test]
    fn a_build_shows_how_far_it_is_until_it_is_over() {
        assert_eq!(percent(&image("building", "aws")), Some(50));
        assert_eq!(percent(&image("success", "aws")), None);
    }

    #[test]
    fn whatever_is_not_over_is_being_built() {
        let building = Filters { status: "building".into(), cursor: String::new() };
        assert!(building.fits(&image("uploading", "aws")) && !building.fits(&image("success", "aws")));
    }
}
