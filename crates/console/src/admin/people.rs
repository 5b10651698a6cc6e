//! `GET /console/admin/people`

use api::types::{ChangeUser, MadeUser, NewUser, Password, SignedOut, User, UserList};
use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use engine::secret::SecretString;

use super::{Tab, said};
use crate::confirm;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::When;
use crate::path;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/admin/people";

#[derive(Template)]
#[template(path = "admin/people.html")]
struct People {
    csrf: CsrfToken,
    here: Tab,
    users: Vec<User>,
    me: String,
    /// Shown this once.
    made: Option<MadeUser>,
    name: String,
    role: String,
    name_error: Option<String>,
    password_error: Option<String>,
    trouble: Option<String>,
}

impl People {
    async fn read(visitor: &Visitor) -> Result<People, Trouble> {
        let found: UserList = visitor.api.get("/users").await?;
        Ok(People {
            csrf: visitor.csrf.clone(),
            here: Tab::People,
            users: found.items,
            me: visitor.name().to_owned(),
            made: None,
            name: String::new(),
            role: "reader".to_owned(),
            name_error: None,
            password_error: None,
            trouble: None,
        })
    }

    /// Puts what is wrong at its field.
    fn refused(mut self, trouble: &Trouble, fields: &Fields) -> People {
        fields.text("name").clone_into(&mut self.name);
        fields.text("role").clone_into(&mut self.role);
        let is_about = |field: &str| trouble.flaws.iter().any(|flaw| flaw.field == field);
        let place = if is_about("name") || trouble.status == StatusCode::CONFLICT {
            &mut self.name_error
        } else if is_about("password") || trouble.detail.contains("password") {
            &mut self.password_error
        } else {
            &mut self.trouble
        };
        *place = Some(said(trouble));
        self
    }
}

/// What people may be; a broker is a platform.
fn roles() -> impl Iterator<Item = engine::Role> {
    super::roles().filter(|role| role.can(engine::Capability::SignIn))
}

fn password(fields: &Fields, name: &str) -> Option<Password> {
    let typed = fields.raw(name);
    (!typed.is_empty()).then(|| Password::from(&SecretString::from(typed)))
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &crate::admin::SECTION, "People")
}

pub(super) async fn list(visitor: Visitor) -> Response {
    match People::read(&visitor).await {
        Ok(people) => shell(&visitor).page(&people),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn create(visitor: Visitor, fields: Fields) -> Response {
    let asked = ask_for(&visitor, &fields).await;
    let drawn = match People::read(&visitor).await {
        Ok(drawn) => drawn,
        Err(trouble) => return trouble.page(&visitor),
    };
    let shell = shell(&visitor);
    match asked {
        Ok(made) => shell.page_with(StatusCode::OK, &People { made: Some(made), ..drawn }),
        Err(trouble) => shell.page_with(trouble.status, &drawn.refused(&trouble, &fields)),
    }
}

async fn ask_for(visitor: &Visitor, fields: &Fields) -> Result<MadeUser, Trouble> {
    let role = fields.text("role").parse().map_err(|_| {
        Trouble::new(StatusCode::UNPROCESSABLE_ENTITY, "Not possible", "There is no such role.")
    })?;
    let new = NewUser { name: fields.text("name").to_owned(), role, password: password(fields, "password") };
    visitor.api.post("/users", &new).await?.json()
}

/// Another role, or another password.
pub(super) async fn change(visitor: Visitor, fields: Fields) -> Response {
    let name = fields.text("name");
    let change =
        ChangeUser { role: fields.text("role").parse().ok(), password: password(&fields, "password") };
    match visitor.api.put(&format!("/users/{}", path::part(name)), &change).await {
        Ok(_) => Flash::good(format!("{name} is changed and has to sign in again.")).at(AT),
        Err(trouble) => trouble.back(&visitor, AT),
    }
}

pub(super) async fn delete(visitor: Visitor, fields: Fields) -> Response {
    let name = fields.text("name");
    if !confirm::is_confirmed(&fields) {
        let question = format!("Remove {name}? Their sessions end at once.");
        return confirm::page(&visitor, &crate::admin::SECTION, &question, "Remove", AT, &fields);
    }
    match visitor.api.delete(&format!("/users/{}", path::part(name))).await {
        Ok(_) => Flash::good(format!("{name} is removed.")).at(AT),
        Err(trouble) => trouble.back(&visitor, AT),
    }
}

pub(super) async fn sign_out(visitor: Visitor, fields: Fields) -> Response {
    let name = fields.text("name");
    let asked = visitor.api.delete(&format!("/users/{}/sessions", path::part(name))).await;
    match asked.and_then(|answer| answer.json::<SignedOut>()) {
        Ok(done) => {
            Flash::good(format!("{name} is signed out everywhere. Sessions ended: {}.", done.sessions)).at(AT)
        }
        Err(trouble) => trouble.back(&visitor, AT),
    }
}
