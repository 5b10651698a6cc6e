//! `GET /images`

use crate::model::images::{self, ImageItem};
use crate::model::profile::Surface;
use axum::Json;
use axum::extract::State;
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::paging::Paging;
use super::principal::TenantPrincipal;
use super::types::Progress;
use super::{LaunchState, wire};
use server::http::Failure;

/// A page of images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImageList {
    pub data: Vec<Image>,
    pub metadata: wire::Metadata,
}

/// An image that was built or is being built, and what was launched from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Image {
    pub id: uuid::Uuid,
    pub name: Option<String>,
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// The word of the Image Builder; null where it did not say so in time.
    pub status: Option<String>,
    pub progress: Option<Progress>,
    pub architecture: Option<String>,
    pub image_type: Option<String>,
    /// What went wrong with the build.
    pub error: Option<String>,
    pub launches: Vec<ImageLaunch>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImageLaunch {
    pub id: uuid::Uuid,
    pub reservation_id: i64,
    pub state: String,
    pub is_over: bool,
    pub instances: usize,
    /// Whether the launch is meant to be followed here.
    pub shown_here: bool,
}

impl From<ImageItem> for Image {
    fn from(item: ImageItem) -> Image {
        let compose = item.compose.as_ref();
        let launch = |made: &images::LaunchOfImage| ImageLaunch {
            id: made.record.launch,
            reservation_id: made.row.number,
            state: made.record.stage.as_str().to_owned(),
            is_over: made.record.stage.is_over(),
            instances: made.record.state.instances.len(),
            shown_here: made.record.profile.shows_on(Surface::Images),
        };
        Image {
            id: item.listed.id,
            name: item.listed.image_name.clone(),
            created_at: item.listed.created_at,
            status: compose.map(|compose| compose.status.as_str().to_owned()),
            progress: compose
                .and_then(|compose| compose.progress)
                .map(|(done, total)| Progress { done, total }),
            architecture: compose.and_then(|compose| Some(compose.architecture?.as_str().to_owned())),
            image_type: compose.and_then(|compose| compose.image_type.clone()),
            error: compose.and_then(|compose| compose.error.clone()),
            launches: item.launches.iter().map(launch).collect(),
        }
    }
}

/// Lists the images of the organisation, newest first, with what was launched from them.
#[utoipa::path(
    get, path = "/images", tag = "images", operation_id = "list_images",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "100 without it."),
           ("offset" = Option<u32>, Query, minimum = 0, maximum = 1_000_000_000,
            description = "How many to leave out at the beginning.")),
    responses((status = OK, body = ImageList, description = "A page of images."))
)]
pub(in crate::api) async fn list_images(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    paging: Paging,
) -> Result<Json<ImageList>, Failure> {
    let (launches, engine) = (&shared.api_parts.launches, &shared.app.engine);
    let (who, paging) = (&principal.owner, paging.at_most(images::LIMIT_MAX));
    let identity = principal.identity.as_ref();
    let page = images::page(launches, engine, who, identity, paging.limit, paging.offset).await?;
    let metadata = paging.metadata(page.total);
    Ok(Json(ImageList { data: page.images.into_iter().map(Image::from).collect(), metadata }))
}
