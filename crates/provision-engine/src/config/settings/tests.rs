use super::*;

#[test]
fn every_path_is_written_once_and_explained() {
    for (index, setting) in SETTINGS.iter().enumerate() {
        assert!(SETTINGS[index + 1..].iter().all(|other| other.path != setting.path), "{}", setting.path);
        assert!(setting.doc.ends_with('.'), "{}", setting.path);
        assert!(
            setting.path.chars().all(|c| c.is_ascii_lowercase() || "._*".contains(c)),
            "{}",
            setting.path
        );
    }
}

#[test]
fn a_name_stands_for_the_star_but_not_for_two_levels() {
    let leaf = |path| match shape(path) {
        Shape::Leaf(setting) => setting.path,
        _ => "none",
    };
    assert_eq!(leaf("engine.limits.greeter"), "engine.limits.*");
    assert_eq!(leaf("engine.limits.default"), "engine.limits.default");
    assert!(matches!(shape("engine.limits"), Shape::Section));
    assert!(matches!(shape("engine.limits."), Shape::Unknown));
    assert!(matches!(shape("engine.limits.a.b"), Shape::Unknown));
    assert!(matches!(shape("eng"), Shape::Unknown));
}
