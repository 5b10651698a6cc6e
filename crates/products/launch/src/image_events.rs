//! Background tasks of launches: read image events, and deliver notices.

use std::time::Duration;

use crate::model::image_events::{self, EventResult, ImageEventError};
use crate::model::outbox;
use crate::workflows::source_check;
use ::kafka::{Consumer, Producer, Received};
use engine::due::Backoff;
use engine::store::StoreError;
use engine::{Engine, SubmitError};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

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
    let (consumer, dead_letters) = match opened {
        Ok(both) => both,
        Err(error) => {
            warn!(%error, "reading image events failed; launches poll instead");
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
            () = hear(&engine, &dead_letters, &received) => consumer.done(&received),
        }
    }
    consumer.close().await;
}

/// Returns when the message has had its effect, or never can have one.
async fn hear(engine: &Engine, dead_letters: &Producer, received: &Received) {
    loop {
        let identity = received.header(IDENTITY);
        let error = match image_events::from_event(engine, &received.payload, identity).await {
            Ok(EventResult::Told(launches)) => return debug!(launches, "image event"),
            Ok(EventResult::Ignored(why)) => return debug!(why, "image event ignored"),
            Err(error) if is_final(&error) => {
                match dead_letters.dead_letter(received, &error.to_string()).await {
                    Ok(()) => return warn!(%error, "image event moved to the dead letters"),
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        warn!(error, "image event deferred");
        tokio::time::sleep(AGAIN).await;
    }
}

/// Whether the same message can never be handled: it must not hold up those behind it.
fn is_final(error: &ImageEventError) -> bool {
    match error {
        ImageEventError::Submit(SubmitError::Store(error)) => !error.may_heal(),
        ImageEventError::Submit(SubmitError::Busy { .. } | SubmitError::Changed) => false,
        ImageEventError::Malformed(_) | ImageEventError::Submit(_) => true,
    }
}

async fn tell(engine: &Engine, launches: &mut Backoff, sources: &mut Backoff) -> Result<(), StoreError> {
    outbox::sweep(engine, launches).await?;
    source_check::sweep(engine, sources).await?;
    Ok(())
}

/// Hands on what launches and looks at sources left for others until the process stops.
pub(crate) async fn keep_telling(engine: Engine, closing: CancellationToken) {
    let (mut launches, mut sources) = (Backoff::default(), Backoff::default());
    loop {
        let pause = match tell(&engine, &mut launches, &mut sources).await {
            Ok(()) => OUTBOX_PAUSE,
            Err(error) => {
                warn!(%error, "delivering notices failed, retrying");
                OUTBOX_PAUSE_AFTER_ERROR
            }
        };
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
