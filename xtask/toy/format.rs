use crate::toy::{
    ToyReader,
    layout::{FORMAT, MAGIC},
};
use fdconvert_core::{Codec, Format, ImageHeader, OpenOptions, OptionValues, Reader, Result};
#[cfg(feature = "write")]
use fdconvert_core::{Create, ShardWriter};
use std::{fs::File, io::Read as _, path::Path};

/// The format. It has no options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Toy;

impl Format for Toy {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "the smallest format, to be taken apart"
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, self.options())?;
        Ok(Box::new(*self))
    }

    fn detect(&self, path: &Path) -> bool {
        let mut start = [0; MAGIC.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *MAGIC
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(FORMAT))
    }

    fn holds(&self, _header: &ImageHeader) -> bool {
        true
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Ok(Box::new(crate::toy::writer::Writer::create(request)?))
    }

    fn open_with(&self, path: &Path, _: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(ToyReader::open(path)?))
    }
}
