//! The text for the first start of an instance: what its owner wrote, and what the server adds.

use cloud::ProviderKind;
use sha2::{Digest, Sha256};

use super::admit::USER_DATA_BYTES_MAX;
use super::api_error::Flaw;
use super::params::RequestedParameters;
use super::settings::LaunchSettings;

/// Switches an instance off a minute after its first start.
const POWER_OFF: &str = "#cloud-config\npower_state:\n  delay: 1\n  mode: poweroff\n";

/// What the server adds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Additions<'a> {
    pub(crate) poweroff: bool,
    /// The reservation that Insights shows as a tag of the host; `None` where no script writes tags.
    pub(crate) insights: Option<&'a str>,
}

impl<'a> Additions<'a> {
    pub(crate) fn of(
        settings: &LaunchSettings,
        provider: ProviderKind,
        poweroff: bool,
        reservation: &'a str,
    ) -> Additions<'a> {
        let has_tags = settings.insights_tags && provider.spec().has_insights_script;
        Additions { poweroff, insights: has_tags.then_some(reservation) }
    }
}

/// All texts in one. Where there are several, each is a part of its own, and ours come last. The script is a part of its
/// own kind, so that it takes nothing from the commands and files of the owner's cloud-config.
pub(crate) fn merged(text: Option<&str>, additions: Additions<'_>) -> Option<String> {
    let theirs = text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let script = additions.insights.map(insights_script);
    let power_off = additions.poweroff.then(|| POWER_OFF.to_owned());
    let mut all: Vec<String> = [theirs, script, power_off].into_iter().flatten().collect();
    match all.len() {
        0 | 1 => all.pop(),
        _ => Some(in_parts(&all)),
    }
}

/// Whether the text of the owner and what the server adds are too long together.
pub(crate) fn check(
    settings: &LaunchSettings,
    provider: ProviderKind,
    asked: &RequestedParameters,
) -> Option<Flaw> {
    let text = asked.user_data.as_deref()?;
    let reservation = super::reservation_tag(&i64::MAX.to_string(), settings);
    let additions = Additions::of(settings, provider, asked.plain.poweroff, &reservation);
    let bytes = merged(Some(text), additions)?.len();
    // One that is too long by itself is refused in other words.
    if bytes <= USER_DATA_BYTES_MAX || text.len() > USER_DATA_BYTES_MAX {
        return None;
    }
    let most = USER_DATA_BYTES_MAX.saturating_sub(bytes - text.len());
    let message = format!(
        "must have at most {most} bytes: an instance takes {USER_DATA_BYTES_MAX}, and the server adds the rest"
    );
    Some(Flaw::new("user_data", message).hint("fetch larger files when the instance starts"))
}

