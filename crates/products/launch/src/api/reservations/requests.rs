//! What clients of the hosted service send to launch something. Each provider has its own names for the size and the
//! place of an instance.

use crate::api::types::NewParameters;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A launch in AWS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::AWSReservationRequest)]
#[serde(default)]
pub struct AwsRequest {
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    /// An image of AWS, or the id of a compose, which may still be building.
    pub image_id: String,
    pub amount: Option<i64>,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    pub name: Option<String>,
    pub launch_template_id: Option<String>,
    pub poweroff: bool,
}

/// A launch in Azure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::AzureReservationRequest)]
#[serde(default)]
pub struct AzureRequest {
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    pub image_id: String,
    pub amount: Option<i64>,
    pub instance_size: Option<String>,
    pub location: Option<String>,
    pub resource_group: Option<String>,
    pub name: Option<String>,
    pub poweroff: bool,
}

/// A launch in GCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::GCPReservationRequest)]
#[serde(default)]
pub struct GcpRequest {
    pub pubkey_id: Option<i64>,
    pub source_id: String,
    pub image_id: String,
    pub amount: Option<i64>,
    pub machine_type: Option<String>,
    pub zone: Option<String>,
    pub name_pattern: Option<String>,
    pub launch_template_id: Option<String>,
    pub poweroff: bool,
}

/// An amount was never optional for these clients: leaving it out has always meant none.
const AMOUNT: i64 = 0;

impl From<AwsRequest> for NewParameters {
    fn from(new: AwsRequest) -> NewParameters {
        NewParameters {
            source_id: new.source_id,
            region: new.region,
            instance_type: new.instance_type,
            launch_template_id: new.launch_template_id,
            amount: new.amount.or(Some(AMOUNT)),
            name: new.name,
            pubkey_id: new.pubkey_id,
            poweroff: new.poweroff,
            ..NewParameters::default()
        }
    }
}

impl From<AzureRequest> for NewParameters {
    fn from(new: AzureRequest) -> NewParameters {
        NewParameters {
            source_id: new.source_id,
            region: new.location,
            instance_type: new.instance_size,
            resource_group: new.resource_group,
            amount: new.amount.or(Some(AMOUNT)),
            name: new.name,
            pubkey_id: new.pubkey_id,
            poweroff: new.poweroff,
            ..NewParameters::default()
        }
    }
}

impl From<GcpRequest> for NewParameters {
    fn from(new: GcpRequest) -> NewParameters {
        NewParameters {
            source_id: new.source_id,
            region: new.zone,
            instance_type: new.machine_type,
            launch_template_id: new.launch_template_id,
            amount: new.amount.or(Some(AMOUNT)),
            name: new.name_pattern,
            pubkey_id: new.pubkey_id,
            poweroff: new.poweroff,
            ..NewParameters::default()
        }
    }
}
