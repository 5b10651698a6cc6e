//! Icons. Each stands beside a word.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::assets;

/// An icon of `icons.svg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    Activity,
    Alert,
    Check,
    Clock,
    Cluster,
    Cross,
    Function,
    Gear,
    Hand,
    Home,
    Hourglass,
    Image,
    Key,
    List,
    Pause,
    Play,
    Rocket,
    Server,
    Slash,
    Steps,
    Undo,
}

impl Icon {
    fn name(self) -> &'static str {
        match self {
            Icon::Activity => "activity",
            Icon::Alert => "alert",
            Icon::Check => "check",
            Icon::Clock => "clock",
            Icon::Cluster => "cluster",
            Icon::Cross => "cross",
            Icon::Function => "function",
            Icon::Gear => "gear",
            Icon::Hand => "hand",
            Icon::Home => "home",
            Icon::Hourglass => "hourglass",
            Icon::Image => "image",
            Icon::Key => "key",
            Icon::List => "list",
            Icon::Pause => "pause",
            Icon::Play => "play",
            Icon::Rocket => "rocket",
            Icon::Server => "server",
            Icon::Slash => "slash",
            Icon::Steps => "steps",
            Icon::Undo => "undo",
        }
    }
}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, name) = (assets::at("icons.svg"), self.name());
        write!(f, r#"<svg class="icon" aria-hidden="true" focusable="false"><use href="{at}#{name}"/></svg>"#)
    }
}

impl HtmlSafe for Icon {}
