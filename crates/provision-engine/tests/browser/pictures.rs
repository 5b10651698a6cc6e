//! Pictures of pages, in both themes, on a queue and on a phone. They are kept in `target/screenshots`.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::axe;
use crate::page_driver::PageDriver;
use crate::wire::Wire;

const DESK: u32 = 1440;
const PHONE: u32 = 390;
const HEIGHT_MIN: u64 = 700;
/// What is further down looks like what is above.
const HEIGHT_MAX: u64 = 4000;

/// Whatever scrolls by itself may be wider.
const STICKS_OUT: &str = "const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const scrolls = one => one && (getComputedStyle(one).overflowX !== 'visible' || scrolls(one.parentElement));
    const is_out = one => {
        const { left, right } = one.getBoundingClientRect(), { overflowX, position } = getComputedStyle(one);
        const end = overflowX === 'visible' ? Math.max(right, left + one.scrollWidth) : right;
        return end > clientWidth && (position === 'absolute' || !scrolls(one.parentElement));
    };
    return [scrollWidth + ' pixels',
        ...[...document.querySelectorAll('body *')].filter(is_out).map(one => one.outerHTML.slice(0, 200))];";

fn place(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    fs::create_dir_all(&dir).unwrap();
    dir.join(format!("{name}.png"))
}

/// Looks at the page that is open in every way: axe has nothing to say, a phone shows all of it without scrolling
/// sideways, the browser has no complaint, and there is a picture.
#[track_caller]
pub(crate) fn look(page_driver: &PageDriver, name: &str) {
    for theme in ["light", "dark"] {
        for width in [DESK, PHONE] {
            pretend(page_driver, theme, width);
            let faults = axe::faults(page_driver);
            assert!(faults.is_empty(), "{name} ({theme}, {width} pixels) is not for everybody:{faults}");
            let wide = sticks_out(page_driver);
            assert!(wide.is_empty(), "{name} scrolls sideways at {width} pixels: {wide:#?}");
            shoot(&page_driver.browser().wire, width, &place(&format!("{name}-{theme}-{width}")));
            testing::count("screenshots", 1);
        }
    }
    let wire = &page_driver.browser().wire;
    wire.chromium("Emulation.clearDeviceMetricsOverride", &json!({}));
    wire.chromium("Emulation.setEmulatedMedia", &json!({ "features": [] }));
    page_driver.expect_no_error();
}

/// From now on the browser is a phone.
pub(crate) fn phone(page_driver: &PageDriver) {
    size(&page_driver.browser().wire, PHONE, HEIGHT_MIN);
}

/// What sticks out on the right, so that one has to scroll sideways; nothing, if the page fits.
#[track_caller]
pub(crate) fn sticks_out(page_driver: &PageDriver) -> Vec<String> {
    serde_json::from_value(page_driver.script(STICKS_OUT, &[])).unwrap()
}

/// A picture for the README, made anew with `UPDATE=1`.
#[track_caller]
pub(crate) fn keep(page_driver: &PageDriver, name: &str, height: u32) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(format!("{name}.png"));
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        size(&page_driver.browser().wire, 1200, u64::from(height));
        settle(page_driver);
        fs::write(&kept, capture(&page_driver.browser().wire)).unwrap();
        page_driver.browser().wire.chromium("Emulation.clearDeviceMetricsOverride", &json!({}));
    }
    let bytes = fs::metadata(&kept).map(|file| file.len()).unwrap_or_default();
    assert!((1..=150_000).contains(&bytes), "{name}.png has {bytes} bytes; make it with UPDATE=1");
}

/// What was there when a test failed.
pub(crate) fn keep_failure(wire: &Wire) {
    let test = std::thread::current().name().unwrap_or("someone").replace("::", "-");
    let Ok(picture) = wire.get("/screenshot") else { return };
    let Ok(bytes) = STANDARD.decode(picture.as_str().unwrap_or_default()) else { return };
    let path = place(&format!("failed-{test}"));
    if fs::write(&path, bytes).is_ok() {
        eprintln!("{test} looked at {}", path.display());
    }
    // What the browser said and whether the page was live may be the reason.
    let live = "return [document.visibilityState, document.querySelector('[data-live]')?.dataset.state]";
    let state = wire.post("/execute/sync", &json!({ "script": live, "args": [] }));
    let said = wire.post("/se/log", &json!({ "type": "browser" }));
    eprintln!("visible, live: {state:?}\nthe browser said: {said:?}");
}

fn pretend(page_driver: &PageDriver, theme: &str, width: u32) {
    let wire = &page_driver.browser().wire;
    let features = json!([
        { "name": "prefers-color-scheme", "value": theme },
        { "name": "prefers-reduced-motion", "value": "reduce" },
    ]);
    wire.chromium("Emulation.setEmulatedMedia", &json!({ "features": features }));
    size(wire, width, HEIGHT_MIN);
    settle(page_driver);
}

/// Until the page is drawn as it will stay.
fn settle(page_driver: &PageDriver) {
    let drawn =
        "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";
    page_driver.script(drawn, &[]);
}

fn size(wire: &Wire, width: u32, height: u64) {
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width == PHONE });
    wire.chromium("Emulation.setDeviceMetricsOverride", &size);
    wire.chromium("Emulation.setScrollbarsHidden", &json!({ "hidden": true }));
}

fn shoot(wire: &Wire, width: u32, path: &Path) {
    let asked = json!({ "script": "return document.documentElement.scrollHeight", "args": [] });
    let height = wire.post("/execute/sync", &asked).unwrap().as_u64().unwrap();
    size(wire, width, height.clamp(HEIGHT_MIN, HEIGHT_MAX));
    fs::write(path, capture(wire)).unwrap();
}

fn capture(wire: &Wire) -> Vec<u8> {
    let picture: Value = wire.chromium("Page.captureScreenshot", &json!({ "format": "png" }));
    STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
}
