use engine::{
    AccessStore, AdminChange, DRAFTS_MAX, DraftRow, Organisation, PeopleStore, Proof, ProofKind, Role,
    SessionRow, Timestamp, TokenRow, UserChange, UserRow, parse_grants,
};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::postgres_only::open;
use crate::store_fixture::{FullStore, new_database};

const LIMIT: u32 = 3;

fn user(name: &str, role: Role) -> UserRow {
    UserRow {
        grants: Vec::new(),
        name: name.into(),
        role,
        hash: format!("hash of {name}"),
        created_at: at(1),
        failures: 0,
        locked_until: None,
    }
}

/// Good for a hundred seconds.
fn session(digest: &str, user: &str, proof: ProofKind, second: i64) -> SessionRow {
    let (proof, organisation) = match proof {
        ProofKind::Password => (Proof::Password { digest: "of a hash".into() }, Organisation::Server),
        ProofKind::Token => (Proof::Token { digest: "of a token".into() }, Organisation::Server),
        ProofKind::Oidc => (Proof::CodeFlow, Organisation::Named("acme".into())),
    };
    SessionRow {
        grants: Vec::new(),
        digest: digest.into(),
        user: user.into(),
        roles: vec![Role::Operator],
        organisation,
        permissions: vec!["provisioning:*:read".into(), "provisioning:*:control".into()],
        proof,
        created_at: at(second),
        seen_at: at(second),
        expires_at: at(second + 100),
        device: "Firefox on Linux".into(),
        address: "192.0.2.7".into(),
    }
}

async fn digests(store: &dyn FullStore, user: Option<&str>) -> Vec<String> {
    store.sessions(user, 100).await.unwrap().into_iter().map(|session| session.digest).collect()
}

/// One of each proof, with the same name.
async fn sign_in_three_ways(store: &dyn FullStore, name: &str) {
    for proof in ProofKind::ALL {
        let digest = format!("{name} by {}", proof.as_str());
        store.add_session(&session(&digest, name, proof, 5)).await.unwrap();
    }
}

async fn attempt(store: &dyn FullStore, second: i64) -> UserRow {
    store.begin_attempt("ann", LIMIT, at(second), at(second + 60)).await.unwrap().unwrap()
}

async fn counted(store: &dyn FullStore) -> (u32, Option<Timestamp>) {
    let found = store.find_user("ann").await.unwrap().unwrap();
    (found.failures, found.locked_until)
}

pub(crate) async fn a_name_is_taken_once(store: &dyn FullStore) {
    assert!(store.users().await.unwrap().is_empty());
    let grants = parse_grants("read:acme.* operate:acme.db").unwrap();
    let zoe = UserRow { grants, failures: 2, locked_until: Some(at(9)), ..user("zoe", Role::Reader) };
    let users = [user("Ben", Role::Admin), user("ann", Role::Launcher), zoe];
    for user in users.iter().rev() {
        assert!(store.add_user(user).await.unwrap());
    }
    let other = UserRow { hash: "another".into(), ..user("ann", Role::Admin) };
    assert!(!store.add_user(&other).await.unwrap(), "the name is taken");
    assert_eq!(store.users().await.unwrap(), users, "by name, and as they were");
    assert_eq!(store.find_user("ann").await.unwrap().as_ref(), Some(&users[1]));
    assert_eq!(store.find_user("ANN").await.unwrap(), None);
}

