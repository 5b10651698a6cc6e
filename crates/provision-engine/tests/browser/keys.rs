//! What a user does with the keyboard alone.

use serde_json::{Value, json};

use crate::page_driver::{PageDriver, insist};

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

impl PageDriver {
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
        insist(self.browser().wire.post("/actions", &keys));
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
}
