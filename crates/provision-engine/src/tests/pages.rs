//! How the pages of the platform link to those of the products.

use console::Pages;

fn pages() -> Pages {
    let mut pages = Pages::default();
    ::runtimes::pages(&mut pages);
    ::serverless::pages(&mut pages);
    ::launch::pages(&mut pages);
    pages
}

#[test]
fn a_resource_leads_to_its_page() {
    let pages = pages();
    for (name, page) in [
        ("runtime:9db2", Some("/console/runtimes/9db2")),
        ("runtime:a/b?c", Some("/console/runtimes/a%2Fb%3Fc")),
        ("binding:one/two", Some("/console/runtimes/one")),
        (
            "launch:01a1e3ec172177f3a879e1c416a6200e",
            Some("/console/launches/01a1e3ec-1721-77f3-a879-e1c416a6200e"),
        ),
        (
            "launch:01a1e3ec172177f3a879e1c416a6200e:instance:i-1",
            Some("/console/launches/01a1e3ec-1721-77f3-a879-e1c416a6200e"),
        ),
        ("serverless:20", Some("/console/serverless/20")),
        ("serverless:new:605d305d-42a2-44f0-b4bb-efb93c586c82", None),
        ("source-check:default:sandbox", None),
        ("anything", None),
    ] {
        assert_eq!(pages.page_of(name).as_deref(), page, "{name}");
    }
}

#[test]
fn the_target_of_an_action_leads_to_its_page() {
    let pages = pages();
    for (kind, target, page) in [
        ("broker", "/v2/service_instances/a b/service_bindings/c", Some("/console/runtimes/a%20b")),
        ("runtime", "r1: it hung", Some("/console/runtimes/r1")),
        ("runtime", "/runtimes/r1/repair", None),
        ("serverless", "/serverless-runtimes/20", Some("/console/serverless/20")),
        ("serverless", "/serverless-runtimes", None),
        (
            "launch",
            "/api/provisioning/v1/launches/bb6d86db-4ff9-82cb-a578-f26b4cb5b53f/terminate",
            Some("/console/launches/bb6d86db-4ff9-82cb-a578-f26b4cb5b53f"),
        ),
        ("launch", "/api/provisioning/v1/launches", None),
        ("token", "ci", None),
    ] {
        assert_eq!(pages.page_of_target(kind, target).as_deref(), page, "{kind} {target}");
    }
}