pub(crate) async fn a_change_ends_sessions_by_password_only(store: &dyn FullStore) {
    for name in ["ann", "ben"] {
        assert!(store.add_user(&user(name, Role::Reader)).await.unwrap());
        sign_in_three_ways(store, name).await;
    }
    let change = UserChange { grants: None, role: Some(Role::Admin), hash: Some("new".into()) };
    assert_eq!(store.change_user("ann", &change).await, Ok(AdminChange::Done));
    let expect = UserRow { hash: "new".into(), ..user("ann", Role::Admin) };
    assert_eq!(store.find_user("ann").await.unwrap(), Some(expect.clone()));
    let grants = parse_grants("submit:acme.*").unwrap();
    let granted = UserChange { grants: Some(grants.clone()), ..UserChange::default() };
    assert_eq!(store.change_user("ann", &granted).await, Ok(AdminChange::Done));
    assert_eq!(store.find_user("ann").await.unwrap(), Some(UserRow { grants, ..expect.clone() }));
    let taken = UserChange { grants: Some(Vec::new()), ..UserChange::default() };
    assert_eq!(store.change_user("ann", &taken).await, Ok(AdminChange::Done));
    assert_eq!(store.find_user("ann").await.unwrap(), Some(expect), "all grants are gone");
    assert_eq!(digests(store, Some("ann")).await, ["ann by oidc", "ann by token"]);
    assert_eq!(digests(store, Some("ben")).await.len(), 3);
    assert_eq!(store.change_user("unknown", &change).await, Ok(AdminChange::Missing));
    assert_eq!(store.find_user("unknown").await.unwrap(), None);
}

pub(crate) async fn who_is_removed_loses_its_sessions_by_password(store: &dyn FullStore) {
    for name in ["ann", "ben"] {
        assert!(store.add_user(&user(name, Role::Reader)).await.unwrap());
        sign_in_three_ways(store, name).await;
    }
    assert_eq!(store.remove_user("ann").await, Ok(AdminChange::Done));
    assert_eq!(store.remove_user("ann").await, Ok(AdminChange::Missing));
    assert_eq!(store.users().await.unwrap(), [user("ben", Role::Reader)]);
    assert_eq!(digests(store, Some("ann")).await, ["ann by oidc", "ann by token"]);
    assert_eq!(digests(store, Some("ben")).await.len(), 3);
}

pub(crate) async fn the_attempt_that_makes_the_limit_locks(store: &dyn FullStore) {
    assert!(store.add_user(&user("ann", Role::Reader)).await.unwrap());
    assert!(store.add_user(&user("ben", Role::Reader)).await.unwrap());
    for before in 0..LIMIT {
        assert_eq!(counted(store).await, (before, None));
        let found = attempt(store, 10).await;
        assert_eq!(found, UserRow { failures: before, ..user("ann", Role::Reader) }, "as it was before");
    }
    assert_eq!(counted(store).await, (0, Some(at(70))));
    assert_eq!(store.find_user("ben").await.unwrap(), Some(user("ben", Role::Reader)));
    let unknown = store.begin_attempt("unknown", LIMIT, at(10), at(70)).await.unwrap();
    assert_eq!(unknown, None);
}

pub(crate) async fn a_locked_attempt_does_not_count(store: &dyn FullStore) {
    let locked = UserRow { locked_until: Some(at(70)), ..user("ann", Role::Reader) };
    assert!(store.add_user(&locked).await.unwrap());
    for second in [10, 69] {
        assert_eq!(attempt(store, second).await, locked);
        assert_eq!(counted(store).await, (0, Some(at(70))), "the lock is not made longer");
    }
    assert_eq!(attempt(store, 70).await, locked);
    assert_eq!(counted(store).await, (1, None), "the count begins anew");
}

pub(crate) async fn a_good_password_and_a_change_unlock(store: &dyn FullStore) {
    let locked = UserRow { failures: 2, locked_until: Some(at(70)), ..user("ann", Role::Reader) };
    assert!(store.add_user(&locked).await.unwrap());
    store.clear_attempts("ann").await.unwrap();
    assert_eq!(counted(store).await, (0, None));
    store.clear_attempts("unknown").await.unwrap();

    assert_eq!(store.remove_user("ann").await, Ok(AdminChange::Done));
    assert!(store.add_user(&locked).await.unwrap());
    assert_eq!(store.change_user("ann", &UserChange::default()).await, Ok(AdminChange::Done));
    assert_eq!(store.find_user("ann").await.unwrap(), Some(user("ann", Role::Reader)), "and nothing else");
}

