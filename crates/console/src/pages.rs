//! What products add to the console: menu entries, pages, links and quick starts.

use api::client::ErrorFormat;
use api::types::OperationDetail;
use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use axum::routing::MethodRouter;
use futures_util::future::BoxFuture;

use crate::page_error::PageError;
use crate::parts::ResourceLink;
use crate::shared::ConsoleState;
use crate::shell::Section;
use crate::signed_in::SignedIn;

/// Finds the page of something by its name.
pub type Finder = fn(&str) -> Option<String>;

/// The pages of all products. Each product adds its own.
#[derive(Clone, Default)]
pub struct Pages {
    pub(crate) routes: Router<ConsoleState>,
    pub(crate) sections: Vec<&'static Section>,
    pub(crate) actions: Vec<&'static Section>,
    pub(crate) offers: Vec<QuickStart>,
    pub(crate) apis: Vec<ProductApi>,
    /// Where a user begins who may not see the home page.
    pub(crate) start: Option<&'static str>,
    resources: Vec<(&'static str, Finder)>,
    audited: Vec<(&'static str, Finder)>,
    made: Vec<fn(&OperationDetail) -> Option<String>>,
}

/// Something that can be started in a sandbox with one click, to see how it looks.
#[derive(Clone, Copy)]
pub struct QuickStart {
    /// Where the product is in the menu; the offer has its icon and its place.
    pub section: &'static Section,
    /// The last part of its address.
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    pub button: &'static str,
    pub is_for: fn(&SignedIn) -> bool,
    /// Starts it under this name, which is new; answers the page that shows it.
    pub start: for<'a> fn(&'a SignedIn, String) -> BoxFuture<'a, Result<String, PageError>>,
}

/// An API of a product that its pages call.
#[derive(Clone)]
pub struct ProductApi {
    /// With its article, such as “the launch API”.
    pub title: &'static str,
    /// What its paths begin with.
    pub base: &'static str,
    pub errors: ErrorFormat,
    /// Sent with every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Pages {
    /// Adds pages. A page that needs something of its product takes it as an axum `Extension`.
    pub fn routes(&mut self, routes: Router<ConsoleState>) {
        self.routes = std::mem::take(&mut self.routes).merge(routes);
    }

    /// Adds a page with a line in the menu.
    pub fn page(&mut self, section: &'static Section, handler: MethodRouter<ConsoleState>) {
        self.section(section);
        self.routes(Router::new().route(section.path, handler));
    }

    /// Adds a line to the menu.
    pub fn section(&mut self, section: &'static Section) {
        self.sections.push(section);
    }

    /// Puts a button that leads to a section on the home page.
    pub fn home_button(&mut self, section: &'static Section) {
        self.actions.push(section);
    }

    /// Adds something to try in a sandbox.
    pub fn offer(&mut self, offer: QuickStart) {
        self.offers.push(offer);
        self.offers.sort_by_key(|offer| offer.section.position);
    }

    /// Names an API that the pages call.
    pub fn api(&mut self, api: ProductApi) {
        self.apis.push(api);
    }

    /// Where a user begins who may not see the home page.
    pub fn start_page(&mut self, path: &'static str) {
        self.start.get_or_insert(path);
    }

    /// Finds the pages of resources that are named `kind:…`, by what comes after the colon.
    pub fn resource(&mut self, kind: &'static str, page: Finder) {
        self.resources.push((kind, page));
    }

    /// Finds the pages of what actions named `kind.…` changed, by the target in the audit log.
    pub fn audited(&mut self, kind: &'static str, page: Finder) {
        self.audited.push((kind, page));
    }

    /// Finds the resource that an operation made, where it is not the one that the operation names.
    pub fn made(&mut self, resource: fn(&OperationDetail) -> Option<String>) {
        self.made.push(resource);
    }

    /// The page of a resource, where it has one.
    pub fn page_of(&self, resource: &str) -> Option<String> {
        let (kind, name) = resource.split_once(':')?;
        find(&self.resources, kind, name)
    }

    /// A resource as pages show it.
    pub(crate) fn show<'a>(&self, name: &'a str) -> ResourceLink<'a> {
        ResourceLink { name, page: self.page_of(name) }
    }

    pub fn page_of_target(&self, kind: &str, target: &str) -> Option<String> {
        find(&self.audited, kind, target)
    }

    pub(crate) fn made_by(&self, detail: &OperationDetail) -> Option<String> {
        self.made.iter().find_map(|resource| resource(detail))
    }
}

fn find(finders: &[(&str, Finder)], kind: &str, name: &str) -> Option<String> {
    finders.iter().filter(|(of, _)| *of == kind).find_map(|(_, page)| page(name))
}
