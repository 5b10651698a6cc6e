//! What a product adds to the server: routes in the API of the platform, and an API of its own.

use axum::Router;
use axum::http::HeaderName;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;

use crate::app_state::Shared;
use crate::rights::Right;

/// The endpoints of one product. A method that is not needed has a default.
pub trait Endpoints: Send + Sync + 'static {
    /// What each of its routes in the API of the platform needs. A route without a line here does not answer.
    fn rights(&self) -> &[Right] {
        &[]
    }

    /// Its routes in the API of the platform. They get the guard, the limits and the errors of that API.
    fn routes(&self, _app: &Shared) -> Router<Shared> {
        Router::new()
    }

    /// The description of these routes.
    fn description(&self) -> OpenApi {
        OpenApi::default()
    }

    /// An API with a guard and an error format of its own, made with [`crate::http::serve`].
    fn api(&self, _app: &Shared) -> Option<Router> {
        None
    }

    /// Headers that prove who asks, and so never reach a log.
    fn secret_headers(&self) -> &'static [HeaderName] {
        &[]
    }
}

/// Routes in the API of the platform, each with the right that it needs: all that a product without an API of its own
/// has.
#[derive(Default)]
pub struct Routes {
    rights: Vec<Right>,
    router: Router<Shared>,
}

impl Routes {
    /// Adds a route at the path of its right.
    #[must_use]
    pub fn add(mut self, right: Right, handler: MethodRouter<Shared>) -> Routes {
        self.router = self.router.route(right.path, handler);
        self.rights.push(right);
        self
    }
}

impl Endpoints for Routes {
    fn rights(&self) -> &[Right] {
        &self.rights
    }

    fn routes(&self, _app: &Shared) -> Router<Shared> {
        self.router.clone()
    }
}
