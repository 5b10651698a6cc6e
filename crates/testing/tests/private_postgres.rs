//! The private Postgres server from the outside.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use testing::private_postgres::{PrivatePostgres, PrivatePostgresError, PrivatePostgresOptions};
use tokio_postgres::{Client, NoTls};

const CHILD: &str = "PRIVATE_POSTGRES_TEST_CHILD";

fn small() -> PrivatePostgresOptions {
    PrivatePostgresOptions { shared_buffers: "16MB".into(), ..PrivatePostgresOptions::default() }
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn show(client: &Client, setting: &str) -> String {
    client.query_one(&format!("show {setting}"), &[]).await.unwrap().get(0)
}

async fn data_directory(server: &PrivatePostgres) -> String {
    show(&connect(&server.url("postgres")).await.unwrap(), "data_directory").await
}

#[tokio::test]
async fn a_crash_keeps_what_was_committed_and_the_port() {
    let server = PrivatePostgres::start(&PrivatePostgresOptions { durable: true, ..small() }).unwrap();
    server.create_database("first").unwrap();
    let client = connect(&server.url("first")).await.unwrap();
    client.batch_execute("create table t (n int); insert into t values (1)").await.unwrap();
    let pid = server.pid().unwrap();

    server.restart_immediate().unwrap();
    assert_ne!(server.pid().unwrap(), pid);
    assert!(client.batch_execute("select 1").await.is_err());
    let client = connect(&server.url("first")).await.unwrap();
    let count: i64 = client.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 1);

    server.stop_immediate().unwrap();
    server.stop_immediate().unwrap();
    assert_eq!(server.pid(), None);
    assert!(connect(&server.url("first")).await.is_err());
    server.start_again().unwrap();
    connect(&server.url("first")).await.unwrap();
}

#[tokio::test]
async fn a_killed_server_can_be_started_again() {
    let server = PrivatePostgres::start(&small()).unwrap();
    let pid = server.pid().unwrap();
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    server.start_again().unwrap();
    assert_ne!(server.pid().unwrap(), pid);
    connect(&server.url("postgres")).await.unwrap();
}

/// Whether the kernel still has the shared memory that the server wrote into line 7 of its file.
fn has_segment(segment: &str) -> bool {
    let listed = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    listed.lines().any(|line| line.split_whitespace().nth(1) == Some(segment))
}

#[tokio::test]
async fn a_killed_server_leaves_no_shared_memory() {
    let server = PrivatePostgres::start(&small()).unwrap();
    let client = connect(&server.url("postgres")).await.unwrap();
    assert_eq!(show(&client, "dynamic_shared_memory_type").await, "mmap");
    let file = Path::new(&data_directory(&server).await).join("postmaster.pid");
    let text = std::fs::read_to_string(file).unwrap();
    let segment = text.lines().nth(6).unwrap().split_whitespace().last().unwrap();
    assert!(has_segment(segment), "{text}");
    let pid = server.pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    drop(server);
    assert!(!has_segment(segment), "{segment} is still there");
}

#[tokio::test]
async fn options_reach_the_server() {
    let parent = tempfile::Builder::new().prefix("it's here ").tempdir().unwrap();
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(parent.path(), open_to_all).unwrap();
    let options = PrivatePostgresOptions {
        settings: vec![
            ("application_name".into(), "it's us".into()),
            ("max_connections".into(), "21".into()),
        ],
        parent_dir: Some(parent.path().into()),
        ..small()
    };
    let server = PrivatePostgres::start(&options).unwrap();
    let client = connect(&server.url("postgres")).await.unwrap();
    for (setting, value) in [
        ("shared_buffers", "16MB"),
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        ("application_name", "it's us"),
        ("max_connections", "21"),
    ] {
        assert_eq!(show(&client, setting).await, value, "{setting}");
    }
    let data = show(&client, "data_directory").await;
    assert!(Path::new(&data).starts_with(parent.path().canonicalize().unwrap()), "{data}");
    drop(server);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_durable_server_keeps_postgresqls_own_care() {
    let server = PrivatePostgres::start(&PrivatePostgresOptions { durable: true, ..small() }).unwrap();
    let client = connect(&server.url("postgres")).await.unwrap();
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(show(&client, setting).await, "on", "{setting}");
    }
    assert_eq!(show(&client, "max_connections").await, "200");
}

#[tokio::test]
async fn databases_are_made_once_and_have_plain_names() {
    let server = PrivatePostgres::start(&small()).unwrap();
    server.create_database("one").unwrap();
    let error = server.create_database("one").unwrap_err().to_string();
    assert!(error.contains("database \"one\" already exists"), "{error}");
    for name in ["", "One", "a\"b", "a b", "a;b"] {
        let error = server.create_database(name).unwrap_err();
        assert!(matches!(error, PrivatePostgresError::BadName(_)), "{error}");
    }
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let settings = vec![("shared_buffers".into(), "lots".into())];
    let error = PrivatePostgres::start(&PrivatePostgresOptions { settings, ..small() }).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("pg_ctl failed") && text.contains("invalid value for parameter"), "{text}");
}

#[tokio::test]
async fn a_server_dies_with_the_process_that_started_it() {
    if std::env::var_os(CHILD).is_some() {
        let server = PrivatePostgres::start(&small()).unwrap();
        println!("\ndata={}", data_directory(&server).await);
        std::process::abort();
    }
    let myself = std::env::current_exe().unwrap();
    let arguments = ["--exact", "a_server_dies_with_the_process_that_started_it", "--nocapture"];
    let child = Command::new(myself).args(arguments).env(CHILD, "1").stderr(Stdio::null()).output().unwrap();
    let text = String::from_utf8(child.stdout).unwrap();
    let data = text.lines().find_map(|line| line.strip_prefix("data=")).expect("the child started a server");
    // Another process does the work now and cannot tell us, so we have to look again and again.
    let mut looks = 0;
    while Path::new(data).parent().unwrap().exists() {
        looks += 1;
        assert!(looks < 400, "{data} is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
