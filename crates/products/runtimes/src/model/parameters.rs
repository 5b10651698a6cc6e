//! The parameters of an instance, read into a type. The schema of the plan has checked them before.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Parameters {
    pub name: String,
    pub region: Option<String>,
    pub machine_type: Option<String>,
    pub auto_scaler_min: Option<i32>,
    pub auto_scaler_max: Option<i32>,
    pub max_surge: Option<i32>,
    pub max_unavailable: Option<i32>,
    pub zones: Option<Vec<String>>,
    pub disk_type: Option<String>,
    pub volume_size_gb: Option<i32>,
    pub purpose: Option<String>,
    pub target_secret: Option<String>,
    pub kyma_version: Option<String>,
    pub components: Vec<String>,
    pub administrators: Option<Vec<String>>,
    pub oidc: Option<Oidc>,
    pub networking: Option<Networking>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Oidc {
    #[serde(rename = "clientID")]
    pub client_id: String,
    #[serde(rename = "issuerURL")]
    pub issuer_url: String,
    #[serde(rename = "groupsClaim", default)]
    pub groups_claim: Option<String>,
    #[serde(rename = "usernameClaim", default)]
    pub username_claim: Option<String>,
    #[serde(rename = "usernamePrefix", default)]
    pub username_prefix: Option<String>,
    #[serde(rename = "signingAlgs", default)]
    pub signing_algs: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Networking {
    pub nodes: Option<String>,
}

impl Parameters {
    /// The error names the field and repeats no value.
    pub fn read(parameters: &Map<String, Value>) -> Result<Parameters, String> {
        let read = serde_path_to_error::deserialize(Value::Object(parameters.clone()));
        read.map_err(|error| format!("parameters.{} cannot be used", error.path()))
    }

    /// What the fields mean together, which no schema says.
    pub fn check(&self, least: i32, most: i32) -> Result<(), String> {
        let (min, max) = (self.auto_scaler_min.unwrap_or(least), self.auto_scaler_max.unwrap_or(most));
        if min > max {
            return Err(format!(
                "parameters.autoScalerMin: {min} is more than autoScalerMax, which is {max}; give both"
            ));
        }
        if self.max_surge == Some(0) && self.max_unavailable == Some(0) {
            return Err("parameters.maxUnavailable: cannot be 0 when maxSurge is 0".into());
        }
        Ok(())
    }
}
