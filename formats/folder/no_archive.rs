//! Placeholder for zips in a build without support for them.
use crate::folder::objects::Objects;
use bytes::Bytes;
use fdconvert_core::{Ignored, Limits, MaxDecompressed, Result};
use std::{convert::Infallible, path::Path};

/// Never exists.
#[derive(Debug)]
pub(crate) struct Archive(Infallible);

pub(crate) fn looks_like_one(_: &Path) -> bool {
    false
}

impl Archive {
    pub(crate) fn open(_: &Path, _: MaxDecompressed) -> Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn objects(&self) -> &Objects {
        match self.0 {}
    }

    pub(crate) fn container(&self) -> &'static str {
        match self.0 {}
    }

    pub(crate) fn ignored(&self) -> &Ignored {
        match self.0 {}
    }

    pub(crate) fn stamp(&self) -> [u8; 16] {
        match self.0 {}
    }

    pub(crate) fn remark(&self) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn member_of(&self, _: &Path) -> Option<Vec<u8>> {
        match self.0 {}
    }

    pub(crate) fn read(&self, _: &str, _: &[u8], _: &Limits) -> Result<Option<Bytes>> {
        match self.0 {}
    }
}
