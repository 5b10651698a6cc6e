//! Brokers that are wrong in one way each, and the checks that must find it.

mod apis;
mod catalogs;
mod lives;

use std::collections::BTreeSet;
use std::sync::Arc;

use conformance::{CheckOutcome, Report, SuiteOptions};
use futures_util::{StreamExt, stream};

use crate::broker::{BrokerReply, BrokerRequest};
use crate::instances::Habits;
use crate::right::{examined, honest, options};

#[derive(Clone, Copy)]
pub(crate) struct WrongBroker {
    what: &'static str,
    found_by: &'static [&'static str],
    spoil: fn(&BrokerRequest, &mut BrokerReply),
}

pub(crate) const fn wrong(
    what: &'static str,
    found_by: &'static [&'static str],
    spoil: fn(&BrokerRequest, &mut BrokerReply),
) -> WrongBroker {
    WrongBroker { what, found_by, spoil }
}

pub(crate) fn turn(reply: &mut BrokerReply, from: u16, to: u16) {
    if reply.status == from {
        reply.status = to;
    }
}

/// Slow bindings give the most to look at.
fn habits() -> Habits {
    Habits { async_bindings: true, ..Habits::default() }
}

async fn run_suite(wrong: &WrongBroker, wanted: Option<&str>) -> Report {
    let options = SuiteOptions { oversize_bytes: 3 << 20, ..options() };
    examined(wanted, habits(), options, Arc::new(wrong.spoil)).await
}

fn ids(report: &Report, wanted: fn(&CheckOutcome) -> bool) -> BTreeSet<String> {
    report.checks().filter(|check| wanted(&check.outcome)).map(|check| check.id.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wrong_is_found_and_every_check_can_fail() {
    let right = examined(Some("small"), habits(), options(), honest()).await;
    let mut never = ids(&right, |outcome| *outcome == CheckOutcome::Passed);
    let mut missed: Vec<String> = Vec::new();
    let named = [apis::WRONGS, lives::WRONGS, catalogs::WRONGS]
        .concat()
        .into_iter()
        .map(|wrong| (wrong, Some("small")));
    let wrongs = named.chain(catalogs::NAMELESS.iter().map(|wrong| (*wrong, None)));
    let mut trials = stream::iter(wrongs)
        .map(|(wrong, wanted)| async move {
            (wrong, tokio::spawn(async move { run_suite(&wrong, wanted).await }).await)
        })
        .buffered(4);
    while let Some((wrong, report)) = trials.next().await {
        let failed = ids(&report.unwrap(), |outcome| matches!(outcome, CheckOutcome::Failed(_)));
        let blind = wrong.found_by.iter().filter(|id| !failed.contains(**id));
        missed.extend(blind.map(|id| format!("{id} does not find a broker that {}", wrong.what)));
        never.retain(|id| !failed.contains(id.as_str()));
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(never.is_empty(), "these checks cannot fail: {never:#?}");
}
