//! The same program on a database server.

use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use crate::stage::{DataDirectory, Sandbox, until};

fn on(url: &str) -> DataDirectory {
    DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", url)
}

#[test]
fn it_migrates_waits_for_its_database_and_shares_it_with_others() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let url = postgres.url("engine");
    let place = on(&url);
    let migrated = place.expect(0, &["migrate"]);
    assert!(migrated.err.contains("the schema is at version"), "{migrated:?}");
    assert!(place.expect(0, &["migrate"]).err.contains("nothing to do"));

    // The database is not there yet when the server starts.
    postgres.stop_immediate().unwrap();
    let sandbox = Sandbox::start(&place);
    let going = place.begin_serving(&["--sandbox-url", &sandbox.url]);
    until("the news", || going.err().contains("trying again for 30 seconds").then_some(()));
    postgres.start_again().unwrap();
    let server = place.healthy(going);
    assert!(!server.going.err().contains("postgres://"), "the URL may hold a password");
    place.expect(0, &["operations", "submit", "demo.hello", "--count", "50", "--wait"]);
    assert_eq!(sandbox.standing(), 50);
    let checked = place.expect(0, &["check", "--against-db"]);
    assert!(checked.err.contains("all 0 unfinished"), "{checked:?}");

    // A second server gets the same keys and a token of its own, unless it was told of keys that it lacks.
    let outsider =
        on(&url).env("PROVISION_ENGINE_SECRETS__KEY_RING", place.path("none.json").to_str().unwrap());
    let refused = outsider.expect(1, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.err.contains("secrets.key_ring"), "{refused:?}");
    let second = on(&url);
    let _other = second.serve(&["--sandbox-url", &sandbox.url]);
    let keys = |place: &DataDirectory| std::fs::read_to_string(place.data("keys.json")).unwrap();
    assert_eq!(keys(&second), keys(&place));
    assert_eq!(second.expect(0, &["operations", "list", "--all", "-o", "name"]).out.lines().count(), 50);
    let id = second.submit(&["--param", "wait_ms=1000"]);
    assert_eq!(server.stop().code, Some(0));
    second.wait_for_phase(&id, "succeeded");
    assert_eq!(sandbox.standing(), 51);
}
