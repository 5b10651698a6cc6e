//! How many connections oned takes, and how long it keeps them.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::caller::{COGNIT, OnedClient, body};

const OPEN_MAX: usize = 15;
const CALLS_MAX: usize = 30;
const LOOKS_MAX: Duration = Duration::from_secs(10);

struct RawConnection {
    stream: TcpStream,
}

impl RawConnection {
    async fn open(caller: &OnedClient) -> Self {
        let addr = caller.sandbox.addr();
        let oned = SocketAddr::new(addr.ip(), addr.port() + 1);
        RawConnection { stream: TcpStream::connect(oned).await.unwrap() }
    }

    async fn ask(&mut self) {
        let body = body(COGNIT, "one.system.version", &[]);
        let head = format!("POST /RPC2 HTTP/1.1\r\nHost: oned\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.write_all((head + &body).as_bytes()).await.unwrap();
    }

    /// The whole answer.
    async fn answer(&mut self) -> String {
        let mut answer = String::new();
        let mut part = [0; 1024];
        while !answer.contains("</methodResponse>") {
            let length = self.stream.read(&mut part).await.unwrap();
            assert!(length > 0, "hung up after {answer}");
            answer += str::from_utf8(&part[..length]).unwrap();
        }
        answer
    }

    async fn call(&mut self) -> String {
        self.ask().await;
        self.answer().await
    }
}

#[tokio::test]
async fn the_sixteenth_connection_waits_until_another_one_closes() {
    let caller = OnedClient::new().await;
    let mut lines = Vec::new();
    for _ in 0..OPEN_MAX {
        let mut line = RawConnection::open(&caller).await;
        line.call().await;
        lines.push(line);
    }
    let mut late = RawConnection::open(&caller).await;
    late.ask().await;
    // Calls on the others go on, while the late one has not even been taken.
    lines[0].call().await;
    let counts = caller.get("/opennebula/connections").await;
    assert_eq!((&counts["open"], &counts["peak"], &counts["accepted"]), (&15.into(), &15.into(), &15.into()));
    drop(lines.pop());
    assert!(late.answer().await.contains("6.8.3"));
    let counts = caller.get("/opennebula/connections").await;
    assert_eq!((&counts["peak"], &counts["accepted"]), (&15.into(), &16.into()));
}

/// Written byte by byte as the real one writes them.
#[tokio::test]
async fn answers_have_the_headers_of_abyss_and_pages_no_length() {
    let caller = OnedClient::new().await;
    let mut line = RawConnection::open(&caller).await;
    let answer = line.call().await;
    assert!(answer.contains("\r\nContent-type: text/xml; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-length: 263\r\n"), "{answer}");
    for (request, status) in [
        ("GET /RPC2", "405 Method Not Allowed"),
        ("POST /nowhere", "404 Not Found"),
        ("POST /RPC2", "411 Length Required"),
    ] {
        let mut line = RawConnection::open(&caller).await;
        line.stream.write_all(format!("{request} HTTP/1.1\r\nHost: oned\r\n\r\n").as_bytes()).await.unwrap();
        let mut page = String::new();
        line.stream.read_to_string(&mut page).await.unwrap();
        assert!(page.starts_with(&format!("HTTP/1.1 {status}\r\nContent-type: text/html\r\n")), "{page}");
        assert!(
            !page.to_lowercase().contains("content-length:") && page.ends_with("</BODY></HTML>"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn a_connection_ends_after_thirty_calls() {
    let caller = OnedClient::new().await;
    let mut line = RawConnection::open(&caller).await;
    for _ in 1..CALLS_MAX {
        assert!(!line.call().await.contains("connection: close"));
    }
    assert!(line.call().await.contains("connection: close"));
    let mut rest = Vec::new();
    assert_eq!(line.stream.read_to_end(&mut rest).await.unwrap(), 0);
    // The socket is closed a moment before it is counted.
    let looks = async { while caller.get("/opennebula/connections").await["open"] != 0 {} };
    tokio::time::timeout(LOOKS_MAX, looks).await.unwrap();
}

#[tokio::test]
async fn a_silent_connection_is_hung_up() {
    let caller = OnedClient::new().await;
    let mut line = RawConnection::open(&caller).await;
    line.call().await;
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    assert_eq!(line.stream.read(&mut [0]).await.unwrap(), 0);
    let waited = start.elapsed();
    assert!((14..=16).contains(&waited.as_secs()), "{waited:?}");
}
