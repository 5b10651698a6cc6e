use engine::store::ResourceQuery;
use engine::{Phase, Turn};

use tokio_postgres::SimpleQueryMessage;

use super::connection::{ConnectionRole, SessionOptions};
use super::*;
use crate::resource_search::{FEW, Sizes, search};
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

const ROLES: [ConnectionRole; 10] = [
    committer::COMMITTER,
    claim::CLAIMER,
    heartbeat::HEARTBEAT,
    heartbeat::RENEWER,
    reader::READER,
    reader::QUEUED_WRITES,
    resource_list::LISTER,
    saved::READ_SAVED,
    saved::READ_RECORDS,
    saved::RESEAL,
];

async fn started() -> (PrivatePostgres, DatabaseTarget) {
    let server = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    let target = DatabaseTarget::parse(&server.url("postgres")).unwrap();
    schema::migrate(&target).await.unwrap();
    (server, target)
}

/// The plan of a statement as the engine's sessions get it.
async fn plan(session: &SessionOptions, sql: &str) -> Vec<String> {
    let count = (1..40).find(|n| !sql.contains(&format!("${n}"))).unwrap() - 1;
    let call = if count == 0 { String::new() } else { format!("({})", vec!["null"; count].join(", ")) };
    let client = session.client();
    client.batch_execute(&format!("prepare tested as {sql}")).await.unwrap();
    let lines = client.simple_query(&format!("explain execute tested{call}")).await.unwrap();
    client.batch_execute("deallocate tested").await.unwrap();
    let text = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
        _ => None,
    };
    lines.iter().filter_map(text).collect()
}

/// Opening a session prepares all statements of its role.
#[tokio::test]
async fn every_statement_is_understood_and_no_hot_one_scans_a_table() {
    let (_server, target) = started().await;
    for role in ROLES {
        let session = SessionOptions::open(&target, role, None).await.unwrap();
        for sql in role.statements.iter().filter(|_| role.settings == connection::BY_KEY) {
            let plan = plan(&session, sql).await;
            let is_scan =
                |line: &&String| line.contains("Seq Scan on") && !line.contains("Seq Scan on nodes");
            assert_eq!(plan.iter().find(is_scan), None, "{}", plan.join("\n"));
        }
    }
}

/// A plan is made when tables are empty and kept when they are full, so it must not depend on luck which of
/// two indexes is taken.
#[tokio::test]
async fn hot_statements_use_the_right_index() {
    let table: [(&str, &[&str]); 20] = [
        (statements::GIVEN, &["journal_pkey"]),
        (statements::PARK, &["operations_pkey", "signals_pkey"]),
        (batch_statements::FINISH, &["operations_pkey"]),
        (batch_statements::WRITE, &["operations_pkey"]),
        (statements::SET_PHASES, &["operations_pkey"]),
        (
            statements::PROMOTE,
            &["archive_pkey", "operations_resource", "operations_queued", "operations_pkey"],
        ),
        (resource_statements::LOCK_RESOURCES, &["resources_name_key"]),
        (resource_statements::VERSIONS, &["resources_name_key"]),
        (resource_statements::CHANGE_RESOURCE, &["resources_name_key", "resource_labels_number"]),
        (resource_statements::TOUCH, &["operations_pkey", "resources_name_key", "resource_labels_number"]),
        (statements::HOLDER, &["operations_resource"]),
        (statements::WAKE, &["operations_wait_key"]),
        (statements::FREE, &["operations_owner", "operations_pkey"]),
        (statements::NEXT_FREE, &["operations_due"]),
        (statements::UNLOCKED, &["operations_pkey", "operations_pkey"]),
        (statements::CONTROLS, &["operations_wish"]),
        (statements::LOOK, &["nodes_pkey", "operations_due", "operations_due"]),
        (statements::LOCK_OLDEST, &["operations_due"]),
        (statements::LOCK_OF_TENANTS, &["operations_tenant_due"]),
        (statements::PROBE, &["operations_tenant_due", "operations_tenant_due"]),
    ];
    let (_server, target) = started().await;
    let session =
        SessionOptions::open(&target, ConnectionRole { statements: &[], ..committer::COMMITTER }, None)
            .await
            .unwrap();
    for (sql, expect) in table {
        let plan = plan(&session, sql).await;
        let index = |line: &String| {
            let words = ["Scan using ", "Scan Backward using ", "Bitmap Index Scan on "];
            let (_, rest) = words.iter().find_map(|words| line.split_once(words))?;
            rest.split_whitespace().next().map(ToOwned::to_owned)
        };
        let used: Vec<String> = plan.iter().filter_map(index).collect();
        assert_eq!(used, expect, "{}", plan.join("\n"));
    }
    let release = plan(&session, statements::RELEASE).await.join("\n");
    assert!(release.contains("operations_pkey") && !release.contains("operations_owner"), "{release}");
}

