//! Exchanges as they were recorded, and a server that answers with them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::{Router, body};
use opennebula::{NebulaCredentials, OpenNebula, OpenNebulaOptions};
use serde_json::Value;
use tokio::net::TcpListener;

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) asked: RecordedRequest,
    pub(crate) status: u16,
    pub(crate) response: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// What stands after `Basic`.
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

impl Exchange {
    /// A file has a line with method, path and authorization, the request, a line with the status, and the
    /// response.
    pub(crate) fn named(name: &str) -> Exchange {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
        let file = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        let (head, rest) = file.split_once('\n').unwrap();
        let (request, answer) = rest.split_once("\n======== ").unwrap();
        let (status, response) = answer.split_once('\n').unwrap();
        let mut head = head.split(' ').map(str::to_owned);
        Exchange {
            asked: RecordedRequest {
                method: head.next().unwrap(),
                path: head.next().unwrap(),
                authorization: head.next(),
                body: request.to_owned(),
            },
            status: status.parse().unwrap(),
            response: response.trim_end().to_owned(),
        }
    }

    /// What `oned` answers about the documents that a recorded answer of `OneFlow` shows: the same, in XML.
    pub(crate) fn stored(name: &str) -> Exchange {
        Exchange::of_documents(&serde_json::from_str(&Exchange::named(name).response).unwrap())
    }

    /// The same for documents of our own.
    pub(crate) fn of_documents(shown: &Value) -> Exchange {
        let Some(pool) = shown.get("DOCUMENT_POOL") else {
            return Exchange::answer(&document_xml(&shown["DOCUMENT"]));
        };
        let documents: String = match &pool["DOCUMENT"] {
            Value::Null => String::new(),
            Value::Array(documents) => documents.iter().map(document_xml).collect(),
            one => document_xml(one),
        };
        Exchange::answer(&format!("<DOCUMENT_POOL>{documents}</DOCUMENT_POOL>"))
    }

    /// An answer of our own.
    pub(crate) fn made_up(status: u16, response: impl Into<String>) -> Exchange {
        let none = String::new();
        let asked =
            RecordedRequest { method: none.clone(), path: none.clone(), authorization: None, body: none };
        Exchange { asked, status, response: response.into() }
    }

    /// The answer of `oned` with this value in it.
    pub(crate) fn answer(value: &str) -> Exchange {
        let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        Exchange::made_up(
            200,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<methodResponse>\r\n<params>\r\n<param><value>\
                 <array><data>\r\n<value><boolean>1</boolean></value>\r\n<value><string>{value}</string></value>\
                 \r\n<value><i4>0</i4></value>\r\n</data></array></value></param>\r\n</params>\r\n\
                 </methodResponse>\r\n"
            ),
        )
    }
}

fn document_xml(document: &Value) -> String {
    let element = |name: &str| {
        let value = document.get(name).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        format!("<{name}>{}</{name}>", value.unwrap_or_else(|| "1".to_owned()))
    };
    let head: String = ["ID", "UID", "GID", "UNAME", "GNAME", "NAME", "TYPE"].map(element).concat();
    let body = &document["TEMPLATE"]["BODY"];
    format!("<DOCUMENT>{head}<TEMPLATE><BODY><![CDATA[{body}]]></BODY></TEMPLATE></DOCUMENT>")
}

/// A driver whose external system answers from a list, one by one, and remembers what it was asked.
pub(crate) struct Replay {
    pub(crate) nebula: OpenNebula,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Replay {
    pub(crate) async fn of(names: &[&str]) -> Replay {
        Replay::with(names.iter().map(|name| Exchange::named(name)).collect()).await
    }

    pub(crate) async fn with(exchanges: Vec<Exchange>) -> Replay {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(exchanges.into_iter()));
        let app = Router::new().fallback({
            let asked = Arc::clone(&asked);
            move |request: Request| {
                let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
                async move {
                    let request = read(request).await;
                    asked.lock().unwrap().push(request);
                    answers.lock().unwrap().next().map_or(StatusCode::IM_A_TEAPOT.into_response(), answer)
                }
            }
        });
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Replay { nebula: nebula(address), asked }
    }

    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

/// A driver for a server that plays both services.
pub(crate) fn nebula(address: SocketAddr) -> OpenNebula {
    let options = OpenNebulaOptions::new(format!("http://{address}/RPC2"), format!("http://{address}"));
    OpenNebula::new(&OpenNebulaOptions { timeout: Duration::from_secs(30), ..options }).unwrap()
}

/// The user of most recordings.
pub(crate) fn cognit() -> NebulaCredentials {
    NebulaCredentials::from_basic("Y29nbml0OmNvZ25pdHBhc3M=").unwrap()
}

pub(crate) fn oneadmin() -> NebulaCredentials {
    NebulaCredentials::from_basic("b25lYWRtaW46b3Blbm5lYnVsYQ==").unwrap()
}

async fn read(request: Request) -> RecordedRequest {
    let (head, body) = request.into_parts();
    let authorization = head.headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap());
    let body = body::to_bytes(body, 1 << 20).await.unwrap();
    RecordedRequest {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        authorization: authorization.map(|value| value.strip_prefix("Basic ").unwrap().to_owned()),
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

fn answer(exchange: Exchange) -> Response {
    let status = StatusCode::from_u16(exchange.status).unwrap();
    // Both services are careless about this header.
    (status, [(CONTENT_TYPE, "text/html;charset=utf-8")], exchange.response).into_response()
}