pub(crate) async fn the_last_admin_stays_an_admin(store: &dyn FullStore) {
    for (name, role) in [("ann", Role::Admin), ("ben", Role::Admin), ("cem", Role::Reader)] {
        assert!(store.add_user(&user(name, role)).await.unwrap());
    }
    let demotion = UserChange { grants: None, role: Some(Role::Operator), hash: None };
    assert_eq!(store.change_user("ann", &demotion).await, Ok(AdminChange::Done));
    sign_in_three_ways(store, "ben").await;
    assert_eq!(store.change_user("ben", &demotion).await, Ok(AdminChange::LastAdmin));
    assert_eq!(store.remove_user("ben").await, Ok(AdminChange::LastAdmin));
    assert_eq!(store.find_user("ben").await.unwrap(), Some(user("ben", Role::Admin)));
    assert_eq!(digests(store, Some("ben")).await.len(), 3, "nothing ended");
    let password = UserChange { grants: None, role: None, hash: Some("new".into()) };
    assert_eq!(store.change_user("ben", &password).await, Ok(AdminChange::Done));
    assert_eq!(store.remove_user("cem").await, Ok(AdminChange::Done));
    let promotion = UserChange { grants: None, role: Some(Role::Admin), hash: None };
    assert_eq!(store.change_user("ann", &promotion).await, Ok(AdminChange::Done));
    assert_eq!(store.remove_user("ben").await, Ok(AdminChange::Done));
}

pub(crate) async fn fifty_attempts_at_once_count_fifty(store: &dyn FullStore) {
    assert!(store.add_user(&user("ann", Role::Reader)).await.unwrap());
    let attempts = (0..50).map(|_| store.begin_attempt("ann", 1000, at(10), at(70)));
    let mut seen: Vec<u32> =
        join_all(attempts).await.into_iter().map(|before| before.unwrap().unwrap().failures).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..50).collect::<Vec<u32>>());
    assert_eq!(counted(store).await, (50, None));
}

pub(crate) async fn fifty_attempts_at_once_lock_once(store: &dyn FullStore) {
    assert!(store.add_user(&user("ann", Role::Reader)).await.unwrap());
    let attempts = join_all((0..50).map(|_| attempt(store, 10))).await;
    let free = attempts.iter().filter(|before| before.locked_until.is_none()).count();
    assert_eq!(free, LIMIT as usize, "so many may look at the password, and no other client");
    assert_eq!(counted(store).await, (0, Some(at(70))));
}

pub(crate) async fn sessions_are_newest_first(store: &dyn FullStore) {
    let sessions: Vec<SessionRow> = (0..6)
        .map(|n| {
            let name = if n % 2 == 0 { "ann" } else { "ben" };
            let proof = ProofKind::ALL[usize::try_from(n).unwrap() % 3];
            session(&format!("digest {n}"), name, proof, 10 + n / 4)
        })
        .collect();
    for session in &sessions {
        store.add_session(session).await.unwrap();
    }
    let newest: Vec<SessionRow> = sessions.iter().rev().cloned().collect();
    assert_eq!(store.sessions(None, 100).await.unwrap(), newest);
    assert_eq!(store.sessions(None, 2).await.unwrap(), newest[..2]);
    assert_eq!(digests(store, Some("ann")).await, ["digest 4", "digest 2", "digest 0"]);
    assert_eq!(store.sessions(Some("ben"), 1).await.unwrap(), newest[..1]);
    assert!(store.sessions(Some("unknown"), 100).await.unwrap().is_empty());
    assert_eq!(store.find_session("digest 3").await.unwrap().as_ref(), Some(&sessions[3]));
    assert!(store.remove_session("digest 3").await.unwrap());
    assert!(!store.remove_session("digest 3").await.unwrap());
    assert_eq!(store.find_session("digest 3").await.unwrap(), None);
    assert_eq!(store.sessions(None, 100).await.unwrap().len(), 5);
}

