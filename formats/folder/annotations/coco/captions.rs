//! Captions of images.
use bytes::Bytes;
use fdconvert_core::Remark;
use std::collections::BTreeMap;

/// The captions of each image, as one list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Captions {
    pub(super) texts: Vec<Bytes>,
    pub(super) bad: BTreeMap<u32, String>,
}

impl Captions {
    /// The captions of an image.
    pub(crate) fn document(&self, row: usize) -> Result<Bytes, Remark> {
        let bad = u32::try_from(row).ok().and_then(|row| self.bad.get(&row));
        if let Some(what) = bad {
            return Err(what.as_str().into());
        }
        self.texts.get(row).cloned().ok_or_else(|| "its captions cannot be found again".into())
    }
}
