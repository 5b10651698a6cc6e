//! The states of a machine, as numbers and as words.

/// A machine that is not active has no state of its life cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Hold,
    Active(Lcm),
    Suspended,
    Done,
    PowerOff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lcm {
    Init,
    Prolog,
    Boot,
    Running,
    SaveSuspend,
    Epilog,
    Shutdown,
    ShutdownPoweroff,
    BootPoweroff,
    BootSuspended,
    BootFailure,
    DiskResize,
    HotplugResize,
}

impl State {
    /// STATE and `LCM_STATE`.
    pub(crate) fn codes(self) -> (i32, i32) {
        match self {
            State::Pending => (1, 0),
            State::Hold => (2, 0),
            State::Active(lcm) => (3, lcm.code()),
            State::Suspended => (5, 0),
            State::Done => (6, 0),
            State::PowerOff => (8, 0),
        }
    }

    /// The word that oned puts into a refusal.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Pending => "PENDING",
            State::Hold => "HOLD",
            State::Active(lcm) => lcm.name(),
            State::Suspended => "SUSPENDED",
            State::Done => "DONE",
            State::PowerOff => "POWEROFF",
        }
    }
}

impl Lcm {
    fn code(self) -> i32 {
        match self {
            Lcm::Init => 0,
            Lcm::Prolog => 1,
            Lcm::Boot => 2,
            Lcm::Running => 3,
            Lcm::SaveSuspend => 6,
            Lcm::Epilog => 11,
            Lcm::Shutdown => 12,
            Lcm::ShutdownPoweroff => 18,
            Lcm::BootPoweroff => 20,
            Lcm::BootSuspended => 21,
            Lcm::BootFailure => 36,
            Lcm::DiskResize => 62,
            Lcm::HotplugResize => 66,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Lcm::Init => "LCM_INIT",
            Lcm::Prolog => "PROLOG",
            Lcm::Boot => "BOOT",
            Lcm::Running => "RUNNING",
            Lcm::SaveSuspend => "SAVE_SUSPEND",
            Lcm::Epilog => "EPILOG",
            Lcm::Shutdown => "SHUTDOWN",
            Lcm::ShutdownPoweroff => "SHUTDOWN_POWEROFF",
            Lcm::BootPoweroff => "BOOT_POWEROFF",
            Lcm::BootSuspended => "BOOT_SUSPENDED",
            Lcm::BootFailure => "BOOT_FAILURE",
            Lcm::DiskResize => "DISK_RESIZE",
            Lcm::HotplugResize => "HOTPLUG_RESIZE",
        }
    }
}
