//! Our own conformance suite against the broker over loopback, with every state held for as long as it takes.

use std::sync::Arc;

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::backend::BackendKind;
use conformance::{BrokerTarget, CheckOutcome, HoldSwitch, SuiteOptions, examine};
use engine::prelude::{SecretString, async_trait};
use tokio::net::TcpListener;

use crate::osb_pretend::Levers;
use crate::osb_world::{broker_on, on_both_back_ends, settings};

/// The address of a dashboard is not known before the runtime is there, so the first answer cannot have it.
const LATE_DASHBOARD: &str = "put.dashboard_url.first";
/// A suite with fewer checks has lost some.
const CHECKS_MIN: usize = 2000;

struct Curtain(Arc<Levers>);

#[async_trait]
impl HoldSwitch for Curtain {
    async fn hold(&self) {
        self.0.hold(true);
    }
    async fn release(&self) {
        self.0.hold(false);
    }
}

async fn examined(backend: BackendKind, osb: OsbSettings, options: SuiteOptions) {
    let world = broker_on(settings(osb), backend).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = world.router.clone();
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let password = SecretString::from(world.password.as_str());
    let hold: Option<Arc<dyn HoldSwitch>> = Some(Arc::new(Curtain(Arc::clone(&world.levers))));
    let prefixes = vec!["/oauth".into(), "/oauth/cf-eu10".into()];
    let broker = BrokerTarget { url, user: "cf".into(), password };
    let report = examine(&broker, None, SuiteOptions { hold, prefixes, ..options }).await;
    server.abort();
    let failed = report.checks().filter(|check| matches!(check.outcome, CheckOutcome::Failed(_)));
    let failed: Vec<&str> =
        failed.map(|check| check.id.as_str()).filter(|id| *id != LATE_DASHBOARD).collect();
    assert!(failed.is_empty() && report.count().passed > CHECKS_MIN, "{failed:?}\n{report}");
}

on_both_back_ends! {
    the_broker_conforms,
    the_broker_conforms_where_what_is_deleted_is_gone,
}

async fn the_broker_conforms(backend: BackendKind) {
    examined(backend, OsbSettings::default(), SuiteOptions::default()).await;
}

async fn the_broker_conforms_where_what_is_deleted_is_gone(backend: BackendKind) {
    let osb = OsbSettings { gone: true, ..OsbSettings::default() };
    examined(backend, osb, SuiteOptions { gone: true, ..SuiteOptions::default() }).await;
}
