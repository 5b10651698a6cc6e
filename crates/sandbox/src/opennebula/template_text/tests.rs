use super::*;

/// What an engine sends, with `%` in place of what it adds; the line numbers below count on it.
const SENT: &str = r#"HOT_RESIZE=[CPU_HOT_ADD_ENABLED=YES,
MEMORY_HOT_ADD_ENABLED=YES]
MEMORY_RESIZE_MODE=BALLOONING
DISK=[IMAGE="function-image",
IMAGE_UNAME="oneadmin",
SIZE="1024"]
CPU=1
VCPU=1
MEMORY=128
VCPU_MAX=2
MEMORY_MAX=256
CONTEXT=[NETWORK="YES",
SSH_PUBLIC_KEY="$USER[SSH_PUBLIC_KEY]",
SR_AUTH="Y29nbml0OmNvZ25pdHBhc3M=
"]
%FLAVOURS="0""#;

fn sent(added: &str) -> Result<TemplateText, String> {
    parse(&SENT.replace('%', added), Release::Six)
}

fn vector(template: &TemplateText, name: &str) -> Vec<(String, String)> {
    let vector = template.vectors(name).next().unwrap_or_else(|| panic!("no {name}"));
    vector.clone().into_iter().collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn what_an_engine_sends_is_understood() {
    let template = sent("").unwrap();
    assert_eq!(template.get("VCPU"), Some("1"));
    assert_eq!(template.get("FLAVOURS"), Some("0"));
    let context = vector(&template, "CONTEXT");
    assert_eq!(context[1], pair("SR_AUTH", "Y29nbml0OmNvZ25pdHBhc3M=\n"));
    assert_eq!(context[2], pair("SSH_PUBLIC_KEY", "$USER[SSH_PUBLIC_KEY]"));
    let names: Vec<&str> = template.iter().map(|attribute| attribute.name.as_str()).collect();
    assert!(names.is_sorted());
}

/// Both texts were recorded from a real oned.
#[test]
fn errors_have_the_words_and_places_of_the_real_one() {
    let quotes = "SCHED_REQUIREMENTS=\"ARCH=\"X86_64\"\"\n";
    let why = "Parse error: syntax error, unexpected VARIABLE, expecting EQUAL or EQUAL_EMPTY at line 16, \
               columns 349:357";
    assert_eq!(sent(quotes).unwrap_err(), why);
    let bracket = "DEVICE_INFO=[GEOGRAPHIC_LOCATION=\"x\"]\nMEMORY=7\nFOO=\"bar\"]\n";
    let why = "Parse error: syntax error, unexpected CBRACKET, expecting $end at line 18, columns 370:372";
    assert_eq!(sent(bracket).unwrap_err(), why);
}

#[test]
fn a_value_that_leaves_its_quotation_adds_attributes() {
    let template = sent("DEVICE_INFO=[GEOGRAPHIC_LOCATION=\"x\"]\nINJECTED=[A=\"bar\"]\nMEMORY=7\n").unwrap();
    assert_eq!(vector(&template, "INJECTED"), [pair("A", "bar")]);
    // Both are kept, and the first one counts.
    assert_eq!(template.get("MEMORY"), Some("128"));
    assert_eq!(template.iter().filter(|attribute| attribute.name == "MEMORY").count(), 2);
}

#[test]
fn a_quotation_ends_at_the_first_mark_without_a_backslash() {
    let one = |text: &str| parse(text, Release::Six).unwrap().get("A").unwrap().to_owned();
    assert_eq!(one(r#"A="a \"b\" c""#), r#"a "b" c"#);
    assert_eq!(one("A=\"two\nlines, [all] = of # it\""), "two\nlines, [all] = of # it");
    assert_eq!(one("A=\"\""), "");
    // The last backslash belongs to the value only where no other mark follows.
    assert_eq!(one("A=\"a\\\""), "a\\");
    let stolen = parse("A=\"a\\\"\nB=\" C=1", Release::Six).unwrap();
    assert_eq!((stolen.get("A"), stolen.has("B"), stolen.get("C")), (Some("a\"\nB="), false, Some("1")));
    // Not a quotation, because the bare word is longer.
    assert_eq!(one("A=\"x\"y"), "\"x\"y");
}

#[test]
fn names_blanks_and_comments() {
    let template = parse(
        "# a comment\n a1 = b \n\n  # another\nE=\nV = [ k = v ,\n K = w, l=\"\" ]\nF=[]\n",
        Release::Six,
    )
    .unwrap();
    assert_eq!((template.get("A1"), template.get("E")), (Some("b"), Some("")));
    assert_eq!(vector(&template, "V"), [pair("K", "v"), pair("L", "")]);
    assert_eq!(vector(&template, "F"), []);
    assert_eq!(parse("", Release::Six).unwrap(), TemplateText::default());
}

#[test]
fn what_is_no_template_says_where_it_ends() {
    let check = |text: &str, why: &str| {
        assert_eq!(parse(text, Release::Six).unwrap_err(), format!("Parse error{why}"), "{text}");
    };
    check(
        "CPU=1\nVCPU=",
        ": syntax error, unexpected $end, expecting OBRACKET or CCDATA or STRING at line 1, columns 11:12",
    );
    check("=1", ": syntax error, unexpected EQUAL, expecting $end at line 0, columns 1:2");
    check("A=[B]", ": syntax error, unexpected CBRACKET, expecting EQUAL at line 0, columns 5:6");
    check(
        "A=[B=1 C=2]",
        ": syntax error, unexpected VARIABLE, expecting COMMA or CBRACKET at line 0, columns 8:9",
    );
    check("A=[B=1,]", ": syntax error, unexpected CBRACKET, expecting VARIABLE at line 0, columns 8:9");
    check("A=\"]]>\"", ".");
    check("<A", ": XML Template malformed.");
}
