//! Stand-ins for a GPU in builds without the feature `gpu`: types without values, so that the
//! engine needs no second version.
use super::DeviceProgram;
use crate::{
    Datasets, Waited,
    dataset::Fetched,
    engine::{Epoch, Produced},
    fields::RowValues,
    options::DeviceOptions,
    order::Row,
    stats::Decoded,
    transform::Output,
};
use fdconvert_core::{Error, LanesImage, Result};
use std::{convert::Infallible, sync::Arc, time::Duration};

pub(crate) struct Device(Infallible);
pub(crate) struct Offload(Infallible);
pub(crate) struct Decoding(Infallible);
pub(crate) struct CachedImage(Infallible);
pub(crate) struct DeviceRow(Infallible);
pub(crate) struct DeviceRows(Infallible);

impl Device {
    pub(crate) fn open(
        _datasets: &Datasets,
        _device: &DeviceOptions,
        _output: Output,
        _changes: bool,
    ) -> Result<Self> {
        Err(Error::usage("device", "this build has no GPU: the feature `gpu` is off"))
    }

    pub(crate) fn offload(&self) -> Arc<Offload> {
        match self.0 {}
    }

    pub(crate) fn is_busy(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn next_for(
        &mut self,
        _patience: Duration,
        _produce: impl FnMut(Duration) -> Result<Produced>,
    ) -> Result<Waited> {
        match self.0 {}
    }

    pub(crate) fn clear(&mut self) {
        match self.0 {}
    }

    pub(crate) fn decoded(&self) -> Decoded {
        match self.0 {}
    }

    pub(crate) fn reset_stats(&mut self) {
        match self.0 {}
    }
}

impl Offload {
    pub(crate) fn cached(&self, _sample: u64) -> Option<CachedImage> {
        match self.0 {}
    }

    pub(crate) fn decoding(&self, _fetched: &Fetched) -> Option<Decoding> {
        match self.0 {}
    }

    pub(crate) fn draws(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn rows(
        &self,
        _rows: Vec<Option<DeviceRow>>,
        _positions: Vec<Row>,
        _epoch: Arc<Epoch>,
    ) -> DeviceRows {
        match self.0 {}
    }
}

impl CachedImage {
    pub(crate) fn values(&self) -> &RowValues {
        match self.0 {}
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        match self.0 {}
    }
}

impl DeviceRow {
    pub(crate) fn read(_fetched: Fetched, decoding: Decoding, _program: DeviceProgram) -> Self {
        match decoding.0 {}
    }

    pub(crate) fn drawn(
        offload: &Offload,
        _image: (LanesImage, (u32, u32)),
        _program: DeviceProgram,
    ) -> Self {
        match offload.0 {}
    }

    pub(crate) fn cached(image: CachedImage, _program: DeviceProgram) -> Self {
        match image.0 {}
    }
}
