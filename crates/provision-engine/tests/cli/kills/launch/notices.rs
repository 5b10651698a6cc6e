//! Kills around the notice to Kafka, whose brokers hear no faults and can only be taken down.

use serde_json::json;

use super::pad::{LaunchEnd, Pad, in_inbox, in_kafka, quick};
use crate::stage::until;

#[test]
fn a_kill_before_or_after_kafka_has_a_notice_leads_to_one_notice() {
    let mut pad = Pad::open(quick());
    let url = pad.sandbox.url.clone();

    pad.tell("PUT", "/kafka", &json!({"down": true}));
    let unheard = pad.launch(LaunchEnd::Lucky);
    pad.customer.ended(&unheard);
    until("the other way", || (!in_inbox(&url, &unheard).is_empty()).then_some(()));
    pad.kill();
    pad.tell("PUT", "/kafka", &json!({"down": false}));
    pad.serve_again();
    pad.judge(&[unheard], "before Kafka could have it");

    // Whether the process had the time to save it is left to chance.
    pad.forget();
    let received = pad.launch(LaunchEnd::Doomed);
    until("the notice", || (!in_kafka(&url, &received).is_empty()).then_some(()));
    pad.kill();
    pad.serve_again();
    pad.judge(std::slice::from_ref(&received), "as soon as Kafka had it");

    let before = (in_kafka(&url, &received).len(), in_inbox(&url, &received).len());
    pad.kill();
    pad.serve_again();
    // Whatever the new process has to say about the old launch it has said when it is through with a new one.
    pad.forget();
    let next = pad.launch(LaunchEnd::Lucky);
    pad.judge(&[next], "of the next launch");
    let after = (in_kafka(&url, &received).len(), in_inbox(&url, &received).len());
    assert_eq!(before, after, "what was delivered and saved is not delivered again");
    testing::count("kills", 3);
}
