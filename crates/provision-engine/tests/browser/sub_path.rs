//! The console below a path, behind a proxy that strips it.

use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;

use reqwest::Method;
use serde_json::json;

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::stage::DataDirectory;

const BASE: &str = "/engine";

/// Hands every request below the path to the server, without the path. Anything else is not there.
fn serve(listener: TcpListener, to: Arc<OnceLock<String>>) {
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let to = Arc::clone(&to);
            thread::spawn(move || pass_on(client, to.get().unwrap()));
        }
    });
}

fn pass_on(mut client: TcpStream, to: &str) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let Some(path) = path.strip_prefix(BASE) else {
        let _ = client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return None;
    };
    let kept: Vec<&str> =
        fields.split("\r\n").filter(|field| !field.to_lowercase().starts_with("connection:")).collect();
    let length = kept
        .iter()
        .find_map(|field| field.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body).ok()?;
    let mut server = TcpStream::connect(to).ok()?;
    write!(server, "{method} {path} HTTP/1.1\r\nConnection: close\r\n{}", kept.join("\r\n")).ok()?;
    server.write_all(&body).ok()?;
    copy(&mut server, &mut client).ok()?;
    client.shutdown(Shutdown::Both).ok()
}

#[test]
fn links_forms_cookies_and_streams_work_below_a_path() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let outside = format!("http://{}{BASE}", listener.local_addr().unwrap());
    let to = Arc::new(OnceLock::new());
    serve(listener, Arc::clone(&to));
    let fixture = BrowserFixture::open_with(DataDirectory::new(), |place, _| {
        place.env("PROVISION_ENGINE_CONSOLE__PUBLIC_URL", &outside)
    });
    to.set(fixture.url.trim_start_matches("http://").to_owned()).unwrap();

    let page_driver = PageDriver::new(&outside);
    page_driver.go("/console");
    page_driver.until_path("/console/sign-in?back=%2Fconsole");
    page_driver.sign_in(&fixture.token);
    page_driver.until_path("/console");
    let id = fixture.submit_waiting();
    page_driver.click_on("nav.menu a", "Operations");
    page_driver.until_path("/console/operations");
    page_driver.click(&format!("#rows a[href$='{id}']"));
    page_driver.until_path(&format!("/console/operations/{id}"));
    page_driver.until_live();
    // What a stream sends has links, too.
    fixture.api(Method::POST, &format!("/operations/{id}/pause"), Some(&json!({})));
    page_driver.until_text("#now-why .chip", "paused");
    page_driver.click_on("#now-why button", "Resume");
    page_driver.click_on("dialog button", "Resume");
    fixture.until_phase(&id, "waiting");
    let elsewhere = "return [...document.querySelectorAll('[href], [action], [src]')]
        .map(one => one.href?.baseVal ?? one.getAttribute('href') ?? one.getAttribute('action') ?? one.src)
        .filter(at => at.startsWith('/') && !at.startsWith('/engine/'))";
    assert_eq!(page_driver.script(elsewhere, &[]), json!([]));
    let cookie = page_driver.browser().wire.get("/cookie/pe_session").unwrap();
    assert_eq!(cookie["path"], BASE);
    page_driver.click("header .who summary");
    page_driver.click_on("header .who-card button", "Sign out");
    page_driver.until_path("/console/sign-in");
    page_driver.expect_no_error();
}
