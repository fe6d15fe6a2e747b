//! Encoded images kept in GPU memory, so that they are neither read nor uploaded again.
use super::rows::{Decoding, DeviceRows, RowImage};
use crate::fields::RowValues;
use fdconvert_core::{Error, Result};
use fdconvert_gpu::{Gpu, Limits, Store, Stored};
use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

/// The cached images by sample number. The loader's threads read it; the thread that takes the
/// batches writes it.
#[derive(Default)]
pub(super) struct CacheIndex(RwLock<BTreeMap<u64, CachedImage>>);

/// An image that need not be read again.
#[derive(Clone)]
pub(crate) struct CachedImage {
    pub(super) stored: Stored,
    values: RowValues,
}

impl CacheIndex {
    pub(super) fn get(&self, sample: u64) -> Option<CachedImage> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&sample).cloned()
    }

    fn add(&self, images: impl Iterator<Item = (u64, CachedImage)>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(images);
    }
}

impl CachedImage {
    /// Returns the values of its sample.
    pub(crate) fn values(&self) -> &RowValues {
        &self.values
    }

    /// Returns width and height in pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        (self.stored.width(), self.stored.height())
    }
}

/// GPU memory that fills up with images at their first use.
pub(super) struct DeviceCache {
    store: Store,
    is_full: bool,
}

impl DeviceCache {
    /// Allocates `n_bytes`, all of them free.
    ///
    /// # Errors
    /// If the driver fails.
    pub(super) fn new(gpu: &Gpu, n_bytes: u64) -> Result<Self> {
        let store = Store::new(gpu, n_bytes, Limits::DEFAULT).map_err(Error::device("open"))?;
        Ok(Self { store, is_full: false })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.store.used_bytes()
    }

    /// Keeps the images of a batch with these samples while there is room. They are uploaded here
    /// and not with the batch.
    ///
    /// # Errors
    /// If the driver fails.
    pub(super) fn keep(
        &mut self,
        index: &CacheIndex,
        samples: &[u64],
        rows: &mut DeviceRows,
    ) -> Result<()> {
        if self.is_full {
            return Ok(());
        }
        // The row of each new sample, without repetitions.
        let mut new = BTreeMap::new();
        for ((row, device_row), sample) in rows.rows.iter().enumerate().zip(samples) {
            let image = device_row.as_ref().map(|row| &row.image);
            if let Some(RowImage::Read(fetched, Decoding::Kernels(prepared))) = image {
                new.entry(*sample).or_insert((row, fetched, prepared));
            }
        }
        let images: Vec<_> = new
            .values()
            .map(|(_, fetched, prepared)| (*prepared, &fetched.image.bytes[..]))
            .collect();
        if images.is_empty() {
            return Ok(());
        }
        let stored = self.store.add_prepared(&images).map_err(Error::device("copy to"))?;
        let mut cached = Vec::new();
        for ((sample, (row, fetched, _)), stored) in new.iter().zip(stored) {
            match stored {
                Some(stored) => {
                    let values = fetched.values.clone();
                    cached.push((*sample, *row, CachedImage { stored, values }));
                }
                None => self.is_full = true,
            }
        }
        for (_, row, image) in &cached {
            if let Some(Some(device_row)) = rows.rows.get_mut(*row) {
                device_row.image = RowImage::Cached(image.clone());
            }
        }
        index.add(cached.into_iter().map(|(sample, _, image)| (sample, image)));
        Ok(())
    }
}
