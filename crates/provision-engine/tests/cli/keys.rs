//! Every command about keys, at once on two servers of one database.

use std::fs;
use std::thread;

use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use crate::stage::{DataDirectory, Sandbox, ServerProcess, until};

/// `POST /keys/rotate` with the token that the server made.
fn rotate(place: &DataDirectory, server: &ServerProcess) {
    let token = fs::read_to_string(place.data("admin.token")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("{}/keys/rotate", server.url)).bearer_auth(token.trim());
        request.send().await.unwrap()
    });
    assert_eq!(answer.status(), 200);
}

fn keys(place: &DataDirectory) -> Vec<String> {
    let listed = place.expect(0, &["keys", "list", "-o", "name"]).out;
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn commands_at_once_on_two_servers_lose_no_key_and_no_secret() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let place = || DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine"));
    let places = [place(), place()];
    let sandbox = Sandbox::start(&places[0]);
    let servers = [&places[0], &places[1]].map(|place| place.serve(&["--sandbox-url", &sandbox.url]));
    let first = keys(&places[0]);
    assert_eq!(keys(&places[1]), first);

    // Each seals a secret between two changes of the ring, and opens it after all of them.
    let work = |place: &DataDirectory, server: &ServerProcess| -> Vec<String> {
        let round = |_| {
            rotate(place, server);
            let id = place.submit(&["--param", "wait_ms=2000"]);
            place.expect(0, &["keys", "rotate"]);
            place.expect(0, &["keys", "forget", &first[0], "--reseal"]);
            place.expect(1, &["keys", "forget", &first[0], "--yes"]);
            id
        };
        (0..3).map(round).collect()
    };
    let ids: Vec<String> = thread::scope(|scope| {
        let both = [(&places[0], &servers[0]), (&places[1], &servers[1])];
        let both = both.map(|(place, server)| scope.spawn(move || work(place, server)));
        both.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 6);
    for id in &ids {
        places[0].wait_for_phase(id, "succeeded");
    }
    // The first key, and two for each round of each server.
    until("one ring on both", || {
        let [one, two] =
            [&places[0], &places[1]].map(|place| fs::read_to_string(place.data("keys.json")).unwrap());
        (one == two && keys(&places[0]).len() == 13).then_some(())
    });
    for server in servers {
        let ran = server.stop();
        assert!(!ran.err.contains("cannot be opened"), "{}", ran.err);
    }
}
