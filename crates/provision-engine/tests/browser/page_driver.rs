//! A user at a browser: looks, clicks, types, and waits until a page says what it should.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::pictures;
use crate::stage::{until, until_or};
use crate::wire::{DriverErrorBody, Element};

pub(crate) struct PageDriver {
    browser: Option<Browser>,
    url: String,
    clicks: Cell<u32>,
}

impl PageDriver {
    pub(crate) fn new(url: &str) -> PageDriver {
        PageDriver { browser: Some(Browser::take()), url: url.to_owned(), clicks: Cell::new(0) }
    }

    pub(crate) fn browser(&self) -> &Browser {
        self.browser.as_ref().unwrap()
    }

    #[track_caller]
    pub(crate) fn go(&self, path: &str) {
        let url = format!("{}{path}", self.url);
        insist(self.browser().wire.post("/url", &json!({ "url": url })));
    }

    /// With a token, by typing it.
    #[track_caller]
    pub(crate) fn sign_in(&self, token: &str) {
        self.go("/console/sign-in");
        self.type_token(token);
        until("a user who is signed in", || self.has("header .who-name").then_some(()));
    }

    #[track_caller]
    pub(crate) fn type_token(&self, token: &str) {
        self.click("summary");
        self.fill("#token", token);
        self.click("form[action$='/token'] button");
    }

    /// On the page to sign in.
    #[track_caller]
    pub(crate) fn type_password(&self, name: &str, password: &str) {
        self.fill("#name", name);
        self.fill("#password", password);
        self.click("form[action$='/sign-in'] button");
    }

    /// The address without the server.
    #[track_caller]
    pub(crate) fn path(&self) -> String {
        let url = insist(self.browser().wire.get("/url"));
        url.as_str().unwrap().trim_start_matches(&self.url).to_owned()
    }

    #[track_caller]
    pub(crate) fn until_path(&self, path: &str) {
        until_or(|| (self.path() == path).then_some(()), || format!("at {}, not at {path}", self.path()));
    }

    pub(crate) fn find(&self, css: &str) -> Result<Element, DriverErrorBody> {
        let asked = json!({ "using": "css selector", "value": css });
        Ok(Element::read(&self.browser().wire.post("/element", &asked)?).unwrap())
    }

    #[track_caller]
    pub(crate) fn has(&self, css: &str) -> bool {
        match self.find(css) {
            Ok(_) => true,
            Err(error_response) if error_response.may_pass() => false,
            Err(error_response) => panic!("{css}: {error_response:?}"),
        }
    }

    /// What a page says there, as it is seen; nothing where there is nothing.
    #[track_caller]
    pub(crate) fn text(&self, css: &str) -> String {
        let said = self.script(
            "const found = document.querySelector(arguments[0]);
                return found && found.checkVisibility() ? found.innerText : ''",
            &[css.into()],
        );
        said.as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub(crate) fn until_text(&self, css: &str, part: &str) {
        until_or(
            || self.text(css).contains(part).then_some(()),
            || format!("no {part:?} in {css} at {}, which says: {}", self.path(), self.text(css)),
        );
    }

    #[track_caller]
    pub(crate) fn until_gone(&self, css: &str) {
        until_or(|| (!self.has(css)).then_some(()), || format!("{css} is still there: {}", self.text(css)));
    }

    /// Until the part of the page that changes by itself is connected.
    #[track_caller]
    pub(crate) fn until_live(&self) {
        let connected = "return document.querySelector('[data-live][data-state=live]') !== null";
        until("a page that is live", || (self.script(connected, &[]) == true).then_some(()));
    }

    #[track_caller]
    pub(crate) fn until_theme(&self, theme: &str) {
        let chosen = "return document.documentElement.dataset.theme || ''";
        until(&format!("the theme {theme:?}"), || (self.script(chosen, &[]) == theme).then_some(()));
    }

    #[track_caller]
    pub(crate) fn until_value(&self, css: &str, value: &str) {
        let held =
            || self.script("return document.querySelector(arguments[0])?.value ?? null", &[css.into()]);
        until_or(|| (held() == value).then_some(()), || format!("{css} holds {} and not {value:?}", held()));
    }

    /// What is in a field.
    #[track_caller]
    pub(crate) fn value(&self, css: &str) -> String {
        let said = self.script("return document.querySelector(arguments[0]).value", &[css.into()]);
        said.as_str().unwrap_or_default().to_owned()
    }

    /// The word that the forms of this page carry.
    #[track_caller]
    pub(crate) fn word(&self) -> String {
        self.value("input[name=_csrf]")
    }

    /// Sends a form that the page does not have; answers the status and the text.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, fields: &Value) -> (u64, String) {
        let send = "const body = new URLSearchParams(arguments[1]);
            return fetch(arguments[0], { method: 'POST', body })
                .then(async answer => [answer.status, await answer.text()])";
        answered(&self.script(send, &[path.into(), fields.clone()]))
    }

    #[track_caller]
    pub(crate) fn fetch(&self, path: &str) -> (u64, String) {
        let ask = "return fetch(arguments[0]).then(async answer => [answer.status, await answer.text()])";
        answered(&self.script(ask, &[path.into()]))
    }

    /// How long the server took for the page that is open.
    #[track_caller]
    pub(crate) fn server_ms(&self) -> f64 {
        let told = "return performance.getEntriesByType('navigation')[0].serverTiming[0].duration";
        self.script(told, &[]).as_f64().unwrap()
    }

