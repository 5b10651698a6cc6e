//! What all serverless workflows share, as it was configured.

use std::collections::BTreeMap;
use std::time::Duration;

use http_client::DriverError;
use opennebula::{OpenNebula, OpenNebulaOptions};

/// OpenNebula, and how its runtimes are made.
#[derive(Clone)]
pub struct Serverless {
    pub nebula: OpenNebula,
    pub settings: ServerlessSettings,
}

impl Serverless {
    pub fn new(options: &OpenNebulaOptions, settings: ServerlessSettings) -> Result<Serverless, DriverError> {
        Ok(Serverless { nebula: OpenNebula::new(options)?, settings })
    }

    /// Where OpenNebula is on its own host. Nothing is connected before something is asked.
    pub fn unconnected() -> Serverless {
        let options = OpenNebulaOptions::new("http://localhost:2633/RPC2", "http://localhost:2474");
        Serverless::new(&options, ServerlessSettings::default()).expect("these addresses are valid")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerlessSettings {
    /// How long a caller may have to wait for OpenNebula.
    pub timeout: Duration,
    /// Cores of a function that asks for none and whose VM template has none.
    pub cpu_default: u32,
    /// How many times its cores a function may be resized to.
    pub cpu_mult: u32,
    /// Megabytes of a function that asks for none and whose VM template has none.
    pub memory_default: u32,
    pub memory_mult: u32,
    pub resize_mode: ResizeMode,
    /// Megabytes of the first disk of a function that asks for none.
    pub disk_default: u32,
    /// Service templates by the flavours that they stand for. Without it they are found by their names.
    pub mapping: Option<BTreeMap<String, i32>>,
    /// Whether flavours that the mapping lacks are looked for by name.
    pub mapping_falls_back: bool,
    pub sr_auth: SrAuth,
    /// How long a login is valid that a VM gets.
    pub token_valid: Duration,
    /// Whether requirements and policies go to the scheduler as they are written, and not in capital letters.
    pub scheduling_verbatim: bool,
    /// The pause between two looks at what OpenNebula is doing.
    pub poll: Duration,
    /// How long a call whose answer was lost may still be on its way. Until then nothing is made a second time.
    pub settle: Duration,
}

/// How a VM gets more memory while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResizeMode {
    Ballooning,
    Hotplug,
}

impl ResizeMode {
    pub fn as_str(self) -> &'static str {
        match self {
            ResizeMode::Ballooning => "BALLOONING",
            ResizeMode::Hotplug => "HOTPLUG",
        }
    }
}

/// How a VM can act on behalf of who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SrAuth {
    /// With the caller's own password.
    Password,
    /// With a login that ends by itself.
    Token,
    /// Not at all.
    None,
}

impl Default for ServerlessSettings {
    fn default() -> Self {
        ServerlessSettings {
            timeout: Duration::from_secs(30),
            cpu_default: 2,
            cpu_mult: 2,
            memory_default: 1024,
            memory_mult: 2,
            resize_mode: ResizeMode::Ballooning,
            disk_default: 1024,
            mapping: None,
            mapping_falls_back: false,
            sr_auth: SrAuth::None,
            token_valid: Duration::from_hours(24),
            scheduling_verbatim: false,
            poll: Duration::from_millis(500),
            settle: Duration::from_secs(15),
        }
    }
}

const POLL_FIRST: Duration = Duration::from_millis(50);

impl ServerlessSettings {
    /// How long to leave something alone that has been going on for so long: most of it is over soon.
    pub(crate) fn pause(&self, going_on_for: Duration) -> Duration {
        (going_on_for / 4).clamp(POLL_FIRST.min(self.poll), self.poll)
    }
}
