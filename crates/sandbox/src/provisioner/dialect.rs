//! Which year's schema the provisioner has.

use serde::{Deserialize, Serialize};

/// Named after the first year whose servers speak it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Dialect {
    #[serde(rename = "2020")]
    Of2020,
    #[serde(rename = "2021")]
    Of2021,
    #[default]
    #[serde(rename = "2022")]
    Of2022,
}

impl Dialect {
    pub(super) const ALL: [Dialect; 3] = [Dialect::Of2020, Dialect::Of2021, Dialect::Of2022];

    pub(super) fn year(self) -> u16 {
        match self {
            Dialect::Of2020 => 2020,
            Dialect::Of2021 => 2021,
            Dialect::Of2022 => 2022,
        }
    }
}
