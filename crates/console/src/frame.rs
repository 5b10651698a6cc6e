//! What is around every page: the way to the others, who looks, and what just happened.

use askama::Template;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tracing::error;

use crate::cookie;
use crate::desk::Hub;
use crate::flash::Flash;
use crate::parts::Icon;
use crate::visitor::Visitor;

/// The pages in the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    None,
    Home,
    Launch,
    Launches,
    Images,
    Inventory,
    Runtimes,
    Serverless,
    Operations,
    Workflows,
    Administration,
}

/// A line of the menu.
pub(crate) struct Entry {
    pub(crate) title: &'static str,
    pub(crate) path: &'static str,
    pub(crate) icon: Icon,
    pub(crate) is_here: bool,
}

pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) theme: &'static str,
    pub(crate) word: String,
    pub(crate) name: String,
    pub(crate) role: &'static str,
    pub(crate) here: String,
    pub(crate) flash: Option<Flash>,
    pub(crate) menu: Vec<Entry>,
    pub(crate) is_sandbox: bool,
}

impl Frame {
    pub(crate) fn new(desk: &Hub, visitor: &Visitor, section: Section, title: &str) -> Frame {
        Frame {
            title: title.to_owned(),
            theme: visitor.theme,
            word: visitor.word.clone(),
            name: visitor.name().to_owned(),
            role: visitor.role(),
            here: visitor.here.clone(),
            flash: visitor.flash.clone(),
            menu: menu(visitor, section),
            is_sandbox: desk.settings.is_sandbox,
        }
    }
}

/// Nobody is led to a page that they may not see.
fn menu(visitor: &Visitor, here: Section) -> Vec<Entry> {
    let looks = visitor.may_look();
    let launches = visitor.may_launch();
    let admin = visitor.is(engine::Role::Admin);
    let all = [
        (looks, Section::Home, "Home", "/console", Icon::Home),
        (launches, Section::Launch, "Build and launch", "/console/launch", Icon::Rocket),
        (true, Section::Launches, "Launches", "/console/launches", Icon::List),
        (true, Section::Images, "Images", "/console/images", Icon::Image),
        (true, Section::Inventory, "Inventory", "/console/inventory", Icon::Server),
        (looks, Section::Runtimes, "Runtimes", "/console/runtimes", Icon::Cluster),
        (looks, Section::Serverless, "Serverless", "/console/serverless", Icon::Function),
        (looks, Section::Operations, "Operations", "/console/operations", Icon::Activity),
        (looks, Section::Workflows, "Workflows", "/console/workflows", Icon::Steps),
        (admin, Section::Administration, "Administration", "/console/admin", Icon::Gear),
    ];
    let seen = all.into_iter().filter(|(may_see, ..)| *may_see);
    seen.map(|(_, section, title, path, icon)| Entry { title, path, icon, is_here: section == here })
        .collect()
}

/// A page, or a part of one.
pub(crate) fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            (status, [(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            error!(%error, "a page cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A whole page; what the last form had to say is said now.
pub(crate) fn page(visitor: &Visitor, page: &impl Template) -> Response {
    let mut response = html(StatusCode::OK, page);
    if visitor.flash.is_some() {
        response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::FLASH, false));
    }
    response
}
