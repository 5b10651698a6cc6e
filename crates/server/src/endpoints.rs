//! What a product adds to the server: routes in the API of the platform, and an API of its own.

use axum::Router;
use axum::http::{HeaderName, Method};
use axum::routing::MethodRouter;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterIn};
use utoipa::openapi::{OpenApi, ResponseBuilder};

use crate::app_state::Shared;
use crate::http::openapi::add_parameter;
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

    /// The documents of APIs of its own, by their names in addresses: `/docs` shows them.
    fn documents(&self) -> Vec<(&'static str, OpenApi)> {
        Vec::new()
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

    /// What can be known from the table of rights: the path, its parts, and the name of the action.
    fn description(&self) -> OpenApi {
        let mut api = OpenApi::default();
        for right in &self.rights {
            let Some(method) = described(&right.method) else { continue };
            let response = ResponseBuilder::new().description("The answer.");
            let mut operation = OperationBuilder::new().response("2XX", response).build();
            operation.operation_id = Some(right.action.map_or_else(|| right.path.to_owned(), str::to_owned));
            for name in right.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                add_parameter(&mut operation, name, ParameterIn::Path, true, "A part of the path.");
            }
            api.paths.add_path_operation(right.path, vec![method], operation);
        }
        api
    }
}

fn described(method: &Method) -> Option<HttpMethod> {
    Some(match *method {
        Method::GET => HttpMethod::Get,
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::PATCH => HttpMethod::Patch,
        Method::DELETE => HttpMethod::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::routing::post;
    use engine::Capability;

    use super::*;
    use crate::http::rights::change;
    use crate::openapi::openapi;
    use crate::rights::Needs;

    #[test]
    fn a_route_of_a_product_is_in_the_description() {
        let right = change(Method::POST, "/domains/{name}", Needs::Can(Capability::Operate), "domain.order");
        let product = Routes::default().add(right, post(async || "ordered"));
        let api = openapi(&[Arc::new(product)]);
        let operation = api.paths.paths["/domains/{name}"].post.as_ref().unwrap();
        assert_eq!(operation.operation_id.as_deref(), Some("domain.order"));
        assert_eq!(operation.parameters.as_ref().map(Vec::len), Some(1));
        assert_eq!(operation.description.as_deref(), Some("Needs the role operator."));
        assert!(operation.responses.responses.contains_key("403"));
    }
}
