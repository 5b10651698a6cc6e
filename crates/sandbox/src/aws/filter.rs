//! Filters of Describe calls: all of them must fit, each by one of its values.

use super::call_error::AwsError;
use super::form::AwsForm;
use super::tags::Tags;

#[derive(Debug, Default)]
pub(super) struct Filters {
    filters: Vec<Filter>,
}

#[derive(Debug)]
struct Filter {
    name: String,
    values: Vec<String>,
}

impl Filters {
    /// A name that is not known is refused. Everything has tags, or none.
    pub(super) fn read(form: &mut AwsForm, known: &[&str]) -> Result<Self, AwsError> {
        let mut filters = Vec::new();
        for mut group in form.groups("Filter")? {
            let name = group.need("Name")?;
            let values = group.list("Value")?;
            group.finish()?;
            if !known.contains(&name.as_str()) && !name.starts_with("tag:") && name != "tag-key" {
                return Err(AwsError::invalid(format!("there is no filter {name:?}")));
            }
            if values.is_empty() {
                return Err(AwsError::invalid(format!("the filter {name:?} has no values")));
            }
            filters.push(Filter { name, values });
        }
        Ok(Filters { filters })
    }

    /// `attribute` gives what a thing has under the name of a filter.
    pub(super) fn fit(&self, tags: &Tags, attribute: impl Fn(&str) -> Option<String>) -> bool {
        self.filters.iter().all(|filter| {
            let is_wanted = |found: &str| filter.values.iter().any(|value| fits(value, found));
            match filter.name.as_str() {
                "tag-key" => tags.keys().any(|key| is_wanted(key)),
                name => match name.strip_prefix("tag:") {
                    Some(key) => tags.get(key).is_some_and(|value| is_wanted(value)),
                    None => attribute(name).is_some_and(|found| is_wanted(&found)),
                },
            }
        })
    }
}

/// `*` stands for any text and `?` for any character.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where the last star was, and how much of the text it has swallowed.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((star_at, swallowed)) = star else { return false };
                star = Some((star_at, swallowed + 1));
                at = star_at + 1;
                from = swallowed + 1;
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_others() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("?", "", false),
            ("t?.micro", "t3.micro", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn all_filters_must_fit_and_unknown_ones_are_refused() {
        let read = |text: &str| Filters::read(&mut AwsForm::parse(text.as_bytes()).unwrap(), &["id"]);
        let filters = read(
            "Filter.1.Name=tag:a&Filter.1.Value.1=x&Filter.1.Value.2=y&Filter.2.Name=id&Filter.2.Value.1=1",
        )
        .unwrap();
        let tags = |value: &str| Tags::from([("a".to_owned(), value.to_owned())]);
        let one = |_: &str| Some("1".to_owned());
        assert!(filters.fit(&tags("y"), one));
        assert!(!filters.fit(&tags("z"), one) && !filters.fit(&Tags::new(), one));
        assert!(!filters.fit(&tags("x"), |_| Some("2".to_owned())) && !filters.fit(&tags("x"), |_| None));
        assert!(read("Filter.1.Name=nope&Filter.1.Value.1=1").is_err());
        assert!(read("Filter.1.Name=id").is_err());
    }
}
