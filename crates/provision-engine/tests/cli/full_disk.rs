//! A disk that is really full: a small file system of our own, where this user may mount one.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{DataDirectory, until};

/// Ends with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where this user may not mount anything. What the store itself says is tested without it, too.
    fn mount(at: &Path) -> Option<SmallDisk> {
        fs::create_dir_all(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(at).output().ok()?;
        mounted.status.success().then(|| SmallDisk(at.to_owned()))
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("ballast")).unwrap();
        let block = vec![1; 4096];
        while file.write_all(&block).is_ok() {}
    }

    fn clear(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// The status of an answer and its text.
fn get(url: &str) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.get(url).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    })
}

#[test]
fn a_full_disk_is_not_ready_and_ready_again_when_there_is_room() {
    let place = DataDirectory::new();
    let Some(disk) = SmallDisk::mount(&place.path("data")) else {
        println!("not root: only the store was tested with a full disk");
        return;
    };
    let server = place.serve(&["--sandbox"]);
    let (ready, metrics) = (format!("{}/readyz", server.url), format!("{}/metrics", server.url));
    let is_up = |up: u8| get(&metrics).1.contains(&format!("provision_engine_store_up {up}\n"));
    until("a server that is ready", || (get(&ready).0 == 200 && is_up(1)).then_some(()));

    disk.fill();
    let refused = || place.run(&["operations", "submit", "demo.hello"]).err.contains("database-full");
    until("a submit that has no room", || refused().then_some(()));
    until("not ready", || (get(&ready).0 == 503).then_some(()));
    let (status, text) = get(&ready);
    assert!(status == 503 && text.contains("not-ready"), "{text}");
    until("store_up is 0", || is_up(0).then_some(()));
    assert_eq!(get(&format!("{}/healthz", server.url)).0, 200, "a restart would not help");

    disk.clear();
    until("ready again by itself", || (get(&ready).0 == 200 && is_up(1)).then_some(()));
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
    assert_eq!(server.stop().code, Some(0));
}
