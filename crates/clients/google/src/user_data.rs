//! The text for the first start, as the images of Google Cloud understand it.
//!
//! Their agent runs a startup script at every start, so a script is wrapped to run once. Most images have no
//! cloud-init: what only cloud-init understands is handed over as `user-data`, and is ignored where it is missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::CloudError;

use crate::error::invalid;

/// What Compute Engine takes as the value of one item.
const VALUE_BYTES_MAX: usize = 256 * 1024;
const POWER_OFF: &str = "#!/bin/sh\nshutdown -P +1\n";

/// What the metadata of an instance gets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UserData {
    pub(super) startup_script: Option<String>,
    /// Only cloud-init understands it.
    pub(super) cloud_init: Option<String>,
}

impl UserData {
    /// `stamp` is the name of a file that says that the script has run.
    pub(super) fn of(text: &str, stamp: &str) -> Result<UserData, CloudError> {
        let (mut scripts, mut is_for_cloud_init) = (Vec::new(), false);
        for part in parts(text) {
            if part.starts_with("#!") {
                scripts.push(part);
            } else if is_power_off(part) {
                scripts.push(POWER_OFF);
            } else if !part.trim().is_empty() {
                is_for_cloud_init = true;
            }
        }
        let data = UserData {
            startup_script: (!scripts.is_empty()).then(|| once(&scripts, stamp)),
            cloud_init: is_for_cloud_init.then(|| text.to_owned()),
        };
        let values = [&data.startup_script, &data.cloud_init].into_iter().flatten();
        if values.map(String::len).any(|bytes| bytes > VALUE_BYTES_MAX) {
            let message =
                format!("the user data is longer than the {VALUE_BYTES_MAX} bytes that an instance takes");
            return Err(invalid("InvalidUserData", message));
        }
        Ok(data)
    }
}

/// The texts of a message in parts, or the one text there is.
fn parts(text: &str) -> Vec<&str> {
    let Some((head, body)) = text.split_once("\n\n") else { return vec![text] };
    let boundary = head.lines().find_map(|line| {
        let line = line.strip_prefix("Content-Type: multipart/mixed; boundary=")?;
        Some(line.trim().trim_matches('"'))
    });
    let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) else { return vec![text] };
    let delimiter = format!("--{boundary}");
    let sections = body.split(delimiter.as_str()).skip(1).take_while(|section| !section.starts_with("--"));
    sections.filter_map(|section| Some(section.split_once("\n\n")?.1)).collect()
}

/// A cloud-config that does nothing but switch the instance off.
fn is_power_off(text: &str) -> bool {
    let Some(config) = text.strip_prefix("#cloud-config") else { return false };
    let lines: Vec<&str> = config.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_other = |line: &&str| !line.starts_with(' ');
    lines.first() == Some(&"power_state:")
        && lines.iter().any(|line| line.trim() == "mode: poweroff")
        && lines.iter().skip(1).filter(|line| is_other(line)).count() == 0
}

/// Runs the scripts one after the other at the first start. The stamp comes first: a script may switch off.
fn once(scripts: &[&str], stamp: &str) -> String {
    let mut text = format!(
        "#!/bin/sh\n\
         folder=/var/lib/provision-engine\n\
         stamp=$folder/{stamp}\n\
         [ ! -e \"$stamp\" ] || exit 0\n\
         mkdir -p \"$folder\" && chmod 700 \"$folder\" && : >\"$stamp\" || exit 1\n"
    );
    text.extend((1..).zip(scripts).map(|(number, script): (usize, _)| {
        let encoded = STANDARD.encode(script);
        format!(
            "script=$folder/{stamp}.{number}\nbase64 -d >\"$script\" <<'END'\n{encoded}\nEND\n\
             chmod 700 \"$script\" && \"$script\"\nrm -f \"$script\"\n"
        )
    }));
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const OFF: &str = "#cloud-config\npower_state:\n  delay: 1\n  mode: poweroff\n";

    fn multipart(texts: &[&str]) -> String {
        let part = |text: &&str| {
            format!("--b1\nContent-Type: text/x; charset=\"utf-8\"\nMIME-Version: 1.0\n\n{text}\n")
        };
        let parts: String = texts.iter().map(part).collect();
        format!("Content-Type: multipart/mixed; boundary=\"b1\"\nMIME-Version: 1.0\n\n{parts}--b1--\n")
    }

    #[test]
    fn scripts_are_for_the_agent_and_the_rest_for_cloud_init() {
        let of = |text: &str| UserData::of(text, "s").unwrap();
        let script = of("#!/bin/sh\necho hello\n");
        assert!(script.startup_script.is_some() && script.cloud_init.is_none());
        let config = of("#cloud-config\nruncmd: [x]\n");
        assert!(config.startup_script.is_none() && config.cloud_init.is_some());
        let off = of(OFF);
        assert!(
            off.cloud_init.is_none() && off.startup_script.unwrap().contains(&STANDARD.encode(POWER_OFF))
        );
        let both = of(&multipart(&["#!/bin/sh\necho one", OFF]));
        assert!(both.cloud_init.is_none());
        assert_eq!(both.startup_script.unwrap().matches("base64 -d").count(), 2);
        let mixed = of(&multipart(&["#!/bin/sh\necho one", "#cloud-config\nruncmd: [x]\n"]));
        assert!(mixed.startup_script.is_some() && mixed.cloud_init.is_some());
        let more = of("#cloud-config\npower_state:\n  mode: poweroff\nusers: []\n");
        assert!(more.startup_script.is_none() && more.cloud_init.is_some());
        assert!(UserData::of(&format!("#!{}", "x".repeat(256 * 1024)), "s").is_err());
    }

    #[test]
    fn a_script_runs_once() {
        let folder = std::env::temp_dir().join(format!("google-user-data-{}", std::process::id()));
        let script = once(&["#!/bin/sh\necho \"it's $((1 + 1))\"", "#!/bin/sh\necho end"], "s");
        let script = script.replace("/var/lib/provision-engine", folder.to_str().unwrap());
        let run = || Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&run().stdout), "it's 2\nend\n");
        assert_eq!(String::from_utf8_lossy(&run().stdout), "");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
