//! A server with a console, and the API beside it, which knows the truth.

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{DataDirectory, Sandbox, ServerProcess, call, until};

pub(crate) struct BrowserFixture {
    pub(crate) place: DataDirectory,
    pub(crate) url: String,
    pub(crate) token: String,
    sandbox: Sandbox,
    server: Option<ServerProcess>,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl BrowserFixture {
    #[track_caller]
    pub(crate) fn open() -> BrowserFixture {
        BrowserFixture::open_in(DataDirectory::new())
    }

    #[track_caller]
    pub(crate) fn open_in(place: DataDirectory) -> BrowserFixture {
        BrowserFixture::open_with(place, |place, _| place)
    }

    /// The external systems are a process of their own, so that they survive the server; `more` can be said when it is known
    /// where they are, for a short time only.
    #[track_caller]
    pub(crate) fn open_with(
        place: DataDirectory,
        more: impl FnOnce(DataDirectory, &str) -> DataDirectory,
    ) -> BrowserFixture {
        let place = place
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_FIRST", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_MAX", "100ms")
            .env("PROVISION_ENGINE_LAUNCH__INSTANCE_POLL", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__SETTLE", "100ms");
        let sandbox = Sandbox::start(&place);
        let place = more(place, &sandbox.url);
        let server = place.serve(&["--sandbox-url", &sandbox.url]);
        let token = std::fs::read_to_string(place.data("admin.token")).unwrap().trim().to_owned();
        BrowserFixture {
            url: server.url.clone(),
            token,
            sandbox,
            server: Some(server),
            place,
            // A server that is killed takes its connections along.
            client: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// As a crash.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// On the same port, with the same data.
    #[track_caller]
    pub(crate) fn serve_again(&mut self) {
        let listen = self.url.trim_start_matches("http://");
        let going = self.place.begin(&["serve", "--listen", listen, "--sandbox-url", &self.sandbox.url]);
        self.server = Some(self.place.healthy(going));
    }

    /// Gracefully.
    #[track_caller]
    pub(crate) fn stop_server(&mut self) {
        self.server.take().unwrap().stop();
    }

    /// Name and password, from the file that the first start wrote.
    #[track_caller]
    pub(crate) fn first_user(&self) -> (String, String) {
        let line = std::fs::read_to_string(self.place.data("console-password")).unwrap();
        let (name, password) = line.trim().split_once(':').unwrap();
        (name.to_owned(), password.to_owned())
    }

    /// Asks the API, and insists on success.
    #[track_caller]
    pub(crate) fn api(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = self.runtime.block_on(async {
            let request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            request.send().await?.error_for_status()?.bytes().await
        });
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_slice(&answer).unwrap_or_default()
    }

    /// Sets something in the external systems.
    #[track_caller]
    pub(crate) fn turn(&self, control: &str, value: &Value) {
        call(Method::POST, &format!("{}/{control}", self.sandbox.url), Some(value));
    }

    /// Looks at something in the external systems.
    #[track_caller]
    pub(crate) fn far(&self, path: &str) -> Value {
        call(Method::GET, &format!("{}/{path}", self.sandbox.url), None)
    }

    /// Starts a greeting with these params and answers its id.
    #[track_caller]
    pub(crate) fn submit(&self, params: &Value) -> String {
        let body = json!({ "workflow": "demo.hello", "params": params });
        let made = self.api(Method::POST, "/operations", Some(&body));
        made["id"].as_str().unwrap().to_owned()
    }

    /// One that waits for longer than any test.
    #[track_caller]
    pub(crate) fn submit_waiting(&self) -> String {
        let id = self.submit(&json!({ "name": "Ada", "wait_ms": 600_000 }));
        self.until_phase(&id, "waiting");
        id
    }

    #[track_caller]
    pub(crate) fn phase(&self, id: &str) -> String {
        let found = self.api(Method::GET, &format!("/operations/{id}"), None);
        found["phase"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn until_phase(&self, id: &str, phase: &str) {
        until(phase, || (self.phase(id) == phase).then_some(()));
    }

    /// A token for a user with this role.
    #[track_caller]
    pub(crate) fn token_for(&self, role: &str) -> String {
        let made =
            self.api(Method::POST, "/tokens", Some(&json!({ "name": format!("a-{role}"), "role": role })));
        made["token"].as_str().unwrap().to_owned()
    }
}
