//! A commit that the database made and no transaction heard of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::store::{Store, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::fixture::*;
use crate::postgres_only::{LONG, open};
use crate::store_fixture::new_database;

/// The message on the wire.
const COMMIT: &[u8] = b"Q\0\0\0\x0bcommit\0";

/// Stands between a store and its database, and loses the answer to the next commit when it is told to.
struct Cutter {
    url: String,
    is_armed: Arc<AtomicBool>,
}

impl Cutter {
    async fn before(url: &str) -> Cutter {
        let (front, back) = url.rsplit_once('@').unwrap();
        let (address, database) = back.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{front}@{}/{database}", listener.local_addr().unwrap());
        let is_armed = Arc::new(AtomicBool::new(false));
        let (armed, address) = (Arc::clone(&is_armed), address.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&address).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&armed)));
            }
        });
        Cutter { url, is_armed }
    }

    fn lose_the_next_commit(&self) {
        self.is_armed.store(true, Ordering::SeqCst);
    }
}

/// Copies both ways until one side ends, or until a commit was answered that must not be heard of.
async fn carry(mut client: TcpStream, mut server: TcpStream, is_armed: Arc<AtomicBool>) {
    let (mut asked, mut answered) = (vec![0; 65536], vec![0; 65536]);
    let mut cuts = false;
    loop {
        tokio::select! {
            Ok(count) = client.read(&mut asked) => {
                let part = &asked[..count];
                let commits = part.windows(COMMIT.len()).any(|word| word == COMMIT);
                cuts |= commits && is_armed.swap(false, Ordering::SeqCst);
                if count == 0 || server.write_all(part).await.is_err() {
                    return;
                }
            }
            Ok(count) = server.read(&mut answered) => {
                if count == 0 || cuts || client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
            else => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_claim_without_an_answer_took_is_claimed_again() {
    let url = new_database();
    let cutter = Cutter::before(&url).await;
    let (direct, store) = (open(&url).await, open(&cutter.url).await);
    let node = joined(&*store).await;
    let new = plain("tenant");
    let id = new.id;
    create(&*direct, new).await;
    cutter.lose_the_next_commit();
    let lost = timeout(LONG, store.claim(node, LATE, 10)).await.unwrap();
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    let other = joined(&*direct).await;
    assert_eq!(claim(&*direct, other, LATE).await.len(), 0, "the claim did happen");
    let again = timeout(LONG, claim(&*store, node, LATE)).await.unwrap();
    assert_eq!(again.iter().map(|claimed| claimed.id).collect::<Vec<_>>(), [id]);
    assert!(again[0].orphaned, "it is unknown what was done with it in between");
}
