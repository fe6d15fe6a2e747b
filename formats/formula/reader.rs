use crate::formula::{
    layout::{self, Contents, FORMAT, MAX_FILE_BYTES, Probe},
    writer::hash,
};
use fdconvert_core::{
    Codec, Drawn, Encoded, Error, Generated, Image, LanesImage, Look, Provenance, Reader, Result,
    Sample, Source, SourceFacts, Value,
};
use fdconvert_fractal::{FractalSource, Recipe};
use fdconvert_storage::read_file;
use serde_json::{Map, Value as Json, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A dataset of a formula: sample `i` is rendered on every request, always the same.
pub struct FormulaReader {
    source: FractalSource,
    origin: Arc<Origin>,
    /// False for other epochs and sizes than those of the file.
    is_as_written: bool,
}

/// A file, or a recipe without one.
enum Origin {
    File { path: PathBuf, n_bytes: u64, provenance: Provenance, probes: Vec<Probe> },
    Recipe { says_size: bool },
}

impl FormulaReader {
    /// Opens a file and checks all of it.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Version`, `Unsupported`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_bytes(&read_file(path, MAX_FILE_BYTES)?, path)
    }

    /// Decodes a file in memory; `path` is for messages.
    ///
    /// # Errors
    /// As for [`open`](Self::open), without `Io`.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let Contents { formula, provenance, probes } = layout::from_bytes(bytes, path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let n_bytes = bytes.len() as u64;
        let origin = Origin::File { path: path.to_owned(), n_bytes, provenance, probes };
        let source = FractalSource::new(formula, name)?;
        Ok(Self { source, origin: Arc::new(origin), is_as_written: true })
    }

    /// Resolves a recipe, which may search for categories and cannot be stopped: a file of it opens
    /// at once. Its name is the recipe, except for paths.
    ///
    /// # Errors
    /// As for [`Recipe::resolve_apart`].
    pub fn of_recipe(recipe: &Recipe) -> Result<Self> {
        let source = FractalSource::new(recipe.resolve_apart()?, recipe.name())?;
        let origin = Origin::Recipe { says_size: recipe.says_size() };
        Ok(Self { source, origin: Arc::new(origin), is_as_written: true })
    }

    /// Returns the source that renders the images, without the file.
    #[must_use]
    pub fn into_fractals(self) -> FractalSource {
        self.source
    }

    /// Returns the source that renders the images, for callers with their own buffers.
    #[must_use]
    pub fn fractals(&self) -> &FractalSource {
        &self.source
    }
}

impl Source for FormulaReader {
    fn facts(&self) -> &SourceFacts {
        self.source.facts()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.source.read(index)
    }

    fn key(&self, index: u64) -> String {
        self.source.key(index)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.source.value(index, field)
    }

    fn image_size(&self, _index: u64) -> Result<Option<(u32, u32)>> {
        let side = self.source.formula().frame.size();
        Ok(Some((side, side)))
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.source.fingerprint(look)
    }
}

impl Reader for FormulaReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let mut rgb = Vec::new();
        let facts = self.source.rgb_into(index, &mut rgb)?;
        let size = self.source.formula().frame.size();
        let encoded = Encoded::new(Codec::Raw, size, size, rgb.into());
        Ok(self.source.sample(&facts, encoded))
    }

    fn as_generated(&self) -> Option<&dyn Generated> {
        Some(self)
    }

    fn provenance(&self) -> Option<&Provenance> {
        match &*self.origin {
            Origin::File { provenance, .. } => Some(provenance),
            Origin::Recipe { .. } => None,
        }
    }

    fn details(&self) -> Map<String, Json> {
        let formula = self.source.formula();
        let facts = [
            ("family", json!(formula.family)),
            ("classes", json!(formula.categories.len())),
            ("instances", json!(formula.instances())),
            ("size", json!(formula.frame.size())),
            ("points", json!(formula.frame.points())),
            ("draw", json!(formula.draw.name())),
            ("sampler", json!(formula.sampler.name())),
            ("weight", json!(formula.weight)),
            ("patches", json!(formula.patches)),
            ("flips", json!(formula.flips)),
            ("seed", json!(formula.seed)),
            ("min_fill", json!(formula.min_fill)),
            ("varies", json!(formula.varies)),
        ];
        let turn = formula.has_views().then(|| ("turn", json!(formula.turn)));
        let (first, last) = match &*self.origin {
            Origin::File { n_bytes, .. } => {
                (("version", json!(layout::version(formula))), Some(("file_bytes", json!(n_bytes))))
            }
            Origin::Recipe { .. } => (("recipe", json!(self.source.name())), None),
        };
        let facts = [first].into_iter().chain(facts).chain(turn).chain(last);
        facts.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Renders the probes again. Everything else was checked when the file was opened.
    fn verify_layout(&self) -> Vec<Error> {
        let Origin::File { path, probes, .. } = &*self.origin else { return Vec::new() };
        if !self.is_as_written {
            return Vec::new();
        }
        let check = |probe: &Probe| match hash(&self.source, probe.index) {
            Ok(hash) if hash == probe.hash => None,
            Ok(_) => {
                let what = format!(
                    "image {} is rendered differently here than where the file was written",
                    self.key(probe.index)
                );
                Some(Error::Unsupported { format: FORMAT, path: path.clone(), what: what.into() })
            }
            Err(error) => Some(error),
        };
        probes.iter().filter_map(check).collect()
    }

    /// Samples follow from the file, which was checked completely when it was opened, or from the
    /// recipe.
    fn has_checksums(&self) -> bool {
        true
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        if index < self.len() {
            return Ok(());
        }
        Err(Error::usage("index", format!("{index} of {} images", self.len())))
    }
}

impl Generated for FormulaReader {
    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        if !self.source.formula().varies {
            return Ok(None);
        }
        let (source, origin) = (self.source.at_epoch(epoch)?, self.origin.clone());
        Ok(Some(Box::new(Self { source, origin, is_as_written: epoch == 0 && self.is_as_written })))
    }

    fn drawn(&self) -> Drawn {
        let is_free = matches!(*self.origin, Origin::Recipe { says_size: false });
        Drawn { side: self.source.formula().frame.size(), is_free }
    }

    fn drawn_at(&self, side: u32) -> Result<Box<dyn Reader>> {
        let (source, origin) = (self.source.at_size(side)?, self.origin.clone());
        Ok(Box::new(Self { source, origin, is_as_written: false }))
    }

    fn lanes(&self, index: u64) -> Result<Option<LanesImage>> {
        self.source.lanes(index)
    }
}
