//! Pages that are not of this repository: they are in the menu, look like the others and refuse what the others refuse.

use askama::Template;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use console::parts::Icon;
use console::{
    Console, ConsoleSettings, ConsoleState, CsrfToken, Fields, Flash, Pages, QuickStart, Section, Shell,
    SignedIn,
};
use engine::Role;

use crate::browser::Browser;
use crate::world::AuthFixture;

static LAMPS: Section = Section {
    title: "Lamps",
    path: "/console/lamps",
    icon: Icon::Gear,
    position: 45,
    is_for: |signed_in| signed_in.can(engine::Capability::Operate),
};

#[derive(Template)]
#[template(ext = "html", source = "<h1>{{ room }}</h1><form method=\"post\">{{ csrf }}</form>")]
struct Lamps {
    room: &'static str,
    csrf: CsrfToken,
}

async fn list(signed_in: SignedIn, Extension(room): Extension<&'static str>) -> Response {
    let csrf = signed_in.csrf.clone();
    Shell::new(&signed_in, &LAMPS, "Lamps").page(&Lamps { room, csrf })
}

async fn switch(_: SignedIn, fields: Fields) -> Response {
    Flash::good(format!("{} is on.", fields.text("lamp"))).at(LAMPS.path)
}

fn pages() -> Pages {
    let mut pages = crate::world::pages();
    let routes: Router<ConsoleState> = Router::new().route(LAMPS.path, get(list).post(switch));
    pages.routes(routes.layer(Extension("<kitchen>")));
    pages.section(&LAMPS);
    pages.home_button(&LAMPS);
    pages.offer(QuickStart {
        section: &LAMPS,
        name: "lamp",
        title: "A lamp",
        about: "Switches a lamp on.",
        button: "Switch it on",
        is_for: |_| true,
        start: |signed_in, name| {
            Box::pin(async move { Ok(format!("/console/lamps?{}={name}", signed_in.name())) })
        },
    });
    pages
}

async fn signed_in(world: &AuthFixture, role: Role) -> Browser {
    let settings = ConsoleSettings { is_sandbox: true, ..ConsoleSettings::default() };
    let mut browser = Browser::new(console::router(Console {
        inside: world.inside.clone(),
        people: world.store.clone(),
        code_flow: None,
        settings,
        pages: pages(),
    }));
    browser.with_token(world.token(role)).await;
    browser
}

#[tokio::test]
async fn a_page_of_another_repository_has_its_line_in_the_menu_and_the_same_shell() {
    let world = AuthFixture::new().await;
    let mut browser = signed_in(&world, Role::Operator).await;
    let page = browser.get("/console/lamps").await;
    assert_eq!(page.status, 200, "{}", page.text);
    let menu = page.text.split("<nav class=\"menu\"").nth(1).unwrap().split("</nav>").next().unwrap();
    let lines = menu.split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let lines: Vec<&str> = lines.collect();
    let expected =
        ["", "/launches", "/images", "/inventory", "/lamps", "/runtimes", "/upgrades", "/serverless"];
    let expected: Vec<String> = expected.map(|path| format!("/console{path}")).into();
    assert_eq!(lines[lines.iter().position(|line| *line == "/console").unwrap()..][..8], expected);
    assert!(menu.contains("<a href=\"/console/lamps\" aria-current=\"page\">"), "{menu}");
    assert!(page.text.contains("<h1>&#60;kitchen&#62;</h1>"), "{}", page.text);
    assert!(!signed_in(&world, Role::Reader).await.get("/console").await.text.contains("/console/lamps"));
}

#[tokio::test]
async fn its_forms_need_the_token_and_its_offers_are_started() {
    let world = AuthFixture::new().await;
    let mut browser = signed_in(&world, Role::Operator).await;
    let home = browser.get("/console").await.text;
    assert!(
        home.contains("class=\"button primary\" href=\"/console/lamps\"") && home.contains("Switch it on")
    );
    let sent = browser.post("/console/lamps", &[("lamp".to_owned(), "The lamp".to_owned())]).await;
    assert_eq!((sent.status, sent.location.as_str()), (303, "/console/lamps"));
    assert!(browser.get("/console/lamps").await.text.contains("The lamp is on."));
    let started = browser.post("/console/try/lamp", &[]).await;
    assert!(started.location.starts_with("/console/lamps?operator=try-"), "{}", started.location);
    assert_eq!(browser.post_bare("/console/lamps").await.status, 403);
}
