//! Somebody at a browser: looks, clicks, types, and waits until a page says what it should.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::pictures;
use crate::stage::{until, until_or};
use crate::wire::{Element, Refusal};

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const SPACE: &str = " ";
const SHIFT: &str = "\u{e008}";
/// No page has more things to stop at.
const STOPS_MAX: usize = 200;
/// What a person reads on the thing that has the focus.
const FOCUSED: &str = "const here = document.activeElement; if (!here || here === document.body) return '';
    const label = here.labels && here.labels[0] ? here.labels[0].innerText : '';
    return [here.tagName.toLowerCase(), here.getAttribute('aria-label') || label || here.innerText || here.id || '']
        .join(' ').replace(/\\s+/g, ' ').trim();";

pub(crate) struct Person {
    browser: Option<Browser>,
    url: String,
}

impl Person {
    pub(crate) fn new(url: &str) -> Person {
        Person { browser: Some(Browser::take()), url: url.to_owned() }
    }

    pub(crate) fn browser(&self) -> &Browser {
        self.browser.as_ref().unwrap()
    }

    #[track_caller]
    pub(crate) fn go(&self, path: &str) {
        let url = format!("{}{path}", self.url);
        self.insist(self.browser().wire.post("/url", &json!({ "url": url })));
    }

    /// With a token, by typing it.
    #[track_caller]
    pub(crate) fn sign_in(&self, token: &str) {
        self.go("/console/sign-in");
        self.type_token(token);
        until("somebody who is signed in", || self.find("header .who-name").ok());
    }

    #[track_caller]
    pub(crate) fn type_token(&self, token: &str) {
        self.click("summary");
        self.fill("#token", token);
        self.click("form[action$='/token'] button");
    }

    /// The address without the server.
    #[track_caller]
    pub(crate) fn path(&self) -> String {
        let url = self.insist(self.browser().wire.get("/url"));
        url.as_str().unwrap().trim_start_matches(&self.url).to_owned()
    }

    #[track_caller]
    pub(crate) fn until_path(&self, path: &str) {
        until_or(|| (self.path() == path).then_some(()), || format!("at {}, not at {path}", self.path()));
    }

    pub(crate) fn find(&self, css: &str) -> Result<Element, Refusal> {
        let asked = json!({ "using": "css selector", "value": css });
        Ok(Element::read(&self.browser().wire.post("/element", &asked)?).unwrap())
    }

    #[track_caller]
    pub(crate) fn has(&self, css: &str) -> bool {
        match self.find(css) {
            Ok(_) => true,
            Err(refusal) if refusal.may_pass() => false,
            Err(refusal) => panic!("{css}: {refusal:?}"),
        }
    }

