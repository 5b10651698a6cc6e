//! The text for the first start of an instance: what its owner wrote, and what was asked for beside it.

use sha2::{Digest, Sha256};

/// Switches an instance off a minute after its first start.
const POWER_OFF: &str = "#cloud-config\npower_state:\n  delay: 1\n  mode: poweroff\n";

/// Both texts in one. Where there are two, each is a part of its own, and ours comes last so that it counts.
pub(super) fn merged(poweroff: bool, text: Option<&str>) -> Option<String> {
    match (text.filter(|text| !text.trim().is_empty()), poweroff) {
        (Some(text), false) => Some(text.to_owned()),
        (None, true) => Some(POWER_OFF.to_owned()),
        (Some(text), true) => Some(in_parts(text)),
        (None, false) => None,
    }
}

fn in_parts(text: &str) -> String {
    // Made from the text, so that every try sends the same; no text holds its own digest.
    let digest = Sha256::digest(text.as_bytes());
    let boundary = digest.iter().take(12).fold(0, |number, byte| number << 8 | u128::from(*byte));
    let boundary = format!("{boundary:024x}");
    let ours = part("text/cloud-config", POWER_OFF);
    let theirs = if is_message(text) { text.to_owned() } else { part(kind_of(text), text) };
    format!(
        "Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n\
         --{boundary}\n{theirs}\n--{boundary}\n{ours}\n--{boundary}--\n"
    )
}

fn part(kind: &str, text: &str) -> String {
    format!(
        "Content-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: 8bit\n\n{text}"
    )
}

/// It brings its own headers, and becomes a part as it is.
fn is_message(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default().to_ascii_lowercase();
    first.starts_with("content-type:") || first.starts_with("mime-version:")
}

/// By its first line, as cloud-init tells them apart.
fn kind_of(text: &str) -> &'static str {
    let first = text.lines().next().unwrap_or_default();
    for (start, kind) in [
        ("#!", "text/x-shellscript"),
        ("#cloud-config-archive", "text/cloud-config-archive"),
        ("#cloud-config", "text/cloud-config"),
        ("#cloud-boothook", "text/cloud-boothook"),
        ("#include-once", "text/x-include-once-url"),
        ("#include", "text/x-include-url"),
        ("#part-handler", "text/part-handler"),
        ("## template: jinja", "text/jinja2"),
    ] {
        if first.starts_with(start) {
            return kind;
        }
    }
    "text/plain"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_alone_stays_as_it_is() {
        assert_eq!(merged(false, Some("#!/bin/sh\necho hi\n")).as_deref(), Some("#!/bin/sh\necho hi\n"));
        assert_eq!(merged(true, None).as_deref(), Some(POWER_OFF));
        assert_eq!(merged(true, Some("  \n")).as_deref(), Some(POWER_OFF));
        assert_eq!(merged(false, None), None);
    }

    #[test]
    fn two_texts_become_two_parts_with_ours_last() {
        let script = "#!/bin/sh\necho ä\n";
        let both = merged(true, Some(script)).unwrap();
        let boundary = both.split('"').nth(1).unwrap();
        let parts: Vec<&str> = both.split(&format!("--{boundary}")).collect();
        assert_eq!(parts.len(), 4, "{both}");
        assert!(parts[0].starts_with("Content-Type: multipart/mixed"), "{both}");
        assert!(parts[1].contains("text/x-shellscript") && parts[1].contains(script), "{both}");
        assert!(parts[2].contains("text/cloud-config") && parts[2].contains(POWER_OFF), "{both}");
        assert_eq!(parts[3], "--\n");
        assert_eq!(merged(true, Some(script)).unwrap(), both, "the same in every try");
    }

    #[test]
    fn every_kind_of_text_is_called_by_its_name() {
        for (text, kind) in [
            ("#!/bin/sh", "text/x-shellscript"),
            ("#cloud-config\nusers: []", "text/cloud-config"),
            ("#cloud-config-archive\n- x", "text/cloud-config-archive"),
            ("#cloud-boothook\nx", "text/cloud-boothook"),
            ("#include\nhttps://a.example", "text/x-include-url"),
            ("## template: jinja\n#cloud-config", "text/jinja2"),
            ("hello", "text/plain"),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
        let own = "Content-Type: text/x-shellscript\n\n#!/bin/sh\n";
        assert!(
            merged(true, Some(own)).unwrap().contains(&format!("\n{own}\n--")),
            "headers are not repeated"
        );
    }
}
