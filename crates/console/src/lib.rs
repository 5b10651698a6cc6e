//! The web console.
//!
//! It is a client of the APIs like any other, in the same process: every page calls them on behalf of its user, so
//! the roles of the API decide what is shown and allowed, and its audit log says who did what. Nothing here reads the
//! database or calls an external system, except for users and their sessions.
//!
//! # Pages of a product
//!
//! A product adds its pages to [`Pages`]. A handler takes a [`SignedIn`], which sends a browser without a session to the
//! sign-in page. It calls an API with `signed_in.api`, and prints a template into the [`Shell`]; an error is a
//! [`PageError`] and has a page of its
//! own. The template is the product's and holds the content alone. It prints what all pages share as values: the types
//! of [`parts`], and a [`CsrfToken`] in each form, which [`Fields`] checks. Lists that filter, turn pages and follow
//! changes are in [`list`], other pages that follow changes in [`live`], the question before a deletion in [`confirm`].
//!
//! ```ignore
//! static LAMPS: Section = Section {
//!     title: "Lamps",
//!     path: "/console/lamps",
//!     icon: Icon::Gear,
//!     position: 70,
//!     is_for: SignedIn::may_look,
//! };
//!
//! pub fn pages(pages: &mut Pages) {
//!     pages.section(&LAMPS);
//!     pages.routes(Router::new().route("/console/lamps", get(list).post(switch)));
//!     pages.resource("lamp", |name| Some(format!("/console/lamps#{}", path::part(name))));
//! }
//!
//! #[derive(Template)]
//! #[template(path = "lamps.html")] // <form method="post">{{ csrf }}{% for lamp in lamps %} …
//! struct Lamps {
//!     lamps: Vec<Lamp>,
//!     csrf: CsrfToken,
//! }
//!
//! async fn list(signed_in: SignedIn) -> Response {
//!     match signed_in.api.get::<Vec<Lamp>>("/lamps").await {
//!         Ok(lamps) => {
//!             let content = Lamps { lamps, csrf: signed_in.csrf.clone() };
//!             Shell::new(&signed_in, &LAMPS, "Lamps").page(&content)
//!         }
//!         Err(page_error) => page_error.page(&signed_in),
//!     }
//! }
//!
//! async fn switch(signed_in: SignedIn, fields: Fields) -> Response {
//!     let lamp = fields.text("lamp");
//!     match signed_in.api.post(&format!("/lamps/{}/switch", path::part(lamp)), &()).await {
//!         Ok(_) => Flash::good(format!("{lamp} is on.")).at(LAMPS.path),
//!         Err(page_error) => page_error.back(&signed_in, LAMPS.path),
//!     }
//! }
//! ```

mod admin;
mod api;
mod assets;
mod base;
pub mod confirm;
mod cookie;
mod csrf;
mod draft;
mod fields;
mod flash;
mod history;
mod home;
pub mod list;
pub mod live;
mod me;
mod operations;
mod page_error;
mod pages;
pub mod parts;
pub mod path;
mod router;
mod schema_form;
mod shared;
mod shell;
mod sign_in;
mod signed_in;
#[cfg(test)]
mod test_console;
mod theme;
mod workflows;

pub use api::{ApiClient, ApiResponse};
pub use csrf::CsrfToken;
pub use fields::Fields;
pub use flash::{Flash, see_other};
pub use page_error::{FormError, PageError};
pub use pages::{Finder, Pages, ProductApi, QuickStart};
pub use router::router;
pub use schema_form::SchemaForm;
pub use shared::{Console, ConsoleSettings, ConsoleState};
pub use shell::{Section, Shell, html};
pub use signed_in::SignedIn;
