//! Where calls may go is checked again when a name is looked up: what it meant when it was declared does not count.

use std::net::SocketAddr;
use std::sync::Arc;

use declared::{Front, Reach, StepClient, compile};
use engine::store::MemoryStore;
use engine::{Inspection, Phase, WallClock};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::json;
use testing::TestEngine;

use crate::service::{SECRET, StepService, declaration};

/// Every name means these addresses.
struct Names(Vec<&'static str>);

impl Resolve for Names {
    fn resolve(&self, _: Name) -> Resolving {
        let found: Vec<SocketAddr> =
            self.0.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}

/// An operation whose steps are called at a name with these addresses.
async fn run(service: &StepService, addresses: &[&'static str], allow_link_local: bool) -> Inspection {
    let port = Url::parse(&service.url).unwrap().port().unwrap();
    // A step without undo: what was never called cannot be taken back by a call either.
    let text = declaration(&format!("http://steps.example:{port}/")).replace(", undo: reserve/undo", "");
    let reach = Reach { allow_http: true, allow_link_local };
    let declaration = declared::Declaration::parse(&text, reach).unwrap_or_else(|wrong| panic!("{wrong}"));
    let front = Front::new(StepClient::with_names(reach, Names(addresses.to_vec())).unwrap());
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let plan = compile(declaration, 1, &front, SECRET.into());
    let test_engine = TestEngine::open(builder.workflow(plan), None).await;
    let id = test_engine.submit("acme.database", None, json!({"team": "red"})).await;
    let ended = test_engine.finished(id).await;
    test_engine.close().await;
    ended
}

#[tokio::test]
async fn a_name_that_leads_to_a_metadata_service_at_the_call_is_not_called() {
    let service = StepService::start().await;
    for address in ["169.254.169.254", "168.63.129.16", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254"]
    {
        let ended = run(&service, &[address], false).await;
        assert_eq!(ended.shown.summary.phase, Phase::Undone, "{address}");
        let cause = ended.memory.last_error.unwrap().cause.as_str().to_owned();
        assert!(cause.contains("is link-local or a metadata service"), "{address}: {cause}");
    }
    assert!(service.calls().is_empty());
}

#[tokio::test]
async fn of_several_addresses_only_those_are_called_that_may_be() {
    let service = StepService::start().await;
    let ended = run(&service, &["169.254.169.254", "127.0.0.1"], false).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(!service.calls().is_empty());
}
