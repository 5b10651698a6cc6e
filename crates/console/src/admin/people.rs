//! `GET /console/admin/people`

use api::types::{ChangeUser, CreatedUser, NewUser, Password, SignedOut, User, UserList};
use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use engine::secret::SecretString;

use super::{Tab, said};
use crate::confirm;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::parts::When;
use crate::path;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

const AT: &str = "/console/admin/people";

#[derive(Template)]
#[template(path = "admin/people.html")]
struct People {
    csrf: CsrfToken,
    here: Tab,
    users: Vec<User>,
    me: String,
    /// Shown this once.
    made: Option<CreatedUser>,
    name: String,
    role: String,
    grants: String,
    grants_error: Option<String>,
    name_error: Option<String>,
    password_error: Option<String>,
    page_error: Option<String>,
}

impl People {
    async fn read(signed_in: &SignedIn) -> Result<People, PageError> {
        let found: UserList = signed_in.api.get("/users").await?;
        Ok(People {
            csrf: signed_in.csrf.clone(),
            here: Tab::People,
            users: found.items,
            me: signed_in.name().to_owned(),
            made: None,
            name: String::new(),
            role: "reader".to_owned(),
            grants: String::new(),
            grants_error: None,
            name_error: None,
            password_error: None,
            page_error: None,
        })
    }

    /// Puts what is wrong at its field.
    fn refused(mut self, page_error: &PageError, fields: &Fields) -> People {
        fields.text("name").clone_into(&mut self.name);
        fields.text("role").clone_into(&mut self.role);
        fields.text("grants").clone_into(&mut self.grants);
        let is_about =
            |field: &str| page_error.field_errors.iter().any(|field_error| field_error.field == field);
        let field = if is_about("name") || page_error.status == StatusCode::CONFLICT {
            &mut self.name_error
        } else if is_about("grants") {
            &mut self.grants_error
        } else if is_about("password") || page_error.detail.contains("password") {
            &mut self.password_error
        } else {
            &mut self.page_error
        };
        *field = Some(said(page_error));
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

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &crate::admin::SECTION, "Users")
}

pub(super) async fn list(signed_in: SignedIn) -> Response {
    match People::read(&signed_in).await {
        Ok(people) => shell(&signed_in).page(&people),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let asked = ask_for(&signed_in, &fields).await;
    let drawn = match People::read(&signed_in).await {
        Ok(drawn) => drawn,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let shell = shell(&signed_in);
    match asked {
        Ok(made) => shell.page_with(StatusCode::OK, &People { made: Some(made), ..drawn }),
        Err(page_error) => shell.page_with(page_error.status, &drawn.refused(&page_error, &fields)),
    }
}

async fn ask_for(signed_in: &SignedIn, fields: &Fields) -> Result<CreatedUser, PageError> {
    let role = fields.text("role").parse().map_err(|_| {
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, "Not possible", "There is no such role.")
    })?;
    let new = NewUser {
        name: fields.text("name").to_owned(),
        role,
        grants: super::grants(fields),
        password: password(fields, "password"),
    };
    signed_in.api.post("/users", &new).await?.json()
}

/// Another role, other grants, or another password.
pub(super) async fn change(signed_in: SignedIn, fields: Fields) -> Response {
    let name = fields.text("name");
    let change = ChangeUser {
        role: fields.text("role").parse().ok(),
        // A page of before this field was there sends none.
        grants: fields.all("grants").next().map(|_| super::grants(&fields)),
        password: password(&fields, "password"),
    };
    match signed_in.api.put(&format!("/users/{}", path::part(name)), &change).await {
        Ok(_) => Flash::good(format!("User {name} changed; they must sign in again.")).at(AT),
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}

pub(super) async fn delete(signed_in: SignedIn, fields: Fields) -> Response {
    let name = fields.text("name");
    if !confirm::is_confirmed(&fields) {
        let question = format!("Delete {name}? Their sessions end at once.");
        return confirm::page(&signed_in, &crate::admin::SECTION, &question, "Delete", AT, &fields);
    }
    match signed_in.api.delete(&format!("/users/{}", path::part(name))).await {
        Ok(_) => Flash::good(format!("User {name} deleted.")).at(AT),
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}

pub(super) async fn sign_out(signed_in: SignedIn, fields: Fields) -> Response {
    let name = fields.text("name");
    let asked = signed_in.api.delete(&format!("/users/{}/sessions", path::part(name))).await;
    match asked.and_then(|answer| answer.json::<SignedOut>()) {
        Ok(done) => {
            Flash::good(format!("User {name} signed out everywhere. Sessions ended: {}.", done.sessions))
                .at(AT)
        }
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}
