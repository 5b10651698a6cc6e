//! How much of the processors something takes. Other programs on the same machine make everything slower, but hardly make
//! it take more of the processors.

use std::time::Duration;

use anyhow::{Context, Result};

/// In which the system counts, on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// What this process has used so far, and the server of the database with all its processes, where we know it.
pub(super) fn used(server: Option<u32>) -> Result<Duration> {
    let mut ticks = ticks("self", false)?;
    if let Some(server) = server {
        let server = server.to_string();
        // Back ends that have ended are counted with the server itself.
        ticks += self::ticks(&server, true)?;
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"))?;
        // One that ends between these two lines is missing, and the next look has it again.
        ticks += children.split_whitespace().filter_map(|child| self::ticks(child, false).ok()).sum::<u32>();
    }
    Ok(TICK * ticks)
}

fn ticks(process: &str, with_ended_children: bool) -> Result<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).context("this needs Linux")?;
    // The name of the program is in parentheses and may have any character in it.
    let (_, fields) = stat.rsplit_once(')').context("stat names the program")?;
    let count = if with_ended_children { 4 } else { 2 };
    let times = fields.split_whitespace().skip(11).take(count).map(str::parse::<u32>);
    times.sum::<Result<u32, _>>().context("stat has times")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_uses_is_counted_for_it_and_for_a_server() {
        let before = used(None).unwrap();
        // Until the system has counted something: it must, because this does nothing but work.
        let mut work = 0_u64;
        while used(None).unwrap() < before + TICK * 2 {
            work = std::hint::black_box(work.wrapping_add(1));
        }
        let alone = used(None).unwrap();
        // With itself as the server, it counts twice.
        assert!(used(Some(std::process::id())).unwrap() >= alone * 2, "{alone:?}");
        assert!(used(Some(u32::MAX)).is_err());
    }
}
