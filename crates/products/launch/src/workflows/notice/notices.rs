//! The channels that are configured, and how long a delivery is tried.

use std::sync::Arc;
use std::time::Duration;

use engine::RetryPolicy;
use http_client::DriverError;
use webhook::Webhook;

use super::channel::Channel;

/// A receiver that is away for a night still hears it the next day.
const RETRIES: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_mins(5),
    budget: Duration::from_hours(24),
};
const SANDBOX_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Notices {
    pub channels: Vec<Arc<dyn Channel>>,
    /// How long a delivery is tried.
    pub retries: RetryPolicy,
}

impl Notices {
    /// No channel at all.
    pub fn none() -> Notices {
        Notices { channels: Vec::new(), retries: RETRIES }
    }

    /// Into the inbox `notices` of the sandbox.
    pub fn beside(sandbox_url: &str) -> Result<Notices, DriverError> {
        let webhook = Webhook::new(&format!("{sandbox_url}/inbox/notices"), None, SANDBOX_TIMEOUT)?;
        Ok(Notices::none().and(webhook))
    }

    #[must_use]
    pub fn and(mut self, channel: impl Channel + 'static) -> Notices {
        self.channels.push(Arc::new(channel));
        self
    }
}
