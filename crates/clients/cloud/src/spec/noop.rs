//! The provider that makes nothing.

use super::{BuildSpec, FormSpec, KeySpec, LegacyStep, NameSpec, ProviderSpec, Rule, TAG, whole};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "noop",
    title: "",
    number: 1,
    home: "nowhere",
    is_regional: false,
    region_of_image: false,
    split_zone: whole,
    instance_types: None,
    ssh_user: None,
    keys: KeySpec { accepts: |_| true, instead: "", are_uploaded: false },
    build: BuildSpec {
        image_types: &[],
        bytes_max: None,
        shared_account: None,
        architectures: &[],
        upload_options: &[],
        upload: |_| super::UploadOptions::new(),
        shares_with_us: false,
        image_id: |_| None,
    },
    names: NameSpec {
        image_id: Rule { fits: |_| false, message: "must be left out: the provider noop starts no image" },
        instance: TAG,
        launch_template: None,
    },
    source: None,
    form: FormSpec::NONE,
    parameters: &[],
    parts: &[],
    has_insights_script: false,
    legacy_steps: &[LegacyStep::Test],
};
