//! The pages of the wizard, in their order.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WizardStep {
    Image,
    Where,
    Key,
    Review,
}

impl WizardStep {
    pub(crate) const ALL: [WizardStep; 4] =
        [WizardStep::Image, WizardStep::Where, WizardStep::Key, WizardStep::Review];

    /// As it is in addresses.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            WizardStep::Image => "image",
            WizardStep::Where => "where",
            WizardStep::Key => "key",
            WizardStep::Review => "review",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            WizardStep::Image => "Image",
            WizardStep::Where => "Account and instances",
            WizardStep::Key => "Public key",
            WizardStep::Review => "Review",
        }
    }

    pub(crate) fn named(slug: &str) -> Option<WizardStep> {
        WizardStep::ALL.into_iter().find(|step| step.slug() == slug)
    }

    pub(crate) fn next(self) -> Option<WizardStep> {
        WizardStep::ALL.into_iter().find(|step| *step > self)
    }

    pub(crate) fn back(self) -> Option<WizardStep> {
        WizardStep::ALL.into_iter().rev().find(|step| *step < self)
    }

    /// Where a field of the draft is asked for.
    pub(crate) fn of(field: &str) -> WizardStep {
        match field {
            "provider" | "image" | "compose_id" | "image_id" | "distribution" | "architecture"
            | "image_name" | "packages" | "users" | "user_name" | "user_key" => WizardStep::Image,
            "key" | "pubkey_id" | "pubkey_name" | "pubkey_body" => WizardStep::Key,
            "profile" | "later" | "detach" | "partial" => WizardStep::Review,
            _ => WizardStep::Where,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_lead_to_each_other_and_back() {
        for pair in WizardStep::ALL.windows(2) {
            assert_eq!((pair[0].next(), pair[1].back()), (Some(pair[1]), Some(pair[0])));
        }
        assert_eq!((WizardStep::Review.next(), WizardStep::Image.back()), (None, None));
        assert_eq!(WizardStep::named("where"), Some(WizardStep::Where));
        assert_eq!(WizardStep::named("nowhere"), None);
    }
}
