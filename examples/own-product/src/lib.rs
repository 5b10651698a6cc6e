//! Domain names, ordered at a registrar: a product on the platform of provision-engine.

pub mod order;
pub mod registrar;

use api::types::{Operation, OperationPage, Phase};
use app::cmd::{operations::follow, wait::WaitResult};
use app::prelude::*;
use askama::Template;
use console::parts::{Chip, Icon};
use console::{Shell, SignedIn};
use registrar::{Names, Registrar, fake};
use serde_json::json;
use server::prelude::*;

pub struct Settings(Option<HttpUrl>);

impl Section for Settings {
    const SETTINGS: &'static [Setting] =
        &[set("domains.registrar_url", Preset::Nothing, ValueKind::Url, "Where the registrar listens.")];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings(settings.get("domains.registrar_url"))
    }
}

pub struct Domains(Registrar);

#[async_trait]
impl Product for Domains {
    type Settings = Settings;

    async fn open(Settings(url): &Settings, platform: &Platform<'_>) -> Result<Domains> {
        let url = match url {
            Some(url) => url.as_str().to_owned(),
            None if platform.sandbox.is_some() => fake(&Names::default()).await?,
            None => bail!("set domains.registrar_url, or serve with --sandbox"),
        };
        Ok(Domains(Registrar::new(&url)?))
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        engine.workflow(order::plan(&Registrar::default()))
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        engine.workflow(order::plan(&self.0))
    }

    fn api(&self, _: &Config) -> Result<Option<Arc<dyn Endpoints>>> {
        let right = change(Method::POST, "/domains", Needs::Can(Capability::Operate), "domain.order");
        Ok(Some(Arc::new(Routes::default().add(right, post(create)))))
    }

    fn pages(&self, pages: &mut Pages) {
        pages.page(&DOMAINS, get(list));
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("demo", demo);
    }
}

/// One operation at a time works on a resource.
async fn create(new: Submitter, JsonBody(params): JsonBody<order::Params>) -> Result<Response, Failure> {
    new.submit::<order::Order>(&format!("domain:{}", params.name), &params).await
}

static DOMAINS: console::Section = console::Section::new("Domains", "/console/domains", Icon::Server, 10);

#[derive(Template)]
#[template(path = "domains.html")]
struct ExamplePage(Vec<Operation>);

async fn list(signed_in: SignedIn) -> Response {
    match signed_in.api.get::<OperationPage>("/operations?workflow=domains.order").await {
        Ok(page) => Shell::new(&signed_in, &DOMAINS, "Domains").page(&ExamplePage(page.items)),
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// Order a name at a registrar in memory, approve the order, and look at the page
#[derive(Debug, Args)]
struct DemoArgs {}

async fn demo(global: &Global, _: &DemoArgs) -> Result<Exit> {
    let server = InProcess::start(&global.app, &[("sandbox.enabled", "true")]).await?;
    let order: Operation = server.client.http.post(&["domains"], &json!({"name": "example.org"})).await?;
    server.client.signal("domains.approval.example.org", &json!({"approved": true})).await?;
    let ended = follow(global.output, &server.client, order.id, None).await?;
    ensure!(matches!(ended, WaitResult::With(Phase::Succeeded)), "the order is {ended:?}");
    ensure!(server.page("/console/domains").await?.contains("example.org"), "the page has no order");
    note("example.org is bought and on the page /console/domains; `serve` shows it in a browser");
    server.stop().await;
    Ok(Exit::GOOD)
}
