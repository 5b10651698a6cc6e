//! Launches: the way from an image to instances, images, and the inventory.

mod images;
mod inventory;
mod launches;
mod new;
mod try_it;

use crate::api::rights::Verb;
use api::client::ErrorFormat;
use console::{Pages, ProductApi, QuickStart, SignedIn};
use uuid::Uuid;

/// Where launches are asked for.
const LAUNCH: &str = crate::api::BASE;

/// Adds the pages of launches.
pub fn pages(pages: &mut Pages) {
    for section in [&new::SECTION, &launches::SECTION, &images::SECTION, &inventory::SECTION] {
        pages.section(section);
    }
    for routes in [new::routes(), launches::routes(), images::routes(), inventory::routes()] {
        pages.routes(routes);
    }
    pages.home_button(&new::SECTION);
    pages.start_page(launches::SECTION.path);
    pages.offer(QuickStart {
        section: &new::SECTION,
        name: "launch",
        title: "Build and launch",
        about: "Builds an image, uploads a key, and launches two instances of it in a cloud account.",
        button: "Start a launch",
        is_for: may_launch,
        start: |signed_in, name| Box::pin(try_it::start(signed_in, name)),
    });
    pages.api(ProductApi {
        title: "the launch API",
        base: LAUNCH,
        errors: ErrorFormat::Insights,
        headers: Vec::new(),
    });
    pages.audited("pubkey", |_| Some("/console/launch/keys".to_owned()));
    pages.audited("source", |_| Some("/console/launch/accounts".to_owned()));
    pages.audited("launch", |path| {
        let launch = path.strip_prefix(LAUNCH)?.strip_prefix("/launches/")?.split('/').next()?;
        Uuid::try_parse(launch).ok().map(|launch| format!("/console/launches/{launch}"))
    });
    pages.resource("launch", |name| {
        let launch = Uuid::try_parse(name.split(':').next()?).ok()?;
        Some(format!("/console/launches/{launch}"))
    });
}

fn may_launch(signed_in: &SignedIn) -> bool {
    signed_in.may("reservation", Verb::Write)
}

/// Whether they may cancel, retry and terminate.
fn may_control(signed_in: &SignedIn) -> bool {
    signed_in.may("reservation", Verb::Control)
}