    /// What a page says there, as it is seen; nothing where there is nothing.
    #[track_caller]
    pub(crate) fn text(&self, css: &str) -> String {
        let said = self.script(
            "const found = document.querySelector(arguments[0]); return found ? found.innerText : ''",
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
    pub(crate) fn script(&self, text: &str, arguments: &[Value]) -> Value {
        self.insist(self.try_script(text, arguments))
    }

    fn try_script(&self, text: &str, arguments: &[Value]) -> Result<Value, Refusal> {
        self.browser().wire.post("/execute/sync", &json!({ "script": text, "args": arguments }))
    }

    #[track_caller]
    pub(crate) fn click(&self, css: &str) {
        self.touch(css, |element| self.browser().wire.post(&element.path("click"), &json!({})).map(drop));
    }

    /// The one that says so, among those that are meant.
    #[track_caller]
    pub(crate) fn click_on(&self, css: &str, words: &str) {
        let pick = "return [...document.querySelectorAll(arguments[0])]
            .find(one => one.innerText.replace(/\\s+/g, ' ').trim().includes(arguments[1])) || null";
        self.patiently(&format!("{css} {words:?}"), || {
            let found = self.try_script(pick, &[css.into(), words.into()])?;
            let gone = || Refusal { error: "no such element".to_owned(), message: words.to_owned() };
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

    /// Chooses in a list by what it says.
    #[track_caller]
    pub(crate) fn choose(&self, css: &str, words: &str) {
        self.touch(css, |element| {
            self.browser().wire.post(&element.path("value"), &json!({ "text": words })).map(drop)
        });
    }

    #[track_caller]
    fn touch(&self, css: &str, act: impl Fn(&Element) -> Result<(), Refusal>) {
        self.patiently(css, || act(&self.find(css)?));
    }

    #[track_caller]
    fn patiently(&self, what: &str, act: impl Fn() -> Result<(), Refusal>) {
        let last = std::cell::RefCell::new(String::new());
        until_or(
            || match act() {
                Ok(()) => Some(()),
                Err(refusal) if refusal.may_pass() => {
                    *last.borrow_mut() = refusal.message;
                    None
                }
                Err(refusal) => panic!("{what}: {refusal:?}"),
            },
            || format!("{what} at {}: {}", self.path(), last.borrow()),
        );
    }

    /// Keys, one after the other, to whatever has the focus.
    #[track_caller]
    pub(crate) fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        });
        self.act(&strokes.collect::<Vec<_>>());
    }

    /// The other way round.
    #[track_caller]
    pub(crate) fn press_shift_tab(&self) {
        let stroke = |kind: &str, key: &str| json!({ "type": kind, "value": key });
        self.act(&[
            stroke("keyDown", SHIFT),
            stroke("keyDown", TAB),
            stroke("keyUp", TAB),
            stroke("keyUp", SHIFT),
        ]);
    }

    #[track_caller]
    fn act(&self, strokes: &[Value]) {
        let keys = json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] });
        self.insist(self.browser().wire.post("/actions", &keys));
    }

    /// What has the focus: its kind and its words.
    #[track_caller]
    pub(crate) fn focused(&self) -> String {
        self.script(FOCUSED, &[]).as_str().unwrap_or_default().to_owned()
    }

    /// Goes on with the Tab key until something that reads so has the focus.
    #[track_caller]
    pub(crate) fn tab_to(&self, words: &str) {
        let mut seen = Vec::new();
        for _ in 0..STOPS_MAX {
            let here = self.focused();
            if here.contains(words) {
                return;
            }
            seen.push(here);
            self.press(TAB);
        }
        panic!("the Tab key never comes to {words:?}, only to {seen:?}");
    }

    /// A cookie, which scripts cannot see.
    #[track_caller]
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let all = self.insist(self.browser().wire.get("/cookie"));
        let found = all.as_array().unwrap().iter().find(|cookie| cookie["name"] == name)?;
        found["value"].as_str().map(str::to_owned)
    }

    #[track_caller]
    pub(crate) fn forget_cookie(&self, name: &str) {
        self.insist(self.browser().wire.delete(&format!("/cookie/{name}")));
    }

    #[track_caller]
    pub(crate) fn without_script(&self) {
        self.browser().wire.chromium("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// Opens another tab and looks at that; answers the one before.
    #[track_caller]
    pub(crate) fn open_tab(&self) -> String {
        let wire = &self.browser().wire;
        let before = self.insist(wire.get("/window"));
        let made = self.insist(wire.post("/window/new", &json!({ "type": "tab" })));
        self.look_at(made["handle"].as_str().unwrap());
        before.as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn look_at(&self, tab: &str) {
        self.insist(self.browser().wire.post("/window", &json!({ "handle": tab })));
    }

    /// What the browser complained about since somebody asked last: scripts, the policy, what it could not load.
    #[track_caller]
    pub(crate) fn complaints(&self) -> Vec<String> {
        let lines = self.insist(self.browser().wire.post("/se/log", &json!({ "type": "browser" })));
        let bad = |line: &&Value| line["level"] == "SEVERE" || line["source"] == "security";
        let text = |line: &Value| format!("{}: {}", line["source"], line["message"].as_str().unwrap_or(""));
        lines.as_array().unwrap().iter().filter(bad).map(text).collect()
    }

    /// Nothing went wrong in the browser.
    #[track_caller]
    pub(crate) fn expect_no_complaint(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "at {}: {complaints:#?}", self.path());
    }

    #[track_caller]
    fn insist(&self, answer: Result<Value, Refusal>) -> Value {
        answer.unwrap_or_else(|refusal| panic!("{}: {}", refusal.error, refusal.message))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let Some(browser) = self.browser.take() else { return };
        if std::thread::panicking() {
            pictures::keep_failure(&browser.wire);
        } else {
            browser.give_back();
        }
    }
}
