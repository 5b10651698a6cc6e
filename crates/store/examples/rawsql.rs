use rusqlite::{Connection, OpenFlags, params};
use std::time::Instant;
fn main() {
    for (flags, name) in [
        (OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, "mutex"),
        (OpenFlags::default(), "nomutex"),
    ] {
        for page in [4096, 8192] {
            for ckpt in [1000, 2000, 8000] {
                let dir = tempfile::tempdir_in("/tmp").unwrap();
                let db = Connection::open_with_flags(dir.path().join("x.db"), flags).unwrap();
                db.execute_batch(&format!("pragma page_size={page}; pragma journal_mode=wal; pragma synchronous=full; pragma wal_autocheckpoint={ckpt}; pragma cache_size=-16000;
          create table journal (pos integer primary key, operation blob not null, seq integer not null, at integer not null, body text not null) strict;
          create unique index j on journal(operation, seq);")).unwrap();
                let body = "x".repeat(110);
                let mut n = 0u64;
                let start = Instant::now();
                let mut commit = std::time::Duration::ZERO;
                let mut base: u128 = 1;
                while start.elapsed().as_secs() < 3 {
                    for seq in 1..=11 {
                        db.execute_batch("begin immediate").unwrap();
                        for k in 0..800u128 {
                            let id = (base + k).to_be_bytes();
                            db.prepare_cached(
                                "insert into journal (operation, seq, at, body) values (?1,?2,?3,?4)",
                            )
                            .unwrap()
                            .execute(params![id, seq, 5i64, body])
                            .unwrap();
                            n += 1;
                        }
                        let t = Instant::now();
                        db.execute_batch("commit").unwrap();
                        commit += t.elapsed();
                    }
                    base += 800;
                }
                let el = start.elapsed();
                println!(
                    "{name} page {page} ckpt {ckpt}: {:.0}/s commit share {:.2}",
                    n as f64 / el.as_secs_f64(),
                    commit.as_secs_f64() / el.as_secs_f64()
                );
            }
        }
    }
}
