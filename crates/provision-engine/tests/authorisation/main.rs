//! Who may see and change what: every proof at every route, at the APIs and in the console, and two organisations that
//! must never meet.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod browser;
mod issuer;
mod own_product;
mod page;
mod routes;
mod same_principal;
mod sessions;
mod sign_in;
mod two_organisations;
mod ways;
mod world;
