//! The folder of declarations.

use std::fs;

use declared::files::Folder;
use serde_json::json;

use crate::service::{SECRET, StepService, declaration, world};

#[tokio::test]
async fn a_file_is_read_when_it_changes_and_a_wrong_one_keeps_the_version_before() {
    let (house, declarations, _) = world().await;
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
    let id = house.submit("acme.database", None, json!({"team": "red"})).await;
    house.finished(id).await;
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
    assert!(house.engine.workflow("acme.database").is_none());
    house.close().await;
}
