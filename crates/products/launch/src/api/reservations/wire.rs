//! A reservation, with the fields and numbers that older clients know.

use crate::model::cloud::ProviderKind;
use crate::model::params::LaunchParameters;
use crate::model::record::ImageSummary;
use crate::model::status::View;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::types::Instance;
use super::super::wire;
pub use super::requests::{AwsRequest, AzureRequest, GcpRequest};

/// A page of reservations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ListGenericReservationResponse)]
pub struct ReservationList {
    pub data: Vec<Reservation>,
    pub metadata: wire::Metadata,
}

/// How far a launch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::GenericReservationResponse)]
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

/// A launch in AWS. What was not said is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::AWSReservationResponse)]
pub struct AwsReservation {
    pub reservation_id: i64,
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    pub image_id: String,
    pub amount: u32,
    pub instance_type: String,
    pub region: String,
    pub name: String,
    pub launch_template_id: String,
    pub poweroff: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_reservation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// A launch in Azure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::AzureReservationResponse)]
pub struct AzureReservation {
    pub reservation_id: i64,
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    pub image_id: String,
    pub amount: u32,
    pub instance_size: String,
    pub location: String,
    pub resource_group: String,
    pub name: String,
    pub poweroff: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// A launch in GCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::GCPReservationResponse)]
pub struct GcpReservation {
    pub reservation_id: i64,
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    pub image_id: String,
    pub amount: u32,
    pub machine_type: String,
    pub zone: String,
    pub name_pattern: String,
    pub launch_template_id: String,
    pub poweroff: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcp_operation_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// A launch of nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::NoopReservationResponse)]
pub struct NoopReservation {
    pub reservation_id: i64,
}

/// A launch in the words of its provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ProviderReservation {
    Aws(AwsReservation),
    Azure(AzureReservation),
    Gcp(GcpReservation),
    Noop(NoopReservation),
}

impl From<&View> for ProviderReservation {
    fn from(view: &View) -> ProviderReservation {
        let reservation_id = view.number;
        match (view.record.provider, &view.record.parameters) {
            (ProviderKind::Aws, Some(given)) => ProviderReservation::Aws(AwsReservation::of(view, given)),
            (ProviderKind::Azure, Some(given)) => {
                ProviderReservation::Azure(AzureReservation::of(view, given))
            }
            (ProviderKind::Gcp, Some(given)) => ProviderReservation::Gcp(GcpReservation::of(view, given)),
            // Parameters that are not there yet leave nothing to repeat.
            (_, None) | (ProviderKind::Noop, _) => {
                ProviderReservation::Noop(NoopReservation { reservation_id })
            }
        }
    }
}

fn text(given: Option<&String>) -> String {
    given.cloned().unwrap_or_default()
}

fn public_key_id(given: &LaunchParameters) -> Option<i64> {
    given.key.as_ref().map(|key| key.pubkey_id)
}

fn image_id(view: &View) -> String {
    match &view.record.image {
        ImageSummary::Cloud { id } => id.clone(),
        ImageSummary::Compose { id } => id.to_string(),
        ImageSummary::None | ImageSummary::Build { .. } => String::new(),
    }
}

fn instances(view: &View) -> Vec<Instance> {
    view.record.state.instances.iter().map(|tracked| Instance::from(&tracked.instance)).collect()
}

impl AwsReservation {
    fn of(view: &View, given: &LaunchParameters) -> AwsReservation {
        AwsReservation {
            reservation_id: view.number,
            pubkey_id: public_key_id(given),
            source_id: given.source_id.clone(),
            image_id: image_id(view),
            amount: given.amount,
            instance_type: text(given.instance_type.as_ref()),
            region: given.region.clone(),
            name: text(given.name.as_ref()),
            launch_template_id: text(given.launch_template_id.as_ref()),
            poweroff: given.poweroff,
            aws_reservation_id: view.record.state.reservation.clone(),
            instances: instances(view),
        }
    }
}

impl AzureReservation {
    fn of(view: &View, given: &LaunchParameters) -> AzureReservation {
        AzureReservation {
            reservation_id: view.number,
            pubkey_id: public_key_id(given),
            source_id: given.source_id.clone(),
            image_id: image_id(view),
            amount: given.amount,
            instance_size: text(given.instance_type.as_ref()),
            location: given.region.clone(),
            resource_group: text(given.resource_group.as_ref()),
            name: text(given.name.as_ref()),
            poweroff: given.poweroff,
            instances: instances(view),
        }
    }
}

impl GcpReservation {
    fn of(view: &View, given: &LaunchParameters) -> GcpReservation {
        GcpReservation {
            reservation_id: view.number,
            pubkey_id: public_key_id(given),
            source_id: given.source_id.clone(),
            image_id: image_id(view),
            amount: given.amount,
            machine_type: text(given.instance_type.as_ref()),
            zone: given.region.clone(),
            name_pattern: text(given.name.as_ref()),
            launch_template_id: text(given.launch_template_id.as_ref()),
            poweroff: given.poweroff,
            gcp_operation_name: view.record.state.reservation.clone(),
            instances: instances(view),
        }
    }
}
