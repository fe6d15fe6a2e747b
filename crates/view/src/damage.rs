//! Check of all checksums, by one thread in sample order.
use crate::{
    answer::{Answer, Failure},
    worker,
};
use fdconvert_core::{Ahead, Reader};
use fdconvert_pipeline::Cancel;
use fdconvert_storage::sigbus;
use serde_json::{Value as Json, json};
use std::sync::{
    Arc, Mutex, MutexGuard, Once, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Number of damaged samples listed with their cause.
const TOLD: usize = 1000;

/// Number of samples announced together, for a dataset in a store.
const BLOCK: u64 = 64;

/// Damaged samples found so far.
pub(crate) struct Damage {
    reader: Arc<dyn Reader>,
    begun: Once,
    checked: AtomicU64,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// In ascending order.
    damaged: Arc<Vec<u32>>,
    causes: Vec<(u64, String)>,
}

/// `api/damage`.
pub(crate) fn answer(damage: &Arc<Damage>, ended: &Cancel) -> Result<Answer, Failure> {
    damage.begin(ended);
    let checked = damage.checked.load(Ordering::Acquire);
    let (found, reader) = (damage.found(), &damage.reader);
    let told = |(index, cause): &(u64, String)| json!({"sample": index, "key": reader.key(*index), "cause": cause});
    let told: Vec<Json> = found.causes.iter().map(told).collect();
    Ok(Answer::json(&json!({
        "checked": checked,
        "samples": reader.len(),
        "found": found.damaged.len(),
        "damaged": told,
    })))
}

impl Damage {
    pub(crate) fn new(reader: Arc<dyn Reader>) -> Self {
        let (checked, found) = (AtomicU64::new(0), Mutex::default());
        Self { reader, begun: Once::new(), checked, found }
    }

    /// Returns the number of checked samples, and the damaged ones among them.
    pub(crate) fn damaged(&self) -> (u64, Arc<Vec<u32>>) {
        let checked = self.checked.load(Ordering::Acquire);
        (checked, self.found().damaged.clone())
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the check, once.
    fn begin(self: &Arc<Self>, ended: &Cancel) {
        self.begun.call_once(|| {
            let (damage, ended) = (self.clone(), ended.clone());
            worker::start("damage", move || damage.check(&ended));
        });
    }

    fn check(&self, ended: &Cancel) {
        let reader = &*self.reader;
        let mut start = 0;
        while start < reader.len() && !ended.is_cancelled() {
            let block = start..reader.len().min(start + BLOCK);
            let ahead = match reader.facts().reads_ahead {
                true => reader.read_ahead(&block.clone().collect::<Vec<_>>()),
                false => Ahead::default(),
            };
            start = block.end;
            for index in block {
                if ended.is_cancelled() {
                    return;
                }
                if let Err(error) = sigbus::caught(|| reader.verify_sample(index)) {
                    self.add(index, error.chain());
                }
                // Stored after the finding, so that no reader sees a sample as checked too early.
                self.checked.store(index + 1, Ordering::Release);
            }
            drop(ahead);
        }
    }

    fn add(&self, index: u64, cause: String) {
        let mut found = self.found();
        if let Ok(index) = u32::try_from(index) {
            Arc::make_mut(&mut found.damaged).push(index);
        }
        if found.causes.len() < TOLD {
            found.causes.push((index, cause));
        }
    }
}