pub(crate) async fn a_session_keeps_all_that_makes_its_principal(store: &dyn FullStore) {
    let named = || Organisation::Named("acme".into());
    let proofs = [
        (Proof::Password { digest: "p".into() }, Organisation::Server),
        (Proof::Token { digest: "t".into() }, Organisation::Server),
        (Proof::Bearer { expires_at: at(77) }, named()),
        (Proof::Bearer { expires_at: at(77) }, Organisation::Missing),
        (Proof::CodeFlow, named()),
        (Proof::CodeFlow, Organisation::Missing),
    ];
    let roles = [vec![], vec![Role::Launcher], vec![Role::Launcher, Role::Reader]];
    let permissions =
        [vec![], vec!["provisioning:*:read".to_owned(), "provisioning:pubkey:write".to_owned()]];
    for (number, (proof, organisation)) in proofs.into_iter().enumerate() {
        for (kind, roles) in roles.iter().enumerate() {
            for permissions in &permissions {
                let row = SessionRow {
                    proof: proof.clone(),
                    organisation: organisation.clone(),
                    roles: roles.clone(),
                    permissions: permissions.clone(),
                    grants: parse_grants(if kind == 1 { "submit:acme.*" } else { "" }).unwrap(),
                    ..session(&format!("{number} {kind} {}", permissions.len()), "ann", ProofKind::Oidc, 5)
                };
                store.add_session(&row).await.unwrap();
                assert_eq!(store.find_session(&row.digest).await.unwrap(), Some(row));
            }
        }
    }
}

pub(crate) async fn a_session_that_is_used_is_good_for_longer(store: &dyn FullStore) {
    let [used, other] = ["used", "other"].map(|digest| session(digest, "ann", ProofKind::Password, 10));
    store.add_session(&used).await.unwrap();
    store.add_session(&other).await.unwrap();
    store.touch_session("used", at(50), at(150)).await.unwrap();
    let expect = SessionRow { seen_at: at(50), expires_at: at(150), ..used };
    assert_eq!(store.find_session("used").await.unwrap(), Some(expect));
    assert_eq!(store.find_session("other").await.unwrap(), Some(other));
    store.touch_session("gone", at(50), at(150)).await.unwrap();
    assert_eq!(store.find_session("gone").await.unwrap(), None, "a touch makes no session");
}

pub(crate) async fn two_proofs_with_one_name_are_two_people(store: &dyn FullStore) {
    sign_in_three_ways(store, "ann").await;
    sign_in_three_ways(store, "ben").await;
    store.add_session(&session("again", "ann", ProofKind::Token, 6)).await.unwrap();
    assert_eq!(store.remove_sessions("ann", ProofKind::Token).await.unwrap(), 2);
    assert_eq!(store.remove_sessions("ann", ProofKind::Token).await.unwrap(), 0);
    assert_eq!(digests(store, Some("ann")).await, ["ann by oidc", "ann by password"]);
    assert_eq!(digests(store, Some("ben")).await.len(), 3);
}

pub(crate) async fn what_has_expired_is_pruned(store: &dyn FullStore) {
    for n in 0..5 {
        store.add_session(&session(&format!("digest {n}"), "ann", ProofKind::Password, n)).await.unwrap();
    }
    assert_eq!(store.prune_sessions(at(99)).await.unwrap(), 0);
    assert_eq!(store.prune_sessions(at(102)).await.unwrap(), 3, "good until then, and not at that moment");
    assert_eq!(digests(store, None).await, ["digest 4", "digest 3"]);
}

