//! Waits for the requested time. The wait is a row in the database, so it survives a crash.

use engine::prelude::*;

use crate::workflows::hello::Hello;

pub(crate) struct Rest;

/// When the wait is over. Remembered, so that a restart does not begin it anew.
#[derive(Serialize, Deserialize)]
struct RestsUntil {
    micros: i64,
}

impl Fact for RestsUntil {
    const KEY: &'static str = "rest.until";
}

#[async_trait]
impl Step<Hello> for Rest {
    named!("rest", "Waiting for the requested time");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Hello>) -> Outcome {
        let now = op.now();
        let until = if let Some(until) = op.recall::<RestsUntil>()? {
            engine::Timestamp(until.micros)
        } else {
            let until = now.plus(Duration::from_millis(op.params.wait_ms));
            op.remember(&RestsUntil { micros: until.0 })?;
            until
        };
        if now >= until {
            return done();
        }
        wait(until.since(now), format!("waiting for {} ms, as requested", op.params.wait_ms))
    }
}
