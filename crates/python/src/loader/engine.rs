//! The loader of either kind: batches in main memory, or in that of a GPU.
use fdconvert_core::Result;
use fdconvert_loader::{
    Batch, Datasets, Decoded, DeviceBatch, DeviceLoader, DeviceOptions, DeviceWaited, Loader,
    Options, State, Stats, Waited,
};
use std::time::Duration;

#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub(super) enum Engine {
    Host(Loader),
    Device(DeviceLoader),
}

/// What comes next, of either kind.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once, and is mostly a batch")]
pub(super) enum Next {
    Host(Batch),
    Device(DeviceBatch),
    End,
    NotYet,
}

impl Engine {
    pub(super) fn new(
        datasets: Datasets,
        options: Options,
        device: Option<DeviceOptions>,
    ) -> Result<Self> {
        Ok(match device {
            None => Self::Host(Loader::new(datasets, options)?),
            Some(device) => Self::Device(DeviceLoader::new(datasets, options, device)?),
        })
    }

    pub(super) fn next_for(&mut self, patience: Duration) -> Result<Next> {
        Ok(match self {
            Self::Host(loader) => match loader.next_for(patience)? {
                Waited::Batch(batch) => Next::Host(batch),
                Waited::End => Next::End,
                Waited::NotYet => Next::NotYet,
            },
            Self::Device(loader) => match loader.next_for(patience)? {
                DeviceWaited::Batch(batch) => Next::Device(batch),
                DeviceWaited::End => Next::End,
                DeviceWaited::NotYet => Next::NotYet,
            },
        })
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Host(loader) => loader.len(),
            Self::Device(loader) => loader.len(),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        match self {
            Self::Host(loader) => loader.epoch(),
            Self::Device(loader) => loader.epoch(),
        }
    }

    pub(super) fn state(&self) -> State {
        match self {
            Self::Host(loader) => loader.state(),
            Self::Device(loader) => loader.state(),
        }
    }

    pub(super) fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        match self {
            Self::Host(loader) => loader.set_epoch(epoch),
            Self::Device(loader) => loader.set_epoch(epoch),
        }
    }

    pub(super) fn restore(&mut self, state: &State) -> Result<()> {
        match self {
            Self::Host(loader) => loader.restore(state),
            Self::Device(loader) => loader.restore(state),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Host(loader) => loader.stats(),
            Self::Device(loader) => loader.stats(),
        }
    }

    /// What has decoded the rows of batches on a GPU.
    pub(super) fn decoded(&self) -> Option<Decoded> {
        match self {
            Self::Host(_) => None,
            Self::Device(loader) => Some(loader.decoded()),
        }
    }

    /// Fields that no batch shows.
    pub(super) fn left_out(&self) -> Vec<String> {
        match self {
            Self::Host(loader) => loader.datasets().left_out(),
            Self::Device(loader) => loader.datasets().left_out(),
        }
    }

    pub(super) fn reset_stats(&mut self) {
        match self {
            Self::Host(loader) => loader.reset_stats(),
            Self::Device(loader) => loader.reset_stats(),
        }
    }
}
