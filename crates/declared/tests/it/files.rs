//! The folder of declarations.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use declared::files::Folder;
use declared::{Declarations, Reach, StepClient};
use engine::WallClock;
use serde_json::json;
use testing::TestEngine;

use crate::service::{SECRET, StepService, declaration, world};

#[tokio::test]
async fn a_file_is_read_when_it_changes_and_a_wrong_one_keeps_the_version_before() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (file, secret) = (dir.path().join("acme.yaml"), dir.path().join("acme.secret"));
    let text = declaration(&service.url) + "secret_file: acme.secret\n";
    let mut folder = Folder::new(dir.path().to_owned());
    folder.look(&declarations).await;
    assert!(declarations.all().is_empty());
    fs::write(&file, &text).unwrap();
    folder.look(&declarations).await;
    let errors = declarations.file_errors();
    assert!(errors[0].message.contains("acme.secret"), "{errors:?}");
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    folder.look(&declarations).await;
    assert_eq!(declarations.file_errors(), []);
    let version = || declarations.get("acme.database").unwrap().head.offered;
    assert_eq!(version(), Some(1));
    let id = test_engine.submit("acme.database", None, json!({"team": "red"})).await;
    test_engine.finished(id).await;
    fs::write(&file, text.replace("weight: 10", "weight: 0 ")).unwrap();
    folder.look(&declarations).await;
    let error = declarations.file_errors().remove(0);
    assert_eq!((error.file.as_str(), error.line), ("acme.yaml", 17), "{error:?}");
    assert_eq!(version(), Some(1), "the last good version");
    fs::write(&file, text.replace("weight: 10", "weight: 11 ")).unwrap();
    folder.look(&declarations).await;
    assert_eq!((version(), declarations.file_errors().len()), (Some(2), 0));
    folder.look(&declarations).await;
    assert_eq!(version(), Some(2), "a second look changes nothing");
    fs::write(dir.path().join("b.yaml"), &text).unwrap();
    folder.look(&declarations).await;
    let error = declarations.file_errors().remove(0);
    assert!(error.message.contains("comes from the file acme.yaml already"), "{error:?}");
    fs::remove_file(dir.path().join("b.yaml")).unwrap();
    fs::remove_file(&file).unwrap();
    folder.look(&declarations).await;
    assert_eq!(version(), None, "no new operation");
    assert!(test_engine.engine.workflow("acme.database").is_none());
    test_engine.close().await;
}

fn write(dir: &Path, text: &str) {
    fs::write(dir.join("acme.secret"), SECRET).unwrap();
    fs::write(dir.join("acme.yaml"), text).unwrap();
}

#[tokio::test]
async fn a_replica_that_starts_with_an_older_file_does_not_bring_it_back() {
    let (test_engine, declarations, store) = world().await;
    let service = StepService::start().await;
    let first = declaration(&service.url) + "secret_file: acme.secret\n";
    let second = first.replace("deadline: 2h", "deadline: 3h");
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(a.path(), &first);
    write(b.path(), &first);
    let mut folder_a = Folder::new(a.path().to_owned()).of_replica();
    folder_a.look(&declarations).await;
    write(a.path(), &second);
    folder_a.look(&declarations).await;
    let offered = async |declarations: &Declarations| {
        declarations.read_changes().await.unwrap();
        declarations.get("acme.database").unwrap().head.offered
    };
    assert_eq!(offered(&declarations).await, Some(2));

    let other = TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)), None).await;
    let others = Declarations::new(other.engine.clone(), StepClient::new(Reach::default()).unwrap());
    let mut folder_b = Folder::new(b.path().to_owned()).of_replica();
    folder_b.look(&others).await;
    let error = others.file_errors().remove(0);
    assert!(error.message.contains("this is version 1, which was replaced at"), "{error:?}");
    assert_eq!(offered(&others).await, Some(2), "the newer file of the other replica stays in force");
    folder_b.look(&others).await;
    assert_eq!(offered(&others).await, Some(2));

    write(b.path(), &format!("revision: 1\n{first}"));
    folder_b.look(&others).await;
    assert_eq!((offered(&others).await, others.file_errors().len()), (Some(3), 0), "this is new content");
    let mut folder_a = Folder::new(a.path().to_owned()).of_replica();
    folder_a.look(&declarations).await;
    assert_eq!(offered(&declarations).await, Some(3), "the other one starts again, with the older file");
    write(a.path(), &first);
    folder_a.look(&declarations).await;
    assert_eq!(offered(&declarations).await, Some(4), "a change while the server runs is a decision");

    write(b.path(), &second);
    Folder::new(b.path().to_owned()).look(&others).await;
    assert_eq!(offered(&others).await, Some(5), "a process that is alone takes what its folder has");
    other.close().await;
    test_engine.close().await;
}
