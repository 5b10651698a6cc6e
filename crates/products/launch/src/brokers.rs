//! Whether the brokers of Kafka take connections.

use async_trait::async_trait;
use engine::{Clock, WallClock};
use server::System;
use tokio::net::TcpStream;

use app::compose::since;

pub(crate) struct Brokers {
    pub(crate) addresses: Option<String>,
}

#[async_trait]
impl System for Brokers {
    fn name(&self) -> &'static str {
        "Kafka"
    }

    fn address(&self) -> Option<&str> {
        self.addresses.as_deref()
    }

    /// One of them is enough: the others are found through it.
    async fn look(&self) -> Result<String, String> {
        let began = WallClock.now();
        let all = self.addresses.as_deref().unwrap_or_default();
        for address in all.split(',').map(str::trim).filter(|address| !address.is_empty()) {
            if TcpStream::connect(address).await.is_ok() {
                return Ok(format!("{address} takes connections, after {} ms", since(began)));
            }
        }
        Err("no broker takes connections".to_owned())
    }
}
