//! What goes on beside the doors for launches: messages about images are read, and how launches ended is told.

use std::time::Duration;

use drivers::kafka::{Consumer, Producer, Received};
use engine::Engine;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use workflows::launch::hints::{self, Heard, HintError};
use workflows::launch::outbox::{self, SweepError};
use workflows::source_check;

use crate::compose::Events;

/// A notice leaves this long after the end of its launch at the latest.
const OUTBOX_PAUSE: Duration = Duration::from_millis(500);
const OUTBOX_PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// Before the same message is tried again.
const AGAIN: Duration = Duration::from_secs(1);
const IDENTITY: &str = "x-rh-identity";

/// Reads messages about images until the process stops.
pub(crate) async fn keep_listening(engine: Engine, events: Events, closing: CancellationToken) {
    let opened = Consumer::new(&events.kafka, &events.topic)
        .and_then(|consumer| Ok((consumer, Producer::new(&events.kafka)?)));
    let (consumer, graveyard) = match opened {
        Ok(both) => both,
        Err(error) => {
            warn!(%error, "messages about images cannot be read; launches look by themselves");
            return;
        }
    };
    loop {
        let received = tokio::select! {
            () = closing.cancelled() => break,
            received = consumer.next() => received,
        };
        tokio::select! {
            () = closing.cancelled() => break,
            () = hear(&engine, &graveyard, &received) => consumer.done(&received),
        }
    }
    consumer.close().await;
}

/// Returns when the message has had its effect, or never can have one.
async fn hear(engine: &Engine, graveyard: &Producer, received: &Received) {
    loop {
        let identity = received.header(IDENTITY);
        let error = match hints::from_event(engine, &received.payload, identity).await {
            Ok(Heard::Told(launches)) => return debug!(launches, "a message about an image"),
            Ok(Heard::Ignored(why)) => return debug!(why, "a message about an image is of no use"),
            Err(HintError::Malformed(why)) => match graveyard.bury(received, &why).await {
                Ok(()) => return warn!(why, "a message about an image went to the dead letters"),
                Err(error) => error.to_string(),
            },
            Err(HintError::Submit(error)) => error.to_string(),
        };
        warn!(error, "a message about an image waits");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn tell(engine: &Engine) -> Result<(), SweepError> {
    outbox::sweep(engine).await?;
    source_check::sweep(engine).await?;
    Ok(())
}

/// Hands on what launches and looks at sources left for others until the process stops.
pub(crate) async fn keep_telling(engine: Engine, closing: CancellationToken) {
    loop {
        let pause = match tell(&engine).await {
            Ok(()) => OUTBOX_PAUSE,
            Err(error) => {
                warn!(%error, "notices wait");
                OUTBOX_PAUSE_AFTER_ERROR
            }
        };
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