    #[track_caller]
    pub(crate) fn script(&self, text: &str, arguments: &[Value]) -> Value {
        insist(self.try_script(text, arguments))
    }

    fn try_script(&self, text: &str, arguments: &[Value]) -> Result<Value, DriverErrorBody> {
        self.browser().wire.post("/execute/sync", &json!({ "script": text, "args": arguments }))
    }

    /// How often the user has clicked.
    pub(crate) fn clicks(&self) -> u32 {
        self.clicks.get()
    }

    #[track_caller]
    pub(crate) fn click(&self, css: &str) {
        self.clicks.set(self.clicks.get() + 1);
        self.touch(css, |element| self.browser().wire.post(&element.path("click"), &json!({})).map(drop));
    }

    /// The one that says so, among those that are meant.
    #[track_caller]
    pub(crate) fn click_on(&self, css: &str, words: &str) {
        self.clicks.set(self.clicks.get() + 1);
        let pick = "return [...document.querySelectorAll(arguments[0])]
            .find(one => one.innerText.replace(/\\s+/g, ' ').trim().includes(arguments[1])) || null";
        self.patiently(&format!("{css} {words:?}"), || {
            let found = self.try_script(pick, &[css.into(), words.into()])?;
            let gone = || DriverErrorBody { error: "no such element".to_owned(), message: words.to_owned() };
            let element = Element::read(&found).ok_or_else(gone)?;
            self.browser().wire.post(&element.path("click"), &json!({})).map(drop)
        });
    }

    /// Types into a field instead of what is there.
    #[track_caller]
    pub(crate) fn fill(&self, css: &str, text: &str) {
        self.touch(css, |element| {
            self.browser().wire.post(&element.path("clear"), &json!({}))?;
            self.browser().wire.post(&element.path("value"), &json!({ "text": text })).map(drop)
        });
    }

    /// Chooses in a list by its value.
    #[track_caller]
    pub(crate) fn select(&self, css: &str, value: &str) {
        self.click(&format!("{css} option[value='{value}']"));
    }

    #[track_caller]
    fn touch(&self, css: &str, act: impl Fn(&Element) -> Result<(), DriverErrorBody>) {
        self.patiently(css, || act(&self.find(css)?));
    }

    #[track_caller]
    fn patiently(&self, what: &str, act: impl Fn() -> Result<(), DriverErrorBody>) {
        let last = std::cell::RefCell::new(String::new());
        until_or(
            || match act() {
                Ok(()) => Some(()),
                Err(error_response) if error_response.may_pass() => {
                    *last.borrow_mut() = error_response.message;
                    None
                }
                Err(error_response) => panic!("{what}: {error_response:?}"),
            },
            || format!("{what} at {}: {}", self.path(), last.borrow()),
        );
    }

    /// A cookie, which scripts cannot see.
    #[track_caller]
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let all = insist(self.browser().wire.get("/cookie"));
        let found = all.as_array().unwrap().iter().find(|cookie| cookie["name"] == name)?;
        found["value"].as_str().map(str::to_owned)
    }

    #[track_caller]
    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        let cookie = json!({ "name": name, "value": value, "path": "/", "httpOnly": true });
        insist(self.browser().wire.post("/cookie", &json!({ "cookie": cookie })));
    }

    #[track_caller]
    pub(crate) fn without_script(&self) {
        self.browser().wire.chromium("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// Opens another tab and looks at that; answers the one before.
    #[track_caller]
    pub(crate) fn open_tab(&self) -> String {
        let wire = &self.browser().wire;
        let before = insist(wire.get("/window"));
        let made = insist(wire.post("/window/new", &json!({ "type": "tab" })));
        self.look_at(made["handle"].as_str().unwrap());
        before.as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn look_at(&self, tab: &str) {
        insist(self.browser().wire.post("/window", &json!({ "handle": tab })));
    }

    /// What the browser complained about since a user asked last: scripts, the policy, what it could not load.
    #[track_caller]
    pub(crate) fn error_texts(&self) -> Vec<String> {
        let lines = insist(self.browser().wire.post("/se/log", &json!({ "type": "browser" })));
        let bad = |line: &&Value| line["level"] == "SEVERE" || line["source"] == "security";
        let text = |line: &Value| format!("{}: {}", line["source"], line["message"].as_str().unwrap_or(""));
        lines.as_array().unwrap().iter().filter(bad).map(text).collect()
    }

    #[track_caller]
    pub(crate) fn until_error(&self, part: &str) {
        until(&format!("a complaint about {part}"), || {
            self.error_texts().iter().any(|line| line.contains(part)).then_some(())
        });
    }

    /// Nothing went wrong in the browser.
    #[track_caller]
    pub(crate) fn expect_no_error(&self) {
        let error_texts = self.error_texts();
        assert!(error_texts.is_empty(), "at {}: {error_texts:#?}", self.path());
    }
}

#[track_caller]
pub(crate) fn insist(answer: Result<Value, DriverErrorBody>) -> Value {
    answer.unwrap_or_else(|error_response| panic!("{}: {}", error_response.error, error_response.message))
}

fn answered(answer: &Value) -> (u64, String) {
    (answer[0].as_u64().unwrap(), answer[1].as_str().unwrap_or_default().to_owned())
}

impl Drop for PageDriver {
    fn drop(&mut self) {
        let Some(browser) = self.browser.take() else { return };
        if std::thread::panicking() {
            pictures::keep_failure(&browser.wire);
        } else {
            browser.give_back();
        }
    }
}
