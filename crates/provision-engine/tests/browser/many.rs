//! A list with very much behind it.

use rusqlite::{Connection, params};
use serde_json::json;

use crate::fixture::BrowserFixture;
use crate::page_driver::PageDriver;
use crate::pictures::look;

const MANY: u32 = 10_000;
/// Of the server, for one page. The goal is 50 ms; this program is not optimised and the machine may be busy.
const PAGE_MS_MAX: f64 = 1_000.0;

/// Makes copies of the operation that is there, each a second older than the one before.
fn copy(fixture: &BrowserFixture) {
    let store = Connection::open(fixture.place.data("engine.db")).unwrap();
    let made = store
        .execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i + 1 < ?1)
             insert into archive select unhex('01900000' || printf('%04x', i / 65536) || '7000' || '8000' || printf('%012x', i)),
                workflow, tenant, resource, params, phase, created_at - i * 1000, deadline_at, finished_at, reason,
                memory, memory_seq, epoch, name
             from archive, n",
            params![MANY],
        )
        .unwrap();
    assert_eq!(made, usize::try_from(MANY - 1).unwrap());
}

#[test]
fn ten_thousand_operations_are_no_burden() {
    let mut fixture = BrowserFixture::open();
    let id = fixture.submit(&json!({ "name": "Ada" }));
    fixture.until_phase(&id, "succeeded");
    fixture.stop_server();
    copy(&fixture);
    fixture.serve_again();

    let page_driver = PageDriver::new(&fixture.url);
    page_driver.sign_in(&fixture.token);
    page_driver.go("/console/operations");
    look(&page_driver, "operations-many");
    let mut seen = Vec::new();
    for page in 1..=4 {
        let rows = page_driver
            .script("return [...document.querySelectorAll('#rows tbody tr')].map(row => row.id)", &[]);
        let rows: Vec<String> = serde_json::from_value(rows).unwrap();
        assert!(!rows.is_empty(), "page {page}");
        assert!(rows.iter().all(|row| !seen.contains(row)), "page {page} shows something again");
        seen.extend(rows);
        let took = page_driver.server_ms();
        println!("operations: page {page} took the server {took} ms");
        assert!(took < PAGE_MS_MAX, "page {page} took the server {took} ms");
        page_driver.click("nav.pager a[rel=next]");
    }
    // And back to the beginning.
    page_driver.click("nav.pager a[rel=first]");
    page_driver.until_path("/console/operations");
    page_driver.until_text(&format!("#o{id}"), &id[28..]);
    page_driver.expect_no_error();
}