/// Twenty rounds, because two processes meet at the rows only sometimes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_that_remove_all_admins_leave_one() {
    let url = new_database();
    let stores = [open(&url).await, open(&url).await, open(&url).await];
    for round in 0..20 {
        let names = [0, 1, 2].map(|n| format!("{round}-{n}"));
        for name in &names {
            let token = TokenRow {
                grants: Vec::new(),
                name: name.clone(),
                role: Role::Admin,
                digest: name.clone(),
                platform: None,
                created_at: at(1),
                expires_at: None,
            };
            assert!(stores[0].add_token(&token).await.unwrap());
            assert!(stores[0].add_user(&user(name, Role::Admin)).await.unwrap());
        }
        let all: Vec<TokenRow> = stores[0].tokens().await.unwrap();
        let tokens = all.iter().enumerate().map(|(n, one)| stores[n % 3].remove_token(&one.name, at(2)));
        let ended = join_all(tokens).await;
        assert_eq!(ended.iter().filter(|one| **one == Ok(AdminChange::LastAdmin)).count(), 1, "{ended:?}");
        assert_eq!(stores[1].tokens().await.unwrap().len(), 1);
        let all = stores[0].users().await.unwrap();
        let demotion = UserChange { grants: None, role: Some(Role::Reader), hash: None };
        let changes = all.iter().filter(|one| one.role == Role::Admin).enumerate().map(|(n, one)| {
            let (store, name, change) = (&stores[n % 3], one.name.clone(), &demotion);
            async move {
                if n % 2 == 0 {
                    store.remove_user(&name).await
                } else {
                    store.change_user(&name, change).await
                }
            }
        });
        let ended = join_all(changes).await;
        assert_eq!(ended.iter().filter(|one| **one == Ok(AdminChange::LastAdmin)).count(), 1, "{ended:?}");
        let left = stores[1].users().await.unwrap();
        assert_eq!(left.iter().filter(|one| one.role == Role::Admin).count(), 1);
    }
}

/// One process sends everything over one connection; only several meet at the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_at_several_processes_all_count() {
    let url = new_database();
    let stores = [open(&url).await, open(&url).await, open(&url).await];
    assert!(stores[0].add_user(&user("ann", Role::Reader)).await.unwrap());
    for store in &stores {
        store.clear_attempts("ann").await.unwrap();
    }
    let attempts = (0..600).map(|n| stores[n % 3].begin_attempt("ann", 500, at(10), at(70)));
    let before: Vec<UserRow> =
        join_all(attempts).await.into_iter().map(|before| before.unwrap().unwrap()).collect();
    let mut free: Vec<u32> =
        before.iter().filter(|user| user.locked_until.is_none()).map(|user| user.failures).collect();
    free.sort_unstable();
    assert_eq!(free, (0..500).collect::<Vec<u32>>());
    assert_eq!(counted(&*stores[1]).await, (0, Some(at(70))));
}

pub(crate) async fn a_draft_belongs_to_its_session_and_only_the_newest_stay(store: &dyn FullStore) {
    let draft = |session: &str, id: &str, value: &str, second: i64| DraftRow {
        session: session.into(),
        id: id.into(),
        value: value.into(),
        saved_at: at(second),
        expires_at: at(second + 100),
    };
    let first = draft("one", "a", "first", 1);
    store.save_draft(&first).await.unwrap();
    store.save_draft(&draft("two", "a", "other", 1)).await.unwrap();
    assert_eq!(store.find_draft("one", "a").await.unwrap(), Some(first));
    let changed = draft("one", "a", "changed", 2);
    store.save_draft(&changed).await.unwrap();
    assert_eq!(store.find_draft("one", "a").await.unwrap(), Some(changed));
    for nth in 1..=DRAFTS_MAX {
        store
            .save_draft(&draft("one", &format!("b{nth}"), "", 10 + i64::try_from(nth).unwrap()))
            .await
            .unwrap();
    }
    assert_eq!(store.find_draft("one", "a").await.unwrap(), None, "the oldest is gone");
    assert!(store.find_draft("one", "b1").await.unwrap().is_some());
    assert!(store.find_draft("two", "a").await.unwrap().is_some(), "that of another session is not");
    assert_eq!(store.prune_sessions(at(101)).await.unwrap(), 0);
    assert_eq!(store.find_draft("two", "a").await.unwrap(), None);
    assert!(store.find_draft("one", "b1").await.unwrap().is_some());
}