/// Writes the tags that Insights shows in Inventory, when the host is registered there. It asks the instance's own
/// metadata for what is not known before its first start.
fn insights_script(reservation: &str) -> String {
    format!(
        r#"#!/bin/sh
# Tags of this host in Red Hat Insights.
metadata=http://169.254.169.254/latest
ask() {{ curl -sf --connect-timeout 5 --max-time 20 "$@"; }}
token=$(ask -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' $metadata/api/token)
look() {{ ask -H "X-aws-ec2-metadata-token: $token" $metadata/meta-data/$1; }}
tag() {{ [ -z "$2" ] || echo "$1: $2"; }}
mkdir -p /etc/insights-client
{{
  echo '---'
  tag rh-rid '{reservation}'
  tag 'Public hostname' "$(look public-hostname)"
  tag 'Public IPv4' "$(look public-ipv4)"
}} >/etc/insights-client/tags.yaml
"#
    )
}

fn in_parts(all: &[String]) -> String {
    // Made from the texts, so that every try sends the same; no text holds its own digest.
    let digest = all.iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    let boundary = digest.iter().take(12).fold(0, |number, byte| number << 8 | u128::from(*byte));
    let boundary = format!("{boundary:024x}");
    let begin = format!("--{boundary}\n");
    let parts: Vec<String> = all.iter().map(|text| as_part(text)).collect();
    let parts = parts.join(&format!("\n{begin}"));
    format!(
        "Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n\
         {begin}{parts}\n--{boundary}--\n"
    )
}

fn as_part(text: &str) -> String {
    if is_message(text) { text.to_owned() } else { part(kind_of(text), text) }
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

    const OFF: Additions<'_> = Additions { poweroff: true, insights: None };
    const TAGS: Additions<'_> = Additions { poweroff: false, insights: Some("r-7") };
    const BOTH: Additions<'_> = Additions { poweroff: true, insights: Some("r-7") };

    #[test]
    fn a_text_alone_stays_as_it_is() {
        let none = Additions::default();
        assert_eq!(merged(Some("#!/bin/sh\necho hi\n"), none).as_deref(), Some("#!/bin/sh\necho hi\n"));
        assert_eq!(merged(None, OFF).as_deref(), Some(POWER_OFF));
        assert_eq!(merged(Some("  \n"), OFF).as_deref(), Some(POWER_OFF));
        assert_eq!(merged(None, none), None);
        let script = merged(None, TAGS).unwrap();
        assert!(script.starts_with("#!/bin/sh\n") && script.contains("tag rh-rid 'r-7'"), "{script}");
    }

    #[test]
    fn several_texts_become_parts_with_ours_last() {
        let config = "#cloud-config\nruncmd: [echo ä]\n";
        for (additions, ours) in [
            (OFF, &["text/cloud-config"][..]),
            (TAGS, &["text/x-shellscript"]),
            (BOTH, &["text/x-shellscript", "text/cloud-config"]),
        ] {
            let all = merged(Some(config), additions).unwrap();
            let boundary = all.split('"').nth(1).unwrap();
            let parts: Vec<&str> = all.split(&format!("--{boundary}")).collect();
            assert_eq!(parts.len(), 3 + ours.len(), "{all}");
            assert!(parts[0].starts_with("Content-Type: multipart/mixed"), "{all}");
            assert!(parts[1].contains("text/cloud-config") && parts[1].contains(config), "{all}");
            for (part, kind) in parts[2..].iter().zip(ours) {
                assert!(part.contains(&format!("Content-Type: {kind};")), "{all}");
            }
            assert_eq!(parts[parts.len() - 1], "--\n");
            assert_eq!(merged(Some(config), additions).unwrap(), all, "the same in every try");
        }
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
            merged(Some(own), OFF).unwrap().contains(&format!("\n{own}\n--")),
            "headers are not repeated"
        );
    }

    #[test]
    fn what_does_not_fit_with_what_the_server_adds_is_refused() {
        let settings = LaunchSettings::default();
        let asked = |bytes: usize| {
            let text = format!("#!/bin/sh\n{}", "x".repeat(bytes - 10));
            let plain = serde_json::json!({"source_id": "1", "region": "us-east-1", "amount": 1});
            RequestedParameters { plain: serde_json::from_value(plain).unwrap(), user_data: Some(text) }
        };
        let most = (1..=USER_DATA_BYTES_MAX)
            .rev()
            .find(|bytes| *bytes >= 10 && check(&settings, ProviderKind::Aws, &asked(*bytes)).is_none());
        let most = most.unwrap();
        assert!((15_000..16_000).contains(&most), "{most}");
        let field_error = check(&settings, ProviderKind::Aws, &asked(most + 1)).unwrap();
        assert!(
            field_error.field == "user_data" && field_error.message.contains(&most.to_string()),
            "{field_error:?}"
        );
        assert!(check(&settings, ProviderKind::Gcp, &asked(USER_DATA_BYTES_MAX)).is_none());
        let off = LaunchSettings { insights_tags: false, ..settings };
        assert!(check(&off, ProviderKind::Aws, &asked(USER_DATA_BYTES_MAX)).is_none());
    }
}
