//! The settings of the demo: where its greeter listens.

use ::config::Preset::{Is, Nothing};
use ::config::{HOUR, HttpUrl, Period, Section, SectionReader, Setting, ValueKind, set};

#[derive(Debug, Clone)]
pub struct Settings {
    pub url: Option<HttpUrl>,
    pub timeout: Period,
}

impl Section for Settings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("drivers.greeter.url", Nothing, ValueKind::Url,
            "The address of the greeter of the demo."),
        set("drivers.greeter.timeout", Is("10s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to the greeter may take."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings {
            url: settings.get("drivers.greeter.url"),
            timeout: settings.get("drivers.greeter.timeout"),
        }
    }
}
