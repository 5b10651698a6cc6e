//! Names of things that the engine makes up itself.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::{Clock, Timestamp};

/// One operation. Version 7, so that the order of ids is the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub Uuid);

/// One run of one process. A restarted process is a new node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub Uuid);

impl OperationId {
    pub fn new(clock: &dyn Clock) -> OperationId {
        OperationId(fresh(clock))
    }

    /// The smallest id that an operation created at this moment can have.
    pub fn first_at(at: Timestamp) -> OperationId {
        OperationId(version_7(at, 0, 0))
    }
}

impl NodeId {
    pub fn new(clock: &dyn Clock) -> NodeId {
        NodeId(fresh(clock))
    }
}

fn fresh(clock: &dyn Clock) -> Uuid {
    version_7(clock.now(), clock.chance(), clock.chance())
}

fn version_7(at: Timestamp, high: u64, low: u64) -> Uuid {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    let random = (u128::from(high) << 64) | u128::from(low);
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&random.to_be_bytes()[..10]);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for OperationId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(OperationId)
    }
}

impl FromStr for NodeId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(NodeId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written_and_never_the_same_twice() {
        let clock = crate::clock::WallClock;
        let (one, two) = (OperationId::new(&clock), OperationId::new(&clock));
        assert_ne!(one, two);
        assert_eq!(one.to_string().parse::<OperationId>(), Ok(one));
        let (one, two) = (NodeId::new(&clock), NodeId::new(&clock));
        assert_ne!(one, two);
        assert_eq!(one.to_string().parse::<NodeId>(), Ok(one));
        assert_eq!((one.0.get_version_num(), one.to_string().len()), (7, 36));
    }

    #[test]
    fn an_id_has_the_time_and_then_the_dice_from_the_first_to_the_last() {
        let at = Timestamp(0x0123_4567_89ab * 1000);
        let id = version_7(at, 0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00);
        assert_eq!(id.to_string(), "01234567-89ab-7122-b344-5566778899aa");
    }

    #[test]
    fn ids_sort_by_time_and_bound_a_moment_from_below() {
        let early = OperationId(version_7(Timestamp(1_000_000), u64::MAX, u64::MAX));
        let late = OperationId(version_7(Timestamp(1_001_000), 0, 0));
        assert!(early < late);
        assert!(OperationId::first_at(Timestamp(1_000_000)) <= early);
        assert!(OperationId::first_at(Timestamp(1_001_000)) <= late);
        assert!(early < OperationId::first_at(Timestamp(1_001_000)));
    }
}
