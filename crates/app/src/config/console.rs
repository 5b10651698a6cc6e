//! The settings of the console.

use ::config::Preset::{Is, Nothing};
use ::config::{DAY, HttpUrl, Period, SECOND, Section, SectionReader, Setting, ValueKind, set};

#[derive(Debug, Clone)]
pub struct Console {
    pub enabled: bool,
    pub public_url: Option<HttpUrl>,
    pub idle: Period,
    pub session: Period,
    pub attempts: u32,
    pub lock: Period,
}

impl Section for Console {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("console.enabled", Is("true"), ValueKind::Switch,
            "Whether the web console is served at `/console`."),
        set("console.public_url", Nothing, ValueKind::Url,
            "Where browsers find the console, such as `https://engine.example.com`, or `https://example.com/engine` behind a \
             proxy that strips `/engine`. With https its cookies go over https alone. An identity provider sends people back there; without it, to the host that they asked for.").external(false),
        set("console.idle", Is("1h"), ValueKind::Time(Period::seconds(10), DAY),
            "Users sign in again after this time without activity."),
        set("console.session", Is("12h"), ValueKind::Time(Period::seconds(10), Period::days(31)),
            "Users sign in again after this time in any case."),
        set("console.attempts", Is("10"), ValueKind::Whole(3, 1_000),
            "After so many wrong passwords in a row a user is locked, at sign-in and for changes of the own \
             password. After five times as many from one address the server refuses that address."),
        set("console.lock", Is("5m"), ValueKind::Time(SECOND, DAY),
            "How long a user stays locked, or an address refused, after too many wrong passwords."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Console {
        Console {
            enabled: settings.get("console.enabled"),
            public_url: settings.get("console.public_url"),
            idle: settings.get("console.idle"),
            session: settings.get("console.session"),
            attempts: settings.get("console.attempts"),
            lock: settings.get("console.lock"),
        }
    }
}
