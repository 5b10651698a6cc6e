//! Pages of long answers: how many things are wanted, and after which one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::call_error::AwsError;
use super::form::AwsForm;

#[derive(Debug, Clone, Copy)]
pub(super) struct ResultPage {
    most: usize,
    after: Option<u64>,
}

impl ResultPage {
    /// `range` is what callers may ask for, and its end is what they get who do not ask. The sandbox can be
    /// told to give less.
    pub(super) fn read(
        form: &mut AwsForm,
        range: std::ops::RangeInclusive<usize>,
        limit: Option<usize>,
    ) -> Result<Self, AwsError> {
        let asked = form.number("MaxResults")?;
        if asked.is_some_and(|most| !range.contains(&most)) {
            let (least, most) = range.into_inner();
            return Err(AwsError::invalid(format!("MaxResults must be between {least} and {most}")));
        }
        let after = form.take("NextToken").map(|token| read_token(&token)).transpose()?;
        let most = asked.unwrap_or(*range.end());
        Ok(ResultPage { most: limit.map_or(most, |limit| most.min(limit)), after })
    }

    /// One page of what comes in the order of its numbers, and how to ask for the next one.
    pub(super) fn cut<T>(self, numbered: impl Iterator<Item = (u64, T)>) -> (Vec<T>, Option<String>) {
        let mut rest = numbered.filter(|(number, _)| self.after.is_none_or(|after| *number > after));
        let mut last = 0;
        let mut taken = Vec::new();
        for (number, thing) in rest.by_ref().take(self.most) {
            last = number;
            taken.push(thing);
        }
        let next = rest.next().map(|_| URL_SAFE_NO_PAD.encode(format!("after {last}")));
        (taken, next)
    }
}

fn read_token(token: &str) -> Result<u64, AwsError> {
    let decoded = URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let number = decoded.and_then(|text| text.strip_prefix("after ")?.parse().ok());
    number.ok_or_else(|| AwsError::new("InvalidNextToken", "there is no such page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_one_after_the_other_are_everything() {
        let things = [(2, 'a'), (3, 'b'), (7, 'c'), (9, 'd'), (10, 'e')];
        let (mut seen, mut token, mut pages) = (Vec::new(), None, 0);
        loop {
            let text = token.map_or_else(String::new, |token| format!("NextToken={token}"));
            let mut form = AwsForm::parse(text.as_bytes()).unwrap();
            let (page, next) = ResultPage::read(&mut form, 1..=100, Some(2)).unwrap().cut(things.into_iter());
            pages += 1;
            seen.extend(page);
            token = next;
            if token.is_none() {
                break;
            }
        }
        assert_eq!((seen.iter().collect::<String>().as_str(), pages), ("abcde", 3));
        let refused = |text: &str| {
            ResultPage::read(&mut AwsForm::parse(text.as_bytes()).unwrap(), 5..=9, None).unwrap_err()
        };
        assert_eq!(refused("NextToken=x").code, "InvalidNextToken");
        assert_eq!(refused("MaxResults=4").code, "InvalidParameterValue");
    }
}
