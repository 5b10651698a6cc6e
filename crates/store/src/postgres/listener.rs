//! Hears when another process has put something down that any transaction may take.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::debug;

use super::connection::{ConnectionRole, SessionOptions, next_pause};
use super::statements as sql;
use super::target::DatabaseTarget;

const LISTENER: ConnectionRole = ConnectionRole { settings: "", statements: &[] };

/// Never ends by itself.
pub(super) async fn listen(target: Arc<DatabaseTarget>, wake_up: Arc<Notify>) {
    let mut pause = Duration::ZERO;
    loop {
        match SessionOptions::open(&target, LISTENER, Some(Arc::clone(&wake_up))).await {
            Ok(mut session) => {
                if session.say(sql::LISTEN).await.is_ok() {
                    // It is unknown what was told before we listened.
                    wake_up.notify_one();
                    pause = Duration::ZERO;
                    session.closed().await;
                }
            }
            Err(error) => debug!(%error, "listening for database notifications failed"),
        }
        pause = next_pause(pause);
        sleep(pause).await;
    }
}
