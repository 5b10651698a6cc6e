//! A reservation, with the fields and numbers that older clients know.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use workflows::launch::record::ShownImage;
use workflows::launch::status::View;

use super::super::launches::wire::Instance;
use super::super::wire;

/// A page of reservations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReservationList {
    pub data: Vec<Reservation>,
    pub metadata: wire::Metadata,
}

/// How far a launch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reservation {
    pub id: i64,
    /// 1 noop, 2 aws, 3 azure, 4 gcp.
    pub provider: i64,
    pub created_at: String,
    pub steps: usize,
    pub step_titles: Vec<String>,
    /// How many steps have succeeded.
    pub step: usize,
    pub status: String,
    /// Empty unless it failed.
    pub error: String,
    pub finished_at: Option<String>,
    /// Null while it is under way.
    pub success: Option<bool>,
}

impl From<&View> for Reservation {
    fn from(view: &View) -> Reservation {
        let legacy = &view.legacy;
        Reservation {
            id: view.number,
            provider: view.record.provider.number(),
            created_at: view.created_at.to_string(),
            steps: legacy.steps,
            step_titles: legacy.step_titles.iter().map(|title| (*title).to_owned()).collect(),
            step: legacy.step,
            status: legacy.status.clone(),
            error: legacy.error.clone(),
            finished_at: legacy.finished_at.map(|at| at.to_string()),
            success: legacy.success,
        }
    }
}

/// What older clients send. Each provider has its own names for the size and the place of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NewReservation {
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    /// An image of the cloud, or the id of a compose, which may still be building.
    pub image_id: String,
    pub amount: Option<i64>,
    pub instance_type: Option<String>,
    pub instance_size: Option<String>,
    pub machine_type: Option<String>,
    pub region: Option<String>,
    pub location: Option<String>,
    pub zone: Option<String>,
    pub name: Option<String>,
    pub name_pattern: Option<String>,
    pub launch_template_id: Option<String>,
    pub poweroff: bool,
}

/// A launch in the words of its provider. What does not belong to the provider is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderReservation {
    pub reservation_id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pubkey_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_template_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poweroff: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

impl From<&View> for ProviderReservation {
    fn from(view: &View) -> ProviderReservation {
        let (record, state) = (&view.record, &view.record.state);
        let Some(given) = &record.parameters else {
            return ProviderReservation { reservation_id: view.number, ..ProviderReservation::default() };
        };
        ProviderReservation {
            reservation_id: view.number,
            pubkey_id: given.key.as_ref().map(|key| key.pubkey_id),
            source_id: Some(given.source_id.clone()),
            image_id: Some(match &record.image {
                ShownImage::Cloud { id } => id.clone(),
                ShownImage::Compose { id } => id.to_string(),
                ShownImage::None | ShownImage::Build { .. } => String::new(),
            }),
            amount: Some(given.amount),
            instance_type: given.instance_type.clone(),
            region: Some(given.region.clone()),
            name: given.name.clone(),
            launch_template_id: given.launch_template_id.clone(),
            poweroff: Some(given.poweroff),
            aws_reservation_id: state.reservation.clone(),
            instances: state.instances.iter().map(|tracked| Instance::from(&tracked.instance)).collect(),
        }
    }
}
