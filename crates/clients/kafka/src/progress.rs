//! How far a consumer has come in each partition: everything up to this is done.

use std::collections::{BTreeSet, HashMap};

/// What was handed out, by partition.
#[derive(Debug, Default)]
pub(super) struct PartitionProgress {
    partitions: HashMap<i32, Partition>,
}

#[derive(Debug)]
struct Partition {
    /// Handed out and not done yet.
    open: BTreeSet<i64>,
    /// The last one that was handed out.
    last: i64,
    /// Everything up to this one was told to be done.
    told: i64,
}

impl PartitionProgress {
    pub(super) fn hand_out(&mut self, partition: i32, offset: i64) {
        let fresh = || Partition { open: BTreeSet::new(), last: offset, told: offset - 1 };
        let partition = self.partitions.entry(partition).or_insert_with(fresh);
        partition.open.insert(offset);
        partition.last = partition.last.max(offset);
    }

    /// The offset up to which all is done now, where that has changed. What is done out of order waits for those
    /// before it, because a partition has one position. Offsets have gaps, so this may be one that never was.
    pub(super) fn done(&mut self, partition: i32, offset: i64) -> Option<i64> {
        let partition = self.partitions.get_mut(&partition)?;
        if !partition.open.remove(&offset) {
            // It was handed out before the partition went to another consumer, and comes again there.
            return None;
        }
        let up_to = partition.open.first().map_or(partition.last, |first| first - 1);
        (up_to > partition.told).then(|| {
            partition.told = up_to;
            up_to
        })
    }

    /// The partition was given to us or taken from us. Whatever is open in it comes again.
    pub(super) fn forget(&mut self, partition: i32) {
        self.partitions.remove(&partition);
    }

    pub(super) fn open(&self) -> usize {
        self.partitions.values().map(|partition| partition.open.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_out_of_order_waits_for_those_before_it() {
        let mut progress = PartitionProgress::default();
        for offset in [5, 6, 9, 12] {
            progress.hand_out(0, offset);
        }
        progress.hand_out(1, 70);
        assert_eq!(progress.open(), 5);
        assert_eq!(progress.done(0, 6), None);
        assert_eq!(progress.done(0, 12), None);
        assert_eq!(progress.done(0, 5), Some(8), "the next one to read is 9");
        assert_eq!(progress.done(0, 5), None, "twice is once");
        assert_eq!(progress.done(0, 9), Some(12));
        assert_eq!(progress.done(1, 70), Some(70), "partitions do not wait for each other");
        assert_eq!(progress.open(), 0);
        progress.hand_out(0, 13);
        assert_eq!(progress.done(0, 13), Some(13));
    }

    #[test]
    fn what_was_handed_out_before_a_partition_left_counts_no_more() {
        let mut progress = PartitionProgress::default();
        progress.hand_out(0, 5);
        progress.hand_out(0, 6);
        progress.forget(0);
        assert_eq!((progress.done(0, 5), progress.open()), (None, 0));
        progress.hand_out(0, 5);
        assert_eq!(progress.done(0, 6), None, "it is on its way again");
        assert_eq!(progress.done(0, 5), Some(5));
    }
}
