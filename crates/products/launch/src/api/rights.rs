//! Who may do what at this API: every route with the permission that it needs. A route that is not in this table
//! does not answer, whatever the router says.

use crate::model::catalog::REFRESH_LIMIT;
use crate::model::cloud::ProviderKind;
use axum::http::Method;

use server::http::rights::{self, change, look};

/// One line of the table.
pub use server::principal::Verb;

pub type LaunchRight = rights::RouteRight<Needs>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// No authentication.
    Nothing,
    /// The caller does not sign in, but the message must be signed.
    Signature,
    /// A client of an organisation, whatever they may do.
    Identity,
    /// The permission to do this with this kind of thing.
    May(&'static str, Verb),
    /// The same, and one of our own tokens: what one organisation says becomes true for all.
    OursMay(&'static str, Verb),
    /// The permission for launches, and also for launches at the provider that the path names behind `/reservations/`.
    MayLaunch(Verb),
}

/// What launches are called where permissions are granted.
pub(crate) const RESERVATION: &str = "reservation";

pub static RIGHTS: [LaunchRight; 49] = {
    use Needs::{Identity, Nothing};
    const LAUNCH: Needs = Needs::MayLaunch(Verb::Read);
    const LAUNCH_WRITE: Needs = Needs::MayLaunch(Verb::Write);
    const CONTROL: Needs = Needs::MayLaunch(Verb::Control);
    const SOURCE: Needs = Needs::May("source", Verb::Read);
    const SOURCE_WRITE: Needs = Needs::May("source", Verb::Write);
    const PUBLIC_KEY: Needs = Needs::May("pubkey", Verb::Read);
    const PUBLIC_KEY_WRITE: Needs = Needs::May("pubkey", Verb::Write);
    [
        look("/openapi.json", Nothing),
        look("/azure_offering_template", Nothing),
        LaunchRight {
            method: Method::OPTIONS,
            path: "/azure_offering_template",
            needs: Nothing,
            action: None,
            limit: None,
        },
        look("/sources", SOURCE),
        change(Method::POST, "/sources", SOURCE_WRITE, "source.create"),
        look("/sources/{ID}", SOURCE),
        change(Method::DELETE, "/sources/{ID}", SOURCE_WRITE, "source.delete"),
        look("/sources/{ID}/status", SOURCE),
        look("/sources/{ID}/launch_templates", SOURCE),
        look("/sources/{ID}/upload_info", SOURCE),
        look("/sources/{ID}/validate_permissions", SOURCE),
        change(Method::POST, "/availability_status/sources", Identity, "source.check"),
        look("/pubkeys", PUBLIC_KEY),
        change(Method::POST, "/pubkeys", PUBLIC_KEY_WRITE, "pubkey.create"),
        look("/pubkeys/{ID}", PUBLIC_KEY),
        change(Method::DELETE, "/pubkeys/{ID}", PUBLIC_KEY_WRITE, "pubkey.delete"),
        look("/instance_types/{PROVIDER}", Identity),
        look("/reservations", LAUNCH),
        look("/reservations/{ID}", LAUNCH),
        change(Method::POST, "/reservations/aws", LAUNCH_WRITE, "launch.create"),
        look("/reservations/aws/{ID}", LAUNCH),
        change(Method::POST, "/reservations/azure", LAUNCH_WRITE, "launch.create"),
        look("/reservations/azure/{ID}", LAUNCH),
        change(Method::POST, "/reservations/gcp", LAUNCH_WRITE, "launch.create"),
        look("/reservations/gcp/{ID}", LAUNCH),
        change(Method::POST, "/reservations/noop", LAUNCH_WRITE, "launch.create"),
        look("/reservations/noop/{ID}", LAUNCH),
        look("/launches", LAUNCH),
        change(Method::POST, "/launches", LAUNCH_WRITE, "launch.create"),
        look("/launches/{id}", LAUNCH),
        look("/launches/{id}/events", LAUNCH),
        change(Method::POST, "/launches/{id}/parameters", LAUNCH_WRITE, "launch.parameters"),
        change(Method::POST, "/launches/{id}/cancel", CONTROL, "launch.cancel"),
        change(Method::POST, "/launches/{id}/retry", CONTROL, "launch.retry"),
        change(Method::POST, "/launches/{id}/cleanup", CONTROL, "launch.cleanup"),
        change(Method::POST, "/launches/{id}/detach", CONTROL, "launch.detach"),
        change(Method::POST, "/launches/{id}/terminate", CONTROL, "launch.terminate"),
        change(Method::POST, "/launches/{id}/image-ready", Needs::Signature, "launch.image_ready"),
        change(Method::POST, "/image-ready", Needs::Signature, "launch.image_ready"),
        look("/inventory", Needs::May("inventory", Verb::Read)),
        look("/inventory/{id}", Needs::May("inventory", Verb::Read)),
        change(Method::DELETE, "/inventory/{id}", CONTROL, "instance.terminate"),
        look("/images", Needs::May("image", Verb::Read)),
        look("/distributions", Needs::May("image", Verb::Read)),
        look("/distributions/{name}/architectures", Needs::May("image", Verb::Read)),
        LaunchRight {
            method: Method::POST,
            path: "/instance_types/{PROVIDER}/refresh",
            needs: Needs::OursMay("instance_type", Verb::Write),
            action: Some("instance_types.refresh"),
            limit: Some(REFRESH_LIMIT),
        },
        look("/ready", Identity),
        look("/ready/{SRV}", Identity),
        look("/feature/{FLAG}", Identity),
    ]
};

/// The provider that a path names.
pub(crate) fn provider_in(path: &str) -> Option<ProviderKind> {
    reservation_type(path)?.parse().ok()
}

/// A path with a provider that does not exist. Clients of the hosted service get 400 for it, and not 404.
pub(crate) fn names_no_provider(path: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    reservation_type(path).is_some_and(|text| !is_number(text) && text.parse::<ProviderKind>().is_err())
}

fn reservation_type(path: &str) -> Option<&str> {
    path.strip_prefix("/reservations/")?.split('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_something_is_written_down_and_needs_someone() {
        for right in &RIGHTS {
            let changes = !right.method.is_safe();
            assert_eq!(changes, right.action.is_some(), "{} {}", right.method, right.path);
            assert!(!changes || right.needs != Needs::Nothing, "{} {}", right.method, right.path);
        }
    }

    #[test]
    fn the_provider_is_read_where_the_path_has_it() {
        assert_eq!(provider_in("/reservations/aws/7"), Some(ProviderKind::Aws));
        assert_eq!(provider_in("/reservations/gcp"), Some(ProviderKind::Gcp));
        for none in ["/reservations/7", "/reservations/ibm", "/reservations/", "/launches/aws"] {
            assert_eq!(provider_in(none), None, "{none}");
        }
        assert_eq!(rights::allowed(&RIGHTS, "/pubkeys"), "GET, HEAD, POST");
    }
}
