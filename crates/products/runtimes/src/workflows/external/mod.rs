//! Steps of runtime workflows that a service of another client does, as they were configured.

mod declared;
mod kept;
mod step;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::Plan;
use engine::prelude::*;
use external_step::ExternalService;

use self::declared::{Declared, Sees};
use self::step::ExternalStep;
use crate::clients::Clients;
use crate::model::{DEPROVISION, PROVISION, UPDATE};
use crate::workflows::deprovision::{self, Deprovision};
use crate::workflows::provision::{self, CREATE_RUNTIME, Provision};
use crate::workflows::shared::OnInstance;
use crate::workflows::update::{self, UPGRADE_RUNTIME, Update};

/// All steps that come from configuration.
#[derive(Debug, Default)]
pub struct ExternalSteps(Vec<Arc<External>>);

/// One of them.
#[derive(Debug)]
struct External {
    name: &'static str,
    title: &'static str,
    driver: &'static str,
    workflow: &'static str,
    weight: u16,
    sees: BTreeSet<Sees>,
    is_clean_up: bool,
    timeout: Duration,
    budget: Duration,
    service: ExternalService,
}

const FILE_BYTES_MAX: u64 = 1024 * 1024;

impl ExternalSteps {
    /// Reads and checks the list against the plans that these clients lead to. A path in it is relative to the directory
    /// of the list.
    pub fn load(path: &Path, clients: &Clients) -> Result<ExternalSteps, String> {
        let dir = path.parent().unwrap_or(Path::new(""));
        let clients = Clients { external: Arc::default(), ..clients.clone() };
        let tables = [
            (PROVISION, provision::plan(&clients).describe()),
            (UPDATE, update::plan(&clients).describe()),
            (DEPROVISION, deprovision::plan(&clients).describe()),
        ];
        let steps = declared::parse(&read(path)?, &tables)?.into_iter().map(|one| {
            let name = one.name.clone();
            External::new(one, dir).map(Arc::new).map_err(|error| format!("step {name}: {error}"))
        });
        Ok(ExternalSteps(steps.collect::<Result<_, String>>()?))
    }

    /// Puts the steps of this workflow into its table.
    pub(crate) fn join<W: Extensible>(&self, mut plan: Plan<W>) -> Plan<W> {
        for external in self.0.iter().filter(|one| one.workflow == W::KIND) {
            let step = ExternalStep::new(Arc::clone(external));
            plan = if external.is_clean_up {
                plan.insert_clean_up(external.weight, step)
            } else {
                plan.insert(external.weight, step)
            };
        }
        plan
    }
}

impl External {
    fn new(declared: Declared, dir: &Path) -> Result<External, String> {
        let secret = declared.secret.read(dir)?;
        // Names in the journal live as long as the program; the list is read once.
        let driver: &'static str = Box::leak(format!("external:{}", declared.name).into_boxed_str());
        let title = Box::leak(format!("Calling the external step {}", declared.name).into_boxed_str());
        let service = ExternalService::new(driver, &declared.url, secret, declared.timeout);
        Ok(External {
            name: driver.trim_start_matches("external:"),
            title,
            driver,
            workflow: declared.workflow,
            weight: declared.weight,
            sees: declared.sees,
            is_clean_up: declared.is_clean_up,
            timeout: declared.timeout,
            budget: declared.budget,
            service: service.map_err(|error| error.to_string())?,
        })
    }
}

/// A workflow that takes steps from outside.
pub(crate) trait Extensible: OnInstance {
    /// The weight of the step that takes the overrides, if there is one.
    const TAKES_OVERRIDES: Option<u16>;

    /// Parameters and context that are to be, where they differ from the record.
    fn wanted(_op: &Operation<Self>) -> (Option<&Sealed>, Option<&Sealed>)
    where
        Self: Sized,
    {
        (None, None)
    }

    /// Whether an operator wants the end, whatever steps of others say.
    fn is_forced(_params: &Self::Params) -> bool {
        false
    }
}

impl Extensible for Provision {
    const TAKES_OVERRIDES: Option<u16> = Some(CREATE_RUNTIME);
}

impl Extensible for Update {
    const TAKES_OVERRIDES: Option<u16> = Some(UPGRADE_RUNTIME);

    fn wanted(op: &Operation<Update>) -> (Option<&Sealed>, Option<&Sealed>) {
        (op.params.parameters.as_ref(), op.params.context.as_ref())
    }
}

impl Extensible for Deprovision {
    const TAKES_OVERRIDES: Option<u16> = None;

    fn is_forced(params: &Self::Params) -> bool {
        params.force
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let mut limited = file.take(FILE_BYTES_MAX + 1);
    limited.read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    if limited.limit() == 0 {
        return Err(format!("is longer than {FILE_BYTES_MAX} bytes"));
    }
    Ok(text)
}
