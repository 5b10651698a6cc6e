//! Overrides that operators keep in labelled files or objects, for the plan and the version.

use engine::prelude::*;

use super::OnInstance;
use crate::model::override_source::OverrideSource;
use crate::model::settings::RuntimesSettings;

pub(crate) struct OverridesFrom {
    pub(crate) source: Arc<dyn OverrideSource>,
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

#[async_trait]
impl<W: OnInstance> Step<W> for OverridesFrom {
    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn title(&self) -> &'static str {
        self.source.title()
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        self.source.driver()
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
