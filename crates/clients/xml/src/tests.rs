use super::*;

const LIMITS: XmlLimits = XmlLimits { elements: 600_000, name_bytes: 128 };
const ANSWER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <requestId>8f7724cf</requestId>
    <set><item><name> a &lt;&amp;&#228; </name><count>7</count></item><other/><item><name/></item></set>
    <word><![CDATA[x < y]]></word>
</DescribeInstancesResponse>"#;

fn read(text: &str) -> Result<Element, XmlError> {
    super::read(text, LIMITS)
}

#[test]
fn the_characters_of_text_come_back() {
    let written = "a<b>&\"c\"'d'\r\n\tä";
    let mut text = String::new();
    escape(written, &mut text);
    assert_eq!(read(&format!("<a>{text}</a>")).unwrap().text, written);
}

#[test]
fn elements_are_found_by_their_paths() {
    let answer = read(ANSWER).unwrap();
    assert_eq!(answer.at("set/item/count").map(|count| count.text.as_str()), Some("7"));
    assert_eq!(answer.at(""), Some(&answer));
    assert_eq!(answer.at("set/name"), None);
    assert_eq!(answer.child("set").map(|set| set.children("item").count()), Some(2));
}

#[test]
fn what_is_not_whole_is_not_read() {
    assert!(read(ANSWER).is_ok());
    let end = ANSWER.len() - 1;
    for end in (0..=end).filter(|end| ANSWER.is_char_boundary(*end)) {
        assert!(read(&ANSWER[..end]).is_err(), "{end}");
    }
    for text in ["", "x", "<a/><b/>", "<a></b>", "<a/>x", "x<a/>", "</a>", "<1/>", "<!-- <a/> -->"] {
        assert!(matches!(read(text), Err(XmlError::Malformed(_))), "{text}: {:?}", read(text));
    }
}

#[test]
fn what_is_too_deep_or_too_much_is_not_read() {
    let deep = |levels| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert!(read(&deep(DEPTH_MAX)).is_ok());
    assert_eq!(read(&deep(DEPTH_MAX + 1)), Err(XmlError::TooDeep));
    assert_eq!(read(&"<a>".repeat(200_000)), Err(XmlError::TooDeep));
    let wide = |elements| format!("<a>{}</a>", "<b/>".repeat(elements - 1));
    assert!(read(&wide(LIMITS.elements)).is_ok());
    assert_eq!(read(&wide(LIMITS.elements + 1)), Err(XmlError::TooMany(LIMITS.elements)));
    assert!(read(&format!("<{}/>", "a".repeat(LIMITS.name_bytes))).is_ok());
    assert!(read(&format!("<{}/>", "a".repeat(LIMITS.name_bytes + 1))).is_err());
}

#[test]
fn no_document_type_and_no_entity_of_its_own_is_read() {
    for text in [
        "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>",
        "<a>&lol;</a>",
        "<a>&#x110000;</a>",
        "<a>&#xd800;</a>",
    ] {
        assert!(
            matches!(read(text), Err(XmlError::DocType | XmlError::Entity(_))),
            "{text}: {:?}",
            read(text)
        );
    }
}
