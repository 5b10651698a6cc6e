//! The name of this program. It decides where its files are, which variables of the environment it reads, and what its
//! texts call it.

use std::sync::OnceLock;

/// What a program is called that says nothing else, and what texts of the platform are written with.
const PLATFORM: &str = "provision-engine";

static NAME: OnceLock<&'static str> = OnceLock::new();

/// Once, before anything else; the first name counts.
pub fn set_program(name: &'static str) {
    let _ = NAME.set(name);
}

pub fn program() -> &'static str {
    NAME.get().copied().unwrap_or(PLATFORM)
}

/// Whether texts of the platform call it something else.
pub fn is_renamed() -> bool {
    program() != PLATFORM
}

/// A variable of the environment that belongs to this program.
pub fn own_variable(name: &str) -> String {
    format!("{}{name}", prefix(program()))
}

/// A text of the platform in which the program has its own name.
pub fn in_own_name(text: &str) -> String {
    renamed(text, program())
}

fn prefix(name: &str) -> String {
    format!("{}_", name.replace('-', "_").to_uppercase())
}

fn renamed(text: &str, name: &str) -> String {
    text.replace(PLATFORM, name).replace(&prefix(PLATFORM), &prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_its_own_name_in_texts_and_variables() {
        assert_eq!((program(), own_variable("CONFIG").as_str()), (PLATFORM, "PROVISION_ENGINE_CONFIG"));
        let text = "provision-engine serve, or PROVISION_ENGINE_SERVER__LISTEN=:80 provision-engine serve";
        let expected = "own-product serve, or OWN_PRODUCT_SERVER__LISTEN=:80 own-product serve";
        assert_eq!(renamed(text, "own-product"), expected);
        assert_eq!(in_own_name(text), text);
    }
}
