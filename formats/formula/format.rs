use crate::formula::{
    layout::{FORMAT, MAGIC},
    reader::FormulaReader,
};
use fdconvert_core::{
    Capabilities, Codec, Create, Error, Format, ImageHeader, OpenOptions, OptionValues, Reader,
    Result, ShardWriter, option,
};
use fdconvert_fractal::Recipe;
use fdconvert_storage::place;
use std::path::Path;

/// The format of files that hold a formula, and of recipes, which are formulas without a file. It
/// has no options.
#[derive(Debug, Clone, Copy, Default)]
pub struct FormulaFormat;

impl Format for FormulaFormat {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "formulas of fractals: a small file, images are rendered when read"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { formulas_only: true, ..Capabilities::default() }
    }

    fn with_options(&self, _values: &OptionValues) -> Result<Box<dyn Format>> {
        Ok(Box::new(*self))
    }

    fn detect(&self, path: &Path) -> bool {
        let start = place::read_start(path, MAGIC.len());
        start.is_ok_and(|start| start == MAGIC[..])
    }

    fn is_recipe(&self, path: &Path) -> bool {
        Recipe::in_place_of(path).is_some()
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(FORMAT))
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        header.codec == Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Raw
    }

    /// Refuses: [`write`](crate::formula::write) writes a formula, not sample by sample.
    fn create(&self, _request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let what = "a formula keeps no images, so only a recipe can become one: \
                    fdconvert pack 'fractal:fractaldb?classes=1000' OUT.formula";
        Err(Error::usage(option::FORMAT.with("formula"), what))
    }

    fn open_with(&self, path: &Path, _: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(match Recipe::in_place_of(path) {
            Some(text) => FormulaReader::of_recipe(&Recipe::parse(text)?)?,
            None => FormulaReader::open(path)?,
        }))
    }
}
