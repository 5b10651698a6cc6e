//! The frame of every page: menu, signed-in user and flash message.

use askama::Template;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tracing::error;

use crate::cookie;
use crate::csrf::CsrfToken;
use crate::flash::Flash;
use crate::parts::Icon;
use crate::signed_in::SignedIn;

/// A part of the console with a line in the menu.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub title: &'static str,
    pub path: &'static str,
    pub icon: Icon,
    /// Where its line is: products have 10 to 90, between home at 0 and the rest of the platform above 900.
    pub position: u16,
    /// A page that would be refused is not in the menu.
    pub is_for: fn(&SignedIn) -> bool,
}

impl Section {
    /// For those who may see operations.
    pub const fn new(title: &'static str, path: &'static str, icon: Icon, position: u16) -> Section {
        Section { title, path, icon, position, is_for: SignedIn::may_look }
    }

    /// For pages outside the menu.
    pub const NONE: Section =
        Section { title: "", path: "", icon: Icon::Home, position: 0, is_for: |_| false };
}

/// A line of the menu.
pub(crate) struct MenuEntry {
    pub(crate) title: &'static str,
    pub(crate) path: &'static str,
    pub(crate) icon: Icon,
    pub(crate) is_here: bool,
}

/// What is around the content of a page. A page of any product looks the same, because the shell is put around its
/// content when it is written.
pub struct Shell {
    pub(crate) title: String,
    pub(crate) theme: &'static str,
    pub(crate) csrf: CsrfToken,
    pub(crate) name: String,
    pub(crate) role: &'static str,
    pub(crate) here: String,
    pub(crate) flash: Option<Flash>,
    pub(crate) menu: Vec<MenuEntry>,
    pub(crate) is_sandbox: bool,
    pub(crate) program: &'static str,
    pub(crate) has_search: bool,
}

impl Shell {
    /// For a page of this section; the title is that of the window.
    pub fn new(signed_in: &SignedIn, section: &Section, title: &str) -> Shell {
        Shell {
            title: title.to_owned(),
            theme: signed_in.theme,
            csrf: signed_in.csrf.clone(),
            name: signed_in.name().to_owned(),
            role: signed_in.role(),
            here: signed_in.here.clone(),
            flash: signed_in.flash.clone(),
            menu: menu(signed_in, section),
            is_sandbox: signed_in.shared.settings.is_sandbox,
            program: signed_in.shared.settings.program,
            has_search: signed_in.may_look_at_some(),
        }
    }

    /// A page that has a search box of its own has none in its head.
    #[must_use]
    pub(crate) fn without_search(self) -> Shell {
        Shell { has_search: false, ..self }
    }

    /// The whole page. A message of the last form is shown once.
    pub fn page(self, content: &impl Template) -> Response {
        let has_flash = self.flash.is_some();
        let mut response = self.page_with(StatusCode::OK, content);
        if has_flash {
            response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::FLASH, false));
        }
        response
    }

    /// The same with another status: a form that is shown again, or an error. A message stays for the next page.
    pub fn page_with(self, status: StatusCode, content: &impl Template) -> Response {
        match content.render() {
            Ok(content) => html(status, &Page { shell: self, content }),
            Err(error) => unwritable(&error),
        }
    }
}

#[derive(Template)]
#[template(path = "shell.html")]
struct Page {
    shell: Shell,
    /// Written by a template, so it is escaped already.
    content: String,
}

fn menu(signed_in: &SignedIn, here: &Section) -> Vec<MenuEntry> {
    let entry = |section: &&Section| MenuEntry {
        title: section.title,
        path: section.path,
        icon: section.icon,
        is_here: section.path == here.path,
    };
    signed_in.shared.menu.iter().filter(|section| (section.is_for)(signed_in)).map(entry).collect()
}

/// A part of a page, or a page without the shell.
pub fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            (status, [(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => unwritable(&error),
    }
}

fn unwritable(error: &askama::Error) -> Response {
    error!(%error, "rendering a page failed");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
