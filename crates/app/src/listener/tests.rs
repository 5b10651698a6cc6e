//! Which connections close, in virtual time.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Version};
use axum::routing::get;
use tokio::time::advance;
use tower::ServiceExt;

use super::ListenerLimits;
use super::connections::{Connections, OpenConnection};
use super::requests::Requests;

const LIMITS: ListenerLimits = ListenerLimits {
    connections: 4,
    per_address: 3,
    header: Duration::from_secs(10),
    body: Duration::from_secs(20),
    idle: Duration::from_secs(60),
};

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn has_ended(open: &OpenConnection) -> bool {
    futures_util::FutureExt::now_or_never(open.ended()).is_some()
}

async fn second() {
    advance(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_request_of_http_1_1_has_one_host() {
    let connections = Arc::new(Connections::new(LIMITS));
    let open = connections.admit(address(1)).unwrap();
    let router = Router::new().route("/", get(|| async { "here" }));
    let requests = Requests::new(router, SocketAddr::new(address(1), 7), open.state(), LIMITS.body);
    for (version, hosts, status) in [
        (Version::HTTP_11, 0, 400),
        (Version::HTTP_11, 1, 200),
        (Version::HTTP_11, 2, 400),
        (Version::HTTP_10, 0, 200),
        (Version::HTTP_2, 0, 200),
    ] {
        let request = Request::builder().version(version).uri("/");
        let request = (0..hosts).fold(request, |request, _| request.header("host", "a"));
        let response = requests.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), status, "{version:?} with {hosts} headers");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_has_only_so_long_for_a_header_and_between_requests() {
    let connections = Arc::new(Connections::new(LIMITS));
    let silent = connections.admit(address(1)).unwrap();
    let slow = connections.admit(address(2)).unwrap();
    let idle = connections.admit(address(3)).unwrap();
    let working = connections.admit(address(4)).unwrap();
    idle.state().begin_work();
    idle.state().end_response();
    working.state().begin_work();
    advance(Duration::from_secs(5)).await;
    slow.state().received();
    for (seconds, expected) in [
        (4, [false, false, false, false]),
        (1, [true, false, false, false]),
        (5, [true, true, false, false]),
        (45, [true, true, true, false]),
        (3600, [true, true, true, false]),
    ] {
        advance(Duration::from_secs(seconds)).await;
        // More bytes of the same header give no more time.
        slow.state().received();
        connections.end_overdue();
        assert_eq!([&silent, &slow, &idle, &working].map(has_ended), expected, "after {seconds} s more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_response_is_closed() {
    let connections = Arc::new(Connections::new(LIMITS));
    let [reads, stopped] = [1, 2].map(|last| connections.admit(address(last)).unwrap());
    for open in [&reads, &stopped] {
        open.state().begin_work();
    }
    for _ in 0..40 {
        stopped.state().wrote(false);
        reads.state().wrote(false);
        second().await;
        reads.state().wrote(true);
        connections.end_overdue();
    }
    assert_eq!([&reads, &stopped].map(has_ended), [false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_takes_the_place_of_the_one_that_does_nothing_for_longest() {
    let connections = Arc::new(Connections::new(LIMITS));
    let oldest = connections.admit(address(1)).unwrap();
    oldest.state().begin_work();
    second().await;
    let quiet = connections.admit(address(1)).unwrap();
    second().await;
    let sending = connections.admit(address(1)).unwrap();
    sending.state().begin_body();
    let other = connections.admit(address(2)).unwrap();
    other.state().begin_work();
    other.state().end_response();
    second().await;
    let all = [&oldest, &quiet, &sending, &other];
    // All places of the first address are taken, and then all places.
    let first = connections.admit(address(1)).unwrap();
    assert_eq!(all.map(has_ended), [false, true, false, false]);
    let second = connections.admit(address(3)).unwrap();
    assert_eq!(
        all.map(has_ended),
        [false, true, true, false],
        "the address with the most connections gives way"
    );
    assert!(![&first, &second].map(has_ended).contains(&true));
}

#[tokio::test(start_paused = true)]
async fn a_connection_at_work_never_gives_way() {
    let connections = Arc::new(Connections::new(LIMITS));
    let admit = |last: u8| {
        let open = connections.admit(address(last))?;
        open.state().begin_work();
        Some(open)
    };
    let mut open: Vec<OpenConnection> = (0..3).map(|_| admit(1).unwrap()).collect();
    assert!(admit(1).is_none(), "one address has its places and no more");
    open.push(admit(2).unwrap());
    assert!(admit(3).is_none(), "all places are taken");
    assert!(!open.iter().any(has_ended));
    open.pop();
    assert!(admit(3).is_some(), "a place is given back");
}

#[tokio::test(start_paused = true)]
async fn the_addresses_of_one_ipv6_network_count_as_one() {
    let connections = Arc::new(Connections::new(LIMITS));
    let admit = |address: &str| {
        let open = connections.admit(address.parse().unwrap())?;
        open.state().begin_work();
        Some(open)
    };
    let _open = ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:3"].map(|address| admit(address).unwrap());
    assert!(admit("2001:db8::4").is_none());
    assert!(admit("2001:db8:0:1::4").is_some());
}
