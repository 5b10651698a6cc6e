//! Quotas of a region and of a project.

use cloud::{Category, CloudError};
use serde::Deserialize;

/// Limits are written with a decimal point.
#[derive(Deserialize)]
pub(super) struct QuotaItem {
    #[serde(default)]
    metric: String,
    #[serde(default)]
    limit: f64,
    #[serde(default)]
    usage: f64,
}

/// A metric, and how much of it is needed.
pub(super) type Need = (String, u32);

/// The first need that does not fit. A metric that is not listed has no limit that we know.
pub(super) fn check(where_: &str, quotas: &[QuotaItem], needs: &[Need]) -> Result<(), CloudError> {
    for (metric, needed) in needs {
        let Some(quota) = quotas.iter().find(|quota| quota.metric == *metric) else { continue };
        if quota.usage + f64::from(*needed) > quota.limit {
            let message = format!(
                "the quota {metric} of {where_} is {}, {} are in use and {needed} more are needed: ask for more in the \
                 console of Google Cloud",
                quota.limit, quota.usage
            );
            return Err(CloudError::new(Category::Quota, "QUOTA_EXCEEDED", message));
        }
    }
    Ok(())
}

/// Families that came later have a metric of their own.
pub(super) fn cpu_metric(machine_type: &str) -> String {
    let family = machine_type.split('-').next().unwrap_or_default();
    match family {
        "e2" | "n1" | "f1" | "g1" | "custom" => "CPUS".to_owned(),
        family => format!("{}_CPUS", family.to_ascii_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_need_beyond_the_limit_is_named() {
        let quotas: Vec<QuotaItem> = serde_json::from_value(json!([
            {"metric": "CPUS", "limit": 24.0, "usage": 20.0}, {"metric": "INSTANCES", "limit": 10, "usage": 0}
        ]))
        .unwrap();
        let need = |metric: &str, count| vec![(metric.to_owned(), count)];
        check("us-central1", &quotas, &need("CPUS", 4)).unwrap();
        check("us-central1", &quotas, &need("N2_CPUS", 400)).unwrap();
        let error = check("us-central1", &quotas, &need("CPUS", 5)).unwrap_err();
        assert!(error.is(Category::Quota) && error.message.contains("CPUS of us-central1 is 24"), "{error}");
        assert_eq!(
            (cpu_metric("n2d-standard-4").as_str(), cpu_metric("e2-small").as_str()),
            ("N2D_CPUS", "CPUS")
        );
    }
}
