//! The pages of the wizard, in their order.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Image,
    Where,
    Key,
    Review,
}

impl Step {
    pub(crate) const ALL: [Step; 4] = [Step::Image, Step::Where, Step::Key, Step::Review];

    /// As it is in addresses.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Step::Image => "image",
            Step::Where => "where",
            Step::Key => "key",
            Step::Review => "review",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Step::Image => "Image",
            Step::Where => "Account and instances",
            Step::Key => "Public key",
            Step::Review => "Review",
        }
    }

    pub(crate) fn named(slug: &str) -> Option<Step> {
        Step::ALL.into_iter().find(|step| step.slug() == slug)
    }

    pub(crate) fn next(self) -> Option<Step> {
        Step::ALL.into_iter().find(|step| *step > self)
    }

    pub(crate) fn back(self) -> Option<Step> {
        Step::ALL.into_iter().rev().find(|step| *step < self)
    }

    /// Where a field of the draft is asked for.
    pub(crate) fn of(field: &str) -> Step {
        match field {
            "image" | "compose_id" | "image_id" | "distribution" | "architecture" | "image_name"
            | "packages" | "users" | "user_name" | "user_key" => Step::Image,
            "key" | "pubkey_id" | "pubkey_name" | "pubkey_body" => Step::Key,
            "profile" | "later" | "detach" | "partial" => Step::Review,
            _ => Step::Where,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_lead_to_each_other_and_back() {
        for pair in Step::ALL.windows(2) {
            assert_eq!((pair[0].next(), pair[1].back()), (Some(pair[1]), Some(pair[0])));
        }
        assert_eq!((Step::Review.next(), Step::Image.back()), (None, None));
        assert_eq!(Step::named("where"), Some(Step::Where));
        assert_eq!(Step::named("nowhere"), None);
    }
}
