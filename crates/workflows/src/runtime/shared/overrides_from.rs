//! Overrides that operators keep in labelled files or objects, for the plan and the version.

use engine::prelude::*;

use super::OnInstance;
use crate::runtime::override_source::OverrideSource;
use crate::runtime::settings::Runtimes;

pub(in crate::runtime) struct OverridesFrom {
    name: &'static str,
    title: &'static str,
    driver: Option<&'static str>,
    source: Arc<dyn OverrideSource>,
    runtimes: Arc<Runtimes>,
}

impl OverridesFrom {
    pub(in crate::runtime) fn files(
        source: Arc<dyn OverrideSource>,
        runtimes: &Arc<Runtimes>,
    ) -> OverridesFrom {
        OverridesFrom {
            name: "overrides_from_files",
            title: "Reading overrides from files",
            driver: None,
            source,
            runtimes: Arc::clone(runtimes),
        }
    }

    pub(in crate::runtime) fn objects(
        source: Arc<dyn OverrideSource>,
        runtimes: &Arc<Runtimes>,
    ) -> OverridesFrom {
        OverridesFrom {
            name: "overrides_from_objects",
            title: "Reading overrides from labelled objects",
            driver: Some("kubernetes"),
            source,
            runtimes: Arc::clone(runtimes),
        }
    }
}

#[async_trait]
impl<W: OnInstance> Step<W> for OverridesFrom {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        self.driver
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let plan = &op.input.instance()?.plan;
        let version = op.input.parameters.kyma_version.as_ref().unwrap_or(&self.runtimes.kyma_version);
        let sets = self.source.overrides(plan, version).await?;
        for set in sets {
            match set.component {
                Some(component) => op.input.overrides.append(&component, set.entries),
                None => op.input.overrides.append_global(set.entries),
            }
        }
        done()
    }
}
