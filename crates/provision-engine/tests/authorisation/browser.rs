//! A browser without scripts: it keeps cookies, and sends forms as the pages have them.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use tower::ServiceExt;

use crate::issuer;
use crate::page::attribute;
use crate::world::{AuthFixture, Reply};

pub(crate) struct Browser {
    console: Router,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(crate) fn new(console: Router) -> Browser {
        Browser { console, cookies: BTreeMap::new() }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(Request::get(path), Body::empty()).await
    }

    /// Sends a form with the word of this browser, the user who's page the form is from.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(String, String)]) -> Reply {
        let page = self.get("/console/me").await;
        let page = if page.status == 200 { page } else { self.get("/console/sign-in").await };
        let word =
            page.text.split("name=\"_csrf\"").nth(1).and_then(|rest| attribute(rest, "value")).unwrap();
        let own = [("_csrf".to_owned(), word)];
        let fields = own.iter().chain(fields.iter().filter(|(name, _)| name != "_csrf"));
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> =
            fields.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        self.send(request, Body::from(pairs.join("&"))).await
    }

    /// Sends an empty form without the token.
    pub(crate) async fn post_bare(&mut self, path: &str) -> Reply {
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        self.send(request, Body::empty()).await
    }

    async fn send(&mut self, request: axum::http::request::Builder, body: Body) -> Reply {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header("cookie", cookies.join("; ")).header("host", "engine.example.com");
        let reply =
            Reply::read(self.console.clone().oneshot(request.body(body).unwrap()).await.unwrap()).await;
        for cookie in &reply.cookies {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if rest.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.cookies.get("pe_session").map(String::as_str)
    }

    pub(crate) async fn with_password(&mut self, name: &str, password: &str) -> Reply {
        let fields = [("name", name), ("password", password)].map(|(a, b)| (a.to_owned(), b.to_owned()));
        self.post("/console/sign-in", &fields).await
    }

    pub(crate) async fn with_token(&mut self, token: &str) -> Reply {
        self.post("/console/sign-in/token", &[("token".to_owned(), token.to_owned())]).await
    }

    /// Goes to the issuer, which vouches for these claims, and comes back.
    pub(crate) async fn with_code_flow(&mut self, world: &AuthFixture, claims: &Value) -> Reply {
        let there = self.get("/console/sign-in/provider").await;
        assert_eq!(there.status, 303, "{}", there.text);
        let find = |name: &str| {
            let (_, query) = there.location.split_once('?').unwrap();
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.into_iter().find(|(key, _)| *key == name).unwrap().1;
            percent_decode_str(value).decode_utf8().unwrap().into_owned()
        };
        let code = issuer::code(claims, &find("nonce"), world.now());
        let state = find("state");
        self.get(&format!("/console/sign-in/provider/callback?code={code}&state={state}")).await
    }
}
