//! `pubkey.delete`: deletes the key pairs of a public key that was forgotten, in the cloud accounts to which launches
//! have uploaded it. What cannot be deleted stays there, and a warning says so.

mod delete_key_pairs;
mod uploaded;

use engine::prelude::*;
use utoipa::ToSchema;

use crate::model::Launches;
use crate::model::params::LaunchOwner;

pub const DELETE_PUBLIC_KEY: &str = "pubkey.delete";

pub struct DeletePublicKey;

/// The key that was forgotten. Its record is the resource of the operation, and a tombstone already.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// On whose behalf the key pairs are deleted.
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The number that clients and launches know it by.
    pub pubkey_id: i64,
    /// Of the key, by which its key pairs are found.
    pub fingerprint: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What stays in a cloud, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Workflow for DeletePublicKey {
    const KIND: &'static str = DELETE_PUBLIC_KEY;
    const ABOUT: &'static str = "Deletes the key pairs of a public key in cloud accounts.";
    type Params = Params;
    type State = State;
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }
}

/// The table of steps and weights.
pub fn plan(launches: &Arc<Launches>) -> Plan<DeletePublicKey> {
    Plan::new(OnFailure::Leave).step(10, delete_key_pairs::DeleteKeyPairs::new(launches))
}
