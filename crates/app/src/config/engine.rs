//! The settings of the engine.

use std::collections::BTreeMap;

use ::config::Preset::{Is, Nothing};
use ::config::{DAY, HOUR, Period, SECOND, Section, SectionReader, Setting, ValueKind, YEAR, set};

#[derive(Debug, Clone)]
pub struct Engine {
    pub max_running: usize,
    pub step_limit: Period,
    pub operation_deadline: Period,
    pub retry: Retry,
    pub stop_grace: Period,
    pub limits: SystemLimits,
    pub retention: Period,
}

#[derive(Debug, Clone)]
pub struct Retry {
    pub first: Period,
    pub max: Period,
    pub budget: Period,
}

/// How many calls each outside system gets at the same time.
#[derive(Debug, Clone)]
pub struct SystemLimits {
    pub default: usize,
    pub by_name: BTreeMap<String, usize>,
}

impl Section for Engine {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("engine.max_running", Is("1000"), ValueKind::Whole(1, 1_000_000),
            "How many operations run at the same time; waiting ones do not count."),
        set("engine.step_limit", Is("60s"), ValueKind::Time(SECOND, DAY),
            "How long one run of one step may take."),
        set("engine.operation_deadline", Is("30d"), ValueKind::Time(SECOND, YEAR),
            "The longest time any operation may take, whatever its workflow allows."),
        set("engine.retry.first", Is("1s"), ValueKind::Time(Period::millis(10), HOUR),
            "The pause before the first retry of a step; each further pause is longer."),
        set("engine.retry.max", Is("1m"), ValueKind::Time(Period::millis(10), DAY),
            "The longest pause between two retries; not shorter than `engine.retry.first`."),
        set("engine.retry.budget", Is("10m"), ValueKind::Time(SECOND, YEAR),
            "How long a step may keep retrying without progress."),
        set("engine.stop_grace", Is("10s"), ValueKind::Time(Period::millis(0), HOUR),
            "How long running steps may finish when the engine stops."),
        set("engine.limits.default", Is("64"), ValueKind::Whole(1, 100_000),
            "How many calls one external system gets at the same time, unless it has its own limit."),
        set("engine.limits.*", Nothing, ValueKind::Whole(1, 100_000),
            "The limit for the external system of this name."),
        set("engine.retention", Is("90d"), ValueKind::Time(HOUR, Period::days(36_500)),
            "How long finished operations, their journals and the audit log are kept."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Engine {
        Engine {
            max_running: settings.get("engine.max_running"),
            step_limit: settings.get("engine.step_limit"),
            operation_deadline: settings.get("engine.operation_deadline"),
            retry: retry(settings),
            stop_grace: settings.get("engine.stop_grace"),
            limits: SystemLimits {
                default: settings.get("engine.limits.default"),
                by_name: settings.named("engine.limits"),
            },
            retention: settings.get("engine.retention"),
        }
    }
}

fn retry(settings: &mut SectionReader<'_>) -> Retry {
    let (first, max) = (settings.get("engine.retry.first"), settings.get("engine.retry.max"));
    if first > max {
        let message = format!("expected at least engine.retry.first ({first}), got {max}");
        settings.refuse("engine.retry.max", message);
    }
    Retry { first, max, budget: settings.get("engine.retry.budget") }
}
