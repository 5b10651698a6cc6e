//! Connections that end at a bad moment, and calls that come all at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use opennebula::{NebulaError, OpenNebula, OpenNebulaOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::recorded::{Exchange, cognit, nebula};

/// A server that answers so many calls on a connection, reads one more, and hangs up.
struct Moody {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Moody {
    async fn answers(per_connection: usize) -> Moody {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&connections), Arc::clone(&calls));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counts.0.fetch_add(1, Ordering::SeqCst);
                let calls = Arc::clone(&counts.1);
                tokio::spawn(async move {
                    for number in 0..=per_connection {
                        if !read_call(&mut stream).await {
                            return;
                        }
                        calls.fetch_add(1, Ordering::SeqCst);
                        if number < per_connection {
                            answer(&mut stream, "user").await;
                        }
                    }
                });
            }
        });
        Moody { address, connections, calls }
    }

    fn seen(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.calls.load(Ordering::SeqCst))
    }
}

/// A whole request, or the end of the connection.
async fn read_call(stream: &mut TcpStream) -> bool {
    let mut request = Vec::new();
    while !request.ends_with(b"</methodCall>") {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return false,
            Ok(length) => request.extend_from_slice(&part[..length]),
        }
    }
    true
}

async fn answer(stream: &mut TcpStream, name: &str) {
    let body = Exchange::named(name).response;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_the_external_system_ends_costs_a_read_nothing() {
    let server = Moody::answers(3).await;
    let nebula = nebula(server.address);
    for _ in 0..7 {
        nebula.user(&cognit()).await.unwrap();
    }
    // Three calls, and a fourth that comes again on a connection of its own.
    assert!(server.seen().0 > 1, "{:?}", server.seen());
    assert!(server.seen().1 > 7, "{:?}", server.seen());
}

#[tokio::test]
async fn a_read_is_repeated_once() {
    let server = Moody::answers(0).await;
    let error = nebula(server.address).user(&cognit()).await.unwrap_err();
    assert!(matches!(error, NebulaError::Unreachable { service: "oned", .. }), "{error:?}");
    assert_eq!(server.seen(), (2, 2));
}

#[tokio::test]
async fn a_write_is_never_repeated() {
    let server = Moody::answers(0).await;
    let error = nebula(server.address).delete_document(&cognit(), 49).await.unwrap_err();
    assert!(matches!(error, NebulaError::Unreachable { service: "oned", .. }), "{error:?}");
    assert_eq!(server.seen(), (1, 1));
}

#[tokio::test]
async fn a_write_gets_a_connection_of_its_own() {
    let server = Moody::answers(1).await;
    let nebula = nebula(server.address);
    nebula.user(&cognit()).await.unwrap();
    // The connection of the read would swallow the next call.
    for _ in 0..3 {
        nebula.delete_document(&cognit(), 49).await.unwrap();
    }
    assert_eq!(server.seen(), (4, 4));
}

#[tokio::test]
async fn no_one_at_the_address_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = nebula(address).user(&cognit()).await.unwrap_err();
    assert!(matches!(error, NebulaError::Unreachable { service: "oned", .. }), "{error:?}");
    assert!(error.may_heal() && !error.to_string().contains("RPC2"), "{error}");
}

/// Two places, and an external system that answers when it is told to.
struct Slow {
    nebula: OpenNebula,
    arrived: Arc<Semaphore>,
    most: Arc<AtomicUsize>,
    go: Arc<Semaphore>,
}

impl Slow {
    async fn new(timeout: Duration) -> Slow {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (arrived, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let options = OpenNebulaOptions::new(format!("http://{address}/RPC2"), format!("http://{address}"));
        let nebula = OpenNebula::new(&OpenNebulaOptions { connections: 4, timeout, ..options }).unwrap();
        let slow =
            Slow { nebula, arrived: Arc::clone(&arrived), most: Arc::clone(&most), go: Arc::clone(&go) };
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (arrived, go, now, most) = (arrived.clone(), go.clone(), now.clone(), most.clone());
                tokio::spawn(async move {
                    while read_call(&mut stream).await {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        arrived.add_permits(1);
                        go.acquire().await.unwrap().forget();
                        now.fetch_sub(1, Ordering::SeqCst);
                        answer(&mut stream, "user").await;
                    }
                });
            }
        });
        slow
    }
}

#[tokio::test]
async fn calls_wait_for_a_place() {
    let slow = Slow::new(Duration::from_secs(30)).await;
    let calls: Vec<_> = (0..9)
        .map(|_| {
            let nebula = slow.nebula.clone();
            tokio::spawn(async move { nebula.user(&cognit()).await })
        })
        .collect();
    slow.arrived.acquire_many(2).await.unwrap().forget();
    slow.go.add_permits(9);
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn silence_is_told_apart_from_no_one_there() {
    let slow = Slow::new(Duration::from_millis(300)).await;
    let error = slow.nebula.delete_document(&cognit(), 1).await.unwrap_err();
    assert!(matches!(error, NebulaError::TimedOut { service: "oned", .. }), "{error:?}");
    assert!(error.may_heal());
}

#[test]
fn an_address_that_is_none_is_refused() {
    for (oned, oneflow) in
        [("ftp://x/RPC2", "http://x"), ("http://x/RPC2", "x"), ("http://a:b@x/RPC2", "http://x")]
    {
        assert!(OpenNebula::new(&OpenNebulaOptions::new(oned, oneflow)).is_err(), "{oned} {oneflow}");
    }
    let options = OpenNebulaOptions { connections: 1, ..OpenNebulaOptions::new("http://x/RPC2", "http://x") };
    assert!(OpenNebula::new(&options).is_err());
}