/// A count of many reads the entries of its states in an index, and not those of every resource that lives.
#[tokio::test]
async fn what_is_in_many_states_is_counted_in_the_index_of_states() {
    const FILL: &str = "
        insert into resources (name, kind, tenant, version, workflow, phase, created_at, updated_at, record)
        select 'runtime:' || n, 'runtime', 'acme', 1, 'a', case n % 10 when 0 then 'failed' else 'succeeded' end,
            n, n, '' from generate_series(1, 20000) n";
    let (_server, target) = started().await;
    let role = ConnectionRole { statements: &[], ..resource_list::LISTER };
    let session = SessionOptions::open(&target, role, None).await.unwrap();
    for sql in [FILL, "vacuum analyze resources"] {
        session.client().batch_execute(sql).await.unwrap();
    }
    let states = vec![("a".to_owned(), vec![Phase::Succeeded]), ("b".to_owned(), vec![Phase::Succeeded])];
    let query =
        ResourceQuery { kind: "runtime".into(), states, limit: 1, counts: true, ..ResourceQuery::default() };
    let sizes = Sizes { labels: vec![], states: FEW };
    let (text, _) = search::<resource_list::Postgres>(&query, &sizes, "r.number");
    let values = ["'runtime'", "array['a', 'b']", "array['succeeded', 'succeeded']", "1", "0"];
    let text = (1..).zip(values).fold(text, |text, (n, value)| text.replace(&format!("${n}"), value));
    let rows = session.client().simple_query(&format!("explain (analyze, timing off) {text}")).await.unwrap();
    let lines: Vec<&str> = rows
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    // The rows of one pass, and how many passes there were.
    let read = |index: &str| {
        let line = lines.iter().find(|line| line.contains(&format!("Index Only Scan using {index}")))?;
        let figure =
            |name: &str| line.rsplit_once(name)?.1.split(['.', ' ', ')']).next()?.parse::<u32>().ok();
        Some(figure("rows=")? * figure("loops=")?)
    };
    assert_eq!(
        (read("resources_state"), read("resources_live")),
        (Some(18_000), Some(1)),
        "{}",
        lines.join("\n")
    );
}

#[test]
fn a_claim_moves_on_the_phases_that_the_engine_says() {
    for phase in Phase::ALL.into_iter().filter(|phase| !phase.is_final()) {
        let moves = phase.after(Turn::Claimed).is_some_and(|after| after != phase) || phase == Phase::Running;
        assert_eq!(statements::TAKE.contains(&format!("'{phase}'")), moves, "{phase}");
        assert!(!moves || phase.after(Turn::Claimed) == Some(Phase::Running), "{phase}");
    }
}

#[tokio::test]
async fn a_wrong_address_is_refused_without_its_password() {
    for url in ["postgres://u:hunter2@host:port/db", "postgres://u:hunter2@host/db?sslmode=sometimes"] {
        let Err(StoreError::Refused(text)) = PostgresStore::migrate(url).await else { panic!("{url}") };
        assert!(
            text.starts_with("the address of the database is wrong") && !text.contains("hunter2"),
            "{text}"
        );
    }
    let unknown = PostgresStore::migrate("postgres://127.0.0.1:1/db").await;
    assert!(matches!(unknown, Err(StoreError::Unavailable(_))), "{unknown:?}");
}
