//! What pages load beside their HTML. It is part of the program, under names that change with their content, so
//! that a browser may keep it for ever.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::signed_in::hex;

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// Of the digest; enough to tell releases apart.
const DIGEST_BYTES: usize = 6;

struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// What single pages have for themselves, one file for each group of pages.
const PAGES_CSS: &str = concat!(
    include_str!("../assets/operations.css"),
    include_str!("../assets/launch.css"),
    include_str!("../assets/runtimes.css"),
    include_str!("../assets/admin.css"),
);

/// What pages do by themselves, one file for each thing.
const SCRIPTS: &str = concat!(
    include_str!("../assets/script/times.js"),
    include_str!("../assets/script/menu.js"),
    include_str!("../assets/script/copy.js"),
    include_str!("../assets/script/confirm.js"),
    include_str!("../assets/script/drop.js"),
    include_str!("../assets/script/follow.js"),
    include_str!("../assets/script/passing.js"),
    include_str!("../assets/script/search.js"),
    include_str!("../assets/script/bulk.js"),
    include_str!("../assets/script/labels.js"),
    include_str!("../assets/script/live.js"),
);

const ALL: [Asset; 6] = [
    Asset { name: "console.css", kind: CSS, content: include_bytes!("../assets/console.css") },
    Asset { name: "pages.css", kind: CSS, content: PAGES_CSS.as_bytes() },
    Asset { name: "console.js", kind: SCRIPT, content: SCRIPTS.as_bytes() },
    Asset { name: "htmx.js", kind: SCRIPT, content: include_bytes!("../assets/htmx-4.0.0.min.js") },
    Asset { name: "icons.svg", kind: PICTURE, content: include_bytes!("../assets/icons.svg") },
    Asset { name: "favicon.svg", kind: PICTURE, content: include_bytes!("../assets/favicon.svg") },
];

static DIGEST: LazyLock<String> = LazyLock::new(|| {
    let all = ALL.iter().fold(Sha256::new(), |all, asset| all.chain_update(asset.content));
    hex(&all.finalize()[..DIGEST_BYTES])
});

/// Where an asset of this release is.
pub(crate) fn at(name: &str) -> String {
    format!("/console/assets/{}/{name}", *DIGEST)
}

pub(crate) async fn asset(Path((digest, name)): Path<(String, String)>) -> Response {
    let found = ALL.iter().find(|asset| asset.name == name).filter(|_| digest == *DIGEST);
    match found {
        Some(asset) => {
            let headers = [(CONTENT_TYPE, HeaderValue::from_static(asset.kind)), (CACHE_CONTROL, FOR_EVER)];
            (headers, Bytes::from_static(asset.content)).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
