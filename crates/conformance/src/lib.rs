//! Our own conformance suite for brokers of the Open Service Broker API 2.17.
//!
//! It talks to a running broker over HTTP and knows nothing else about it. It uses ids of its own and takes
//! back what it made.

mod answer;
mod call;
mod checker;
mod checks;
mod options;
mod report;
mod requests;
mod shape;
mod wire;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::call::BrokerCall;
use crate::checker::Checker;
use crate::wire::Wire;

pub use crate::options::{HoldSwitch, SuiteOptions};
pub use crate::report::{Check, CheckOutcome, Count, PlanReport, Report};

/// Where a broker is, and how to get in.
#[derive(Debug, Clone)]
pub struct BrokerTarget {
    /// All that comes before `/v2`, with any prefix such as `/oauth`.
    pub url: String,
    pub user: String,
    pub password: SecretString,
}

/// Runs every check against each plan of the catalog, or against the plans with the wanted name.
pub async fn examine(broker: &BrokerTarget, wanted: Option<&str>, options: SuiteOptions) -> Report {
    let plans = match exams(broker, wanted, options).await {
        Ok((exams, parallel)) => stream::iter(exams).map(checks::run).buffered(parallel).collect().await,
        Err(why) => {
            vec![PlanReport { plan: wanted.unwrap_or("all").to_owned(), checks: vec![unreadable(why)] }]
        }
    };
    Report { broker: broker.url.clone(), plans }
}

async fn exams(
    broker: &BrokerTarget,
    wanted: Option<&str>,
    options: SuiteOptions,
) -> Result<(Vec<Checker>, usize), String> {
    let http = wire::http()?;
    let catalog = Wire::new(broker, http.clone()).send(BrokerCall::get("/v2/catalog")).await;
    let parallel = options.parallel.max(1);
    let (options, gate) = (Arc::new(options), Arc::new(Mutex::new(())));
    let mut exams = Vec::new();
    for service in array(&catalog.json["services"]) {
        for plan in array(&service["plans"]) {
            if wanted.is_none_or(|wanted| plan["name"] == wanted) {
                let wire = Wire::new(broker, http.clone());
                exams.push(Checker::new(wire, &options, &gate, &catalog.json, service, plan));
            }
        }
    }
    if exams.is_empty() {
        let excerpt: String = catalog.text.chars().take(200).collect();
        let sought = wanted.map_or("a plan".to_owned(), |wanted| format!("the plan {wanted}"));
        return Err(format!(
            "the catalog does not have {sought}; {} -> {} {excerpt}",
            catalog.request, catalog.status
        ));
    }
    Ok((exams, parallel))
}

fn unreadable(why: String) -> Check {
    let title = "the catalog has what is to be examined".to_owned();
    Check { id: "catalog.plans".to_owned(), section: "1.3", title, outcome: CheckOutcome::Failed(why) }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
