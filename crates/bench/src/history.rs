//! A long past: finished operations with their journals, written straight into the tables.

use anyhow::{Context, Result};
use engine::{Clock, WallClock};

use super::target::BenchDatabaseKind;

/// The same past for both databases: `n` operations of eleven events each.
pub(super) async fn fill(target: &BenchDatabaseKind, operations: u64) -> Result<()> {
    match target.sqlite_file() {
        Some(file) => {
            // The store creates the tables.
            drop(target.open().await?);
            tokio::task::spawn_blocking(move || fill_sqlite(&file, operations)).await?
        }
        None => fill_postgres(target, operations).await,
    }
}

fn fill_sqlite(file: &std::path::Path, operations: u64) -> Result<()> {
    let db = rusqlite::Connection::open(file)?;
    db.pragma_update(None, "synchronous", "off")?;
    // Old ones would be pruned while they are measured.
    let (n, now) = (i64::try_from(operations)?, WallClock.now().0);
    db.execute_batch("begin")?;
    db.execute(
        "insert into archive (id, workflow, tenant, resource, params, phase, created_at, deadline_at, finished_at,
                              reason, memory, memory_seq, epoch)
         with recursive i(n) as (select 1 union all select n + 1 from i where n < ?1)
         select unhex(printf('0100000000007000800000%010x', n)), 'bench.ten', 'bench', null, 'null', 'succeeded',
                ?2, ?2, ?2, null, '{}', 11, 1 from i",
        [n, now],
    )
    .context("cannot fill the archive")?;
    db.execute(
        "insert into journal (operation, seq, at, body)
         with recursive i(n) as (select 0 union all select n + 1 from i where n < ?1 * 11 - 1)
         select unhex(printf('0100000000007000800000%010x', n / 11 + 1)), n % 11 + 1, n,
                '{\"kind\":\"stepped\",\"changes\":{\"facts\":{\"fact.1\":{\"text\":\"forty bytes\"}}}}' from i",
        [n],
    )
    .context("cannot fill the journal")?;
    db.execute_batch("commit")?;
    db.execute_batch("pragma wal_checkpoint(truncate)")?;
    Ok(())
}

async fn fill_postgres(target: &BenchDatabaseKind, operations: u64) -> Result<()> {
    let client = target.connect().await?;
    client.batch_execute("set synchronous_commit = off").await?;
    let (n, now) = (i64::try_from(operations)?, WallClock.now().0);
    client
        .execute(
            "insert into archive (id, workflow, tenant, resource, params, phase, created_at, deadline_at,
                                  finished_at, reason, memory, memory_seq, epoch)
             select ('01000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench.ten', 'bench', null,
                    'null', 'succeeded', $2::int8, $2, $2, null, '{}', 11, 1 from generate_series(1, $1::int8) n",
            &[&n, &now],
        )
        .await
        .context("cannot fill the archive")?;
    client
        .execute(
            "insert into journal (operation, seq, at, body)
             select ('01000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s, n,
                    '{\"kind\":\"stepped\",\"changes\":{\"facts\":{\"fact.1\":{\"text\":\"forty bytes\"}}}}'
             from generate_series(1, $1::int8) n, generate_series(1, 11) s",
            &[&n],
        )
        .await
        .context("cannot fill the journal")?;
    // What a server that has grown slowly would have done long ago.
    for chore in ["vacuum analyze archive", "vacuum analyze journal", "checkpoint"] {
        client.batch_execute(chore).await?;
    }
    Ok(())
}
