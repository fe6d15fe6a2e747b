//! Leases in stores, in builds without them: there are none.
use super::Leases;
use crate::place::away;
use fdconvert_core::Result;
use std::{path::Path, sync::Arc, time::Duration};

pub(super) fn open(_: &Path, folder: &Path, _: Duration) -> Result<Arc<dyn Leases>> {
    away::refuse(folder)
}

pub(super) fn clear(folder: &Path) -> Result<()> {
    away::refuse(folder)
}
