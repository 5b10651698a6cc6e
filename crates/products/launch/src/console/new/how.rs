//! How a launch learns that the image is ready.

pub(crate) struct BuildOption {
    pub(crate) profile: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const WAYS: [BuildOption; 4] = [
    BuildOption {
        profile: "wizard",
        title: "Look for it, and show it here",
        about: "The engine asks the Image Builder every few seconds. You follow every step on the page of the launch. \
                Choose this if you are not sure.",
    },
    BuildOption {
        profile: "inventory",
        title: "Look for it, and show it in the inventory",
        about: "The same, for instances that you expect to find in the inventory.",
    },
    BuildOption {
        profile: "images",
        title: "Wait for a callback",
        about: "Image Builder reports when the image is ready. The launch does not poll in between. The list of \
                images shows the launch.",
    },
    BuildOption {
        profile: "events",
        title: "Wait for a message in Kafka",
        about: "A message says when the image is ready, and the engine looks every minute in case it is lost. The \
                inventory shows the launch.",
    },
];
