use fdconvert_core::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// What is made again for each epoch, kept until it is wanted for another one: the order of an epoch
/// is created several times.
#[derive(Debug)]
pub(crate) struct Kept<T, K = u64>(Mutex<Option<(K, Arc<T>)>>);

impl<T, K: PartialEq> Kept<T, K> {
    pub(crate) fn of(&self, epoch: K, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = kept.as_ref().filter(|(of, _)| *of == epoch) {
            return Ok(value.clone());
        }
        // Freed first: both need not fit into memory.
        *kept = None;
        let value = Arc::new(make()?);
        *kept = Some((epoch, value.clone()));
        Ok(value)
    }
}

impl<T, K> Default for Kept<T, K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
