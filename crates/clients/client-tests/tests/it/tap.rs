//! A server between a client and the sandbox, which writes down what both say.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{self, Body};
use axum::extract::Request;
use axum::http::Response;
use reqwest::Client;
use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u16,
    /// The names of the headers of the answer.
    pub(crate) headers: Vec<String>,
    /// Where the operation that the answer begins is told.
    pub(crate) link: Option<String>,
    /// Of the request, so that a test can make a call of its own.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

pub(crate) struct Tap {
    pub(crate) url: String,
    client: Client,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl Tap {
    /// Forwards to the sandbox. Links to the sandbox become links to the tap.
    pub(crate) async fn start(sandbox: &str) -> Tap {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = Client::builder().no_proxy().build().unwrap();
        let exchanges = Arc::<Mutex<Vec<Exchange>>>::default();
        let tapped =
            (client.clone(), sandbox.trim_end_matches('/').to_owned(), url.clone(), Arc::clone(&exchanges));
        let router = Router::new().fallback(move |request: Request| {
            let (client, sandbox, url, exchanges) = tapped.clone();
            async move { forward(request, &client, (&sandbox, &url), &exchanges).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Tap { url, client, exchanges }
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }

    /// A call that no client of ours makes, with the token of the last one that it made.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Exchange {
        let token = self.exchanges().into_iter().rev().find_map(|one| one.authorization).unwrap();
        let method = method.parse().unwrap();
        let mut request =
            self.client.request(method, format!("{}{path}", self.url)).header("authorization", token);
        if let Some(body) = body {
            request = request.json(body).header("if-none-match", "*");
        }
        request.send().await.unwrap();
        self.exchanges().pop().unwrap()
    }
}

impl Tap {
    /// A call with a token that was never issued.
    pub(crate) async fn call_as(&self, authorization: &str, path: &str) {
        let request = self.client.get(format!("{}{path}", self.url)).header("authorization", authorization);
        request.send().await.unwrap();
    }
}

async fn forward(
    request: Request,
    client: &Client,
    (sandbox, tap): (&str, &str),
    exchanges: &Mutex<Vec<Exchange>>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().unwrap().to_string();
    let body = body::to_bytes(body, usize::MAX).await.unwrap();
    let mut headers = parts.headers;
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    headers.remove("host");
    let answer = client.request(parts.method.clone(), format!("{sandbox}{path}")).headers(headers).body(body);
    let answer = answer.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let text = answer.text().await.unwrap().replace(sandbox, tap);
    let links = ["azure-asyncoperation", "location"]
        .map(|name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()));
    exchanges.lock().unwrap().push(Exchange {
        method: parts.method.to_string(),
        path,
        status: status.as_u16(),
        headers: headers.keys().map(|name| name.as_str().to_owned()).collect(),
        link: links.into_iter().flatten().next(),
        authorization,
        body: serde_json::from_str(&text).unwrap_or_default(),
    });
    let mut response = Response::builder().status(status.as_u16());
    for (name, value) in
        headers.iter().filter(|(name, _)| !["content-length", "transfer-encoding"].contains(&name.as_str()))
    {
        response = response.header(name, value.to_str().unwrap().replace(sandbox, tap));
    }
    response.body(Body::from(text)).unwrap()
}
