//! The years of a Provisioner, for servers that do not tell their schema.

use std::str::FromStr;

/// Named after the first year whose servers speak it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// One zone on AWS, no names of clusters, no change of a cluster.
    Of2020,
    /// Kyma is required, and an operation that failed does not tell its last error.
    Of2021,
    Of2022,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Of2020, Dialect::Of2021, Dialect::Of2022];

    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Of2020 => "2020",
            Dialect::Of2021 => "2021",
            Dialect::Of2022 => "2022",
        }
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Dialect, String> {
        let found = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == text);
        found.ok_or_else(|| format!("there is no dialect {text:?}; known are 2020, 2021 and 2022"))
    }
}
