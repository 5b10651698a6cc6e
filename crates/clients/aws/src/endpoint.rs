//! The address of a service in a region.

use cloud::{Category, CloudError};
use http_client::DriverError;
use reqwest::Url;

use super::SYSTEM;

const REGION_CHARS_MAX: usize = 32;
const NO_REGION: &str = "a region is written like us-east-1: small letters, digits and hyphens";
const PLACEHOLDER: &str = "{region}";

/// The name of a region. It becomes a part of a host name, so it must not be able to name another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region(String);

impl Region {
    pub(super) fn parse(text: &str) -> Result<Region, CloudError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_one = (1..=REGION_CHARS_MAX).contains(&text.len())
            && text.bytes().all(fits)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if is_one { Ok(Region(text.to_owned())) } else { Err(invalid(NO_REGION)) }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pattern: String,
}

impl Endpoint {
    /// Checks the address with the region in it that will be asked the most.
    pub(super) fn new(pattern: &str, home: &Region) -> Result<Endpoint, DriverError> {
        let url = SYSTEM.url(&pattern.replace(PLACEHOLDER, home.as_str()))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(SYSTEM.refused("its url must end with the path"));
        }
        Ok(Endpoint { pattern: pattern.to_owned() })
    }

    pub(super) fn url(&self, region: &Region) -> Result<Url, CloudError> {
        let url = SYSTEM.url(&self.pattern.replace(PLACEHOLDER, region.as_str()));
        url.map_err(|error| invalid(&error.to_string()))
    }
}

fn invalid(message: &str) -> CloudError {
    CloudError::new(Category::Invalid, "InvalidRegion", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(text: &str) -> Region {
        Region::parse(text).unwrap()
    }

    #[test]
    fn the_region_stands_in_the_host_or_in_the_path() {
        let real = Endpoint::new("https://ec2.{region}.amazonaws.com", &region("us-east-1")).unwrap();
        let url = real.url(&region("eu-central-1")).unwrap();
        assert_eq!(url.as_str(), "https://ec2.eu-central-1.amazonaws.com/");
        let near = Endpoint::new("http://127.0.0.1:7/aws/ec2/{region}", &region("us-east-1")).unwrap();
        assert_eq!(near.url(&region("us-gov-west-1")).unwrap().path(), "/aws/ec2/us-gov-west-1");
    }

    #[test]
    fn a_region_cannot_name_another_host() {
        for text in
            ["", "evil.example", "a/b", "a#", "a?b", "a@b", "a:1", "A", "-a", "a-", "ä", &"a".repeat(33)]
        {
            let error = Region::parse(text).unwrap_err();
            assert_eq!((error.category, error.code.as_str()), (Category::Invalid, "InvalidRegion"), "{text}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_refused() {
        for text in
            ["ftp://ec2", "ec2.amazonaws.com", "https://a:b@ec2", "https://ec2/?a=b", "https://ec2/#a"]
        {
            assert!(Endpoint::new(text, &region("us-east-1")).is_err(), "{text}");
        }
    }
}
