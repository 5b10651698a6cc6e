use super::*;

const ANSWER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <requestId>8f7724cf</requestId>
    <set><item><name> a &lt;&amp;&#228; </name><count>7</count></item><other/><item><name/></item></set>
    <word><![CDATA[x < y]]></word>
</DescribeInstancesResponse>"#;

#[test]
fn elements_are_found_by_their_paths() {
    let answer = read(ANSWER).unwrap();
    assert_eq!(answer.name, "DescribeInstancesResponse");
    assert_eq!(answer.text("requestId"), Some("8f7724cf"));
    assert_eq!(answer.text("set/item/name"), Some("a <&ä"));
    assert_eq!(answer.text("word"), Some("x < y"));
    assert_eq!(answer.number::<u32>("set/item/count"), Ok(7));
    assert_eq!(answer.text("set/name"), None);
    let items: Vec<&Element> = answer.items("set").collect();
    assert_eq!(items.len(), 2);
    assert_eq!(items[1].maybe_word("name"), Ok(None));
    assert_eq!(items[1].word("name"), Err(ResponseXmlError::Part("name")));
    assert_eq!(answer.items("nothing").count(), 0);
}

#[test]
fn what_is_no_word_is_not_taken_for_one() {
    for text in ["a\nb", "a&#9;b", &"x".repeat(256)] {
        let answer = read(&format!("<a><b>{text}</b></a>")).unwrap();
        assert_eq!(answer.maybe_word("b"), Err(ResponseXmlError::Part("b")), "{text:?}");
    }
    let answer = read(&format!("<a><b>{}</b></a>", "x".repeat(255))).unwrap();
    assert_eq!(answer.word("b").unwrap().len(), 255);
}

#[test]
fn what_is_no_number_is_not_taken_for_one() {
    for text in ["x", "-1", "4294967296", "1.5"] {
        let answer = read(&format!("<a><b>{text}</b></a>")).unwrap();
        assert_eq!(answer.number::<u32>("b"), Err(ResponseXmlError::Part("b")), "{text}");
        assert_eq!(answer.maybe_number::<u32>("b"), Err(ResponseXmlError::Part("b")), "{text}");
    }
}

#[test]
fn an_answer_is_never_quoted() {
    for text in ["<secret", "<a><secret/></b>", "<a>&secret;</a>", "secret"] {
        let error = CloudError::from(read(text).unwrap_err());
        assert_eq!(error.category, Category::Upstream);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
