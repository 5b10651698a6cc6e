//! How long requests take: many of them as fast as they go, at a fixed pace, or for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use engine::{Clock, Timestamp, WallClock};
use tokio::runtime::Handle;

use crate::load::as_float;

/// What was asked, one time each, and how long all of it took.
#[derive(Debug, Default)]
pub(super) struct Timed {
    pub(super) millis: Vec<f64>,
    elapsed: Duration,
}

impl Timed {
    pub(super) fn per_second(&self) -> f64 {
        as_float(self.millis.len() as u64) / self.elapsed.as_secs_f64()
    }

    pub(super) fn add(&mut self, other: Timed) {
        self.millis.extend(other.millis);
        self.elapsed += other.elapsed;
    }
}

/// One request. It gets its number.
pub(super) trait TimedRequest<F: Future<Output = Result<()>> + Send + 'static>:
    Fn(usize) -> F + Send + Sync + 'static
{
}

impl<F, A> TimedRequest<F> for A
where
    F: Future<Output = Result<()>> + Send + 'static,
    A: Fn(usize) -> F + Send + Sync + 'static,
{
}

async fn since<F: Future<Output = Result<()>>>(began: Timestamp, request: F) -> Result<f64> {
    request.await?;
    Ok(WallClock.now().since(began).as_secs_f64() * 1000.0)
}

/// So many requests by so many clients, each of which waits for its answer.
pub(super) async fn burst<F>(clients: usize, count: usize, ask: impl TimedRequest<F>) -> Result<Timed>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (next, ask) = (Arc::new(AtomicUsize::new(0)), Arc::new(ask));
    let began = WallClock.now();
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let (next, ask) = (Arc::clone(&next), Arc::clone(&ask));
            tokio::spawn(async move {
                let mut millis = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return anyhow::Ok(millis);
                    }
                    millis.push(since(WallClock.now(), ask(number)).await?);
                }
            })
        })
        .collect();
    let mut millis = Vec::with_capacity(count);
    for client in clients {
        millis.extend(client.await??);
    }
    Ok(Timed { millis, elapsed: WallClock.now().since(began) })
}

/// Sends at the pace whatever the answers do, as devices that know nothing of each other. The time counts from the
/// moment at which a request was due.
pub(super) async fn at_a_rate<F>(
    per_second: u32,
    window: Duration,
    ask: impl TimedRequest<F>,
) -> Result<Timed>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let count = u32::try_from(window.as_millis() * u128::from(per_second) / 1000)?;
    let (began, tasks) = (WallClock.now(), Handle::current());
    // A thread of its own wakes up on time, to a fraction of what is measured.
    let send = move || {
        let mut requests = Vec::new();
        for number in 0..count {
            let due = began.plus(Duration::from_secs(1) / per_second * number);
            sleep(due.since(WallClock.now()));
            requests.push(tasks.spawn(since(due, ask(number as usize))));
        }
        requests
    };
    let mut millis = Vec::new();
    for request in tokio::task::spawn_blocking(send).await? {
        millis.push(request.await??);
    }
    Ok(Timed { millis, elapsed: WallClock.now().since(began) })
}

/// How many requests per second so many clients get answered for a while.
pub(super) async fn saturate<F>(clients: usize, window: Duration, ask: impl TimedRequest<F>) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let ask = Arc::new(ask);
    let began = WallClock.now();
    let end = began.plus(window);
    let clients: Vec<_> = (0..clients)
        .map(|client| {
            let ask = Arc::clone(&ask);
            tokio::spawn(async move {
                let mut count = 0;
                while WallClock.now() < end {
                    ask(client + count).await?;
                    count += 1;
                }
                anyhow::Ok(count)
            })
        })
        .collect();
    let mut count = 0;
    for client in clients {
        count += client.await??;
    }
    Ok(as_float(count as u64) / WallClock.now().since(began).as_secs_f64())
}
