//! What a GPU decodes, and what it keeps.
use crate::{
    Batch,
    device::options::DeviceDecoder,
    parcel::{Content, Elsewhere, Kept, Parcels, Taken},
};
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Error, Result};
use fdconvert_gpu::{Gpu, Limits, Prepared, Store};
use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

/// Answers the loader's threads, and is told of images by the thread that takes the batches.
pub(super) struct Keeper {
    decoder: DeviceDecoder,
    /// Whether JPEGs without checkpoints can be decoded.
    has_library: bool,
    kept: RwLock<BTreeMap<u64, Kept>>,
}

impl Keeper {
    pub(super) fn new(decoder: DeviceDecoder, has_library: bool) -> Self {
        Self { decoder, has_library, kept: RwLock::default() }
    }

    fn add(&self, kept: impl Iterator<Item = (u64, Kept)>) {
        self.kept.write().unwrap_or_else(PoisonError::into_inner).extend(kept);
    }
}

impl Elsewhere for Keeper {
    fn takes(&self, image: &Encoded, checkpoints: Option<&Bytes>) -> Taken {
        if image.codec != Codec::Jpeg || self.decoder == DeviceDecoder::Cpu {
            return Taken::No;
        }
        if self.decoder == DeviceDecoder::NvJpeg {
            return Taken::AsItIs;
        }
        let bytes = checkpoints.map(|bytes| &bytes[..]);
        match Prepared::new(&image.bytes, bytes, Limits::DEFAULT) {
            // The size in the dataset's tables is what crops are drawn for.
            Ok(it) if (it.width(), it.height()) == (image.width, image.height) => {
                Taken::Prepared(it)
            }
            Err(_) if self.has_library => Taken::AsItIs,
            _ => Taken::No,
        }
    }

    fn kept(&self, sample: u64) -> Option<Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&sample).cloned()
    }
}

/// Memory of the GPU that fills up, image by image.
pub(super) struct Filling {
    store: Store,
    is_full: bool,
}

impl Filling {
    /// Memory for so many bytes, none of which is taken yet.
    ///
    /// # Errors
    /// When the driver fails.
    pub(super) fn new(gpu: &Gpu, n_bytes: u64) -> Result<Self> {
        let store = Store::new(gpu, n_bytes, Limits::DEFAULT).map_err(Error::device("open"))?;
        Ok(Self { store, is_full: false })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.store.used_bytes()
    }

    /// Keeps the images of a batch, as long as there is room. They are uploaded here, and not with
    /// the batch.
    ///
    /// # Errors
    /// When the driver fails.
    pub(super) fn keep(
        &mut self,
        keeper: &Keeper,
        batch: &Batch,
        parcels: &mut Parcels,
    ) -> Result<()> {
        if self.is_full {
            return Ok(());
        }
        // The sample of each row that is new, once.
        let mut new = BTreeMap::new();
        for ((row, parcel), sample) in parcels.rows.iter().enumerate().zip(batch.samples()) {
            let content = parcel.as_ref().map(|parcel| &parcel.content);
            if let Some(Content::Read(fetched, Some(prepared))) = content {
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
        let mut kept = Vec::new();
        for ((sample, (row, fetched, _)), stored) in new.iter().zip(stored) {
            match stored {
                Some(stored) => kept.push((*sample, *row, Kept { stored, label: fetched.label })),
                None => self.is_full = true,
            }
        }
        for (_, row, kept) in &kept {
            if let Some(Some(parcel)) = parcels.rows.get_mut(*row) {
                parcel.content = Content::Kept(kept.clone());
            }
        }
        keeper.add(kept.into_iter().map(|(sample, _, kept)| (sample, kept)));
        Ok(())
    }
}
