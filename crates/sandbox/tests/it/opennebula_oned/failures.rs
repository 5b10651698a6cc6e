//! Trouble on demand, at the gate and behind it, and the ports of the sandbox.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::{Method, StatusCode};
use sandbox::Sandbox;
use serde_json::json;
use tokio::net::TcpListener;

use super::caller::{COGNIT, Int, OnedClient, Text, body};

#[tokio::test]
async fn faults_hit_the_calls_they_are_about() {
    let caller = OnedClient::new().await;
    let fault = json!({"system": "oned", "kind": "error", "status": 502, "about": "one.document.delete"});
    assert_eq!(caller.send(Method::POST, "/faults", fault).await, StatusCode::CREATED);
    let fault = json!({"system": "oned", "kind": "drop_after", "about": "one.document.allocate"});
    assert_eq!(caller.send(Method::POST, "/faults", fault).await, StatusCode::CREATED);
    let allocate = body(COGNIT, "one.document.allocate", &[Text("BODY=1"), Int(1337)]);
    assert!(caller.post(allocate).await.is_err());
    assert_eq!(caller.standing("oned/document").await, 1);
    let id = caller.allocate(COGNIT, "BODY=2", 1337).await.unwrap();
    let delete = body(COGNIT, "one.document.delete", &[Int(id)]);
    assert_eq!(caller.post(delete).await.unwrap().status(), StatusCode::BAD_GATEWAY);
    caller.call(COGNIT, "one.document.delete", &[Int(id)]).await.unwrap();
}

#[tokio::test]
async fn an_election_stops_calls_for_a_while() {
    let caller = OnedClient::new().await;
    caller.faults(json!({"kind": "election", "times": 2, "about": "one.document"})).await;
    caller.call(COGNIT, "one.user.info", &[Int(-1)]).await.unwrap();
    for _ in 0..2 {
        let refused = caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap_err();
        let why = "[one.document.allocate] Cannot process request, oned cluster in election mode";
        assert_eq!(refused, (why.into(), 8192));
    }
    caller.allocate(COGNIT, "BODY=1", 1337).await.unwrap();
    assert_eq!(caller.get("/opennebula/faults").await["faults"], json!([]));
}

#[tokio::test]
async fn nonsense_in_scripts_is_refused() {
    let caller = OnedClient::new().await;
    for (path, script) in [
        ("/opennebula/faults", json!({"kind": "flood"})),
        ("/opennebula/faults", json!({"kind": "election", "colour": 1})),
        ("/opennebula/pace", json!({"boot_ms": -1})),
        ("/opennebula/pace", json!({"boot_ms": 100_000_000})),
        ("/opennebula/pace", json!({"coffee_ms": 1})),
    ] {
        let sent = caller.send(Method::POST, path, script.clone()).await;
        assert_eq!(sent, StatusCode::BAD_REQUEST, "{script}");
    }
    caller.faults(json!({"kind": "no_nodes", "times": 0})).await;
    let cleared = caller.send(Method::DELETE, "/opennebula/faults", json!({})).await;
    assert_eq!(cleared, StatusCode::NO_CONTENT);
    assert_eq!(caller.get("/opennebula/faults").await["faults"], json!([]));
}

#[tokio::test]
async fn the_sandbox_holds_three_ports_and_gives_them_back() {
    let caller = OnedClient::new().await;
    let addr = caller.sandbox.addr();
    let neighbour = |distance| SocketAddr::new(addr.ip(), addr.port() + distance);
    assert_eq!(caller.sandbox.oned_url(), format!("http://{}/RPC2", neighbour(1)));
    assert_eq!(caller.sandbox.oneflow_url(), format!("http://{}", neighbour(2)));
    let error = Sandbox::start(neighbour(2)).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {}: ", neighbour(2))), "{error}");
    caller.sandbox.stop().await;
    let held = TcpListener::bind(neighbour(1)).await.unwrap();
    let error = Sandbox::start(addr).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {}: ", neighbour(1))), "{error}");
    drop(held);
    Sandbox::start(addr).await.unwrap().stop().await;
    let too_high = SocketAddr::from((Ipv4Addr::LOCALHOST, u16::MAX - 1));
    Sandbox::start(too_high).await.unwrap_err();
}
