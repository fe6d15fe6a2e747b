use crate::formula::{
    layout::{self, FORMAT, MAX_FILE_BYTES, Probe, VERSION},
    writer::hash,
};
use fdconvert_core::{
    Codec, Encoded, Error, Image, Provenance, Reader, Result, Sample, Schema, Source,
};
use fdconvert_fractal::FractalSource;
use fdconvert_storage::read_file;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// A dataset of a formula: sample `i` is rendered when it is asked for, always the same.
pub struct FormulaReader {
    path: PathBuf,
    file_bytes: u64,
    source: FractalSource,
    provenance: Provenance,
    probes: Vec<Probe>,
    epoch: u64,
}

impl FormulaReader {
    /// Opens a file and checks all of it.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Version`, `Unsupported`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_bytes(&read_file(path, MAX_FILE_BYTES)?, path)
    }

    /// Reads a file that is in memory already; `path` is for messages.
    ///
    /// # Errors
    /// As for [`open`](Self::open), without `Io`.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let contents = layout::from_bytes(bytes, path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            path: path.to_owned(),
            file_bytes: bytes.len() as u64,
            source: FractalSource::new(contents.formula, name)?,
            provenance: contents.provenance,
            probes: contents.probes,
            epoch: 0,
        })
    }

    /// Returns what renders the images, without the file.
    #[must_use]
    pub fn into_fractals(self) -> FractalSource {
        self.source
    }

    /// Returns what renders the images, for callers with a buffer of their own.
    #[must_use]
    pub fn fractals(&self) -> &FractalSource {
        &self.source
    }
}

impl Source for FormulaReader {
    fn schema(&self) -> &Schema {
        self.source.schema()
    }

    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.source.read(index)
    }

    fn key(&self, index: u64) -> String {
        self.source.key(index)
    }

    fn label(&self, index: u64) -> Result<Option<i64>> {
        self.source.label(index)
    }

    fn name(&self) -> String {
        self.source.name()
    }

    fn fingerprint(&self) -> [u8; 16] {
        self.source.fingerprint()
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

    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        if !self.source.formula().varies {
            return Ok(None);
        }
        Ok(Some(Box::new(Self {
            path: self.path.clone(),
            file_bytes: self.file_bytes,
            source: self.source.at_epoch(epoch)?,
            provenance: self.provenance.clone(),
            probes: self.probes.clone(),
            epoch,
        })))
    }

    fn provenance(&self) -> Option<&Provenance> {
        Some(&self.provenance)
    }

    fn details(&self) -> Map<String, Json> {
        let formula = self.source.formula();
        let facts = [
            ("version", json!(VERSION)),
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
            ("file_bytes", json!(self.file_bytes)),
        ];
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Renders the probes again. Everything else was checked when the file was opened.
    fn verify_layout(&self) -> Vec<Error> {
        if self.epoch != 0 {
            return Vec::new();
        }
        let check = |probe: &Probe| match hash(&self.source, probe.index) {
            Ok(hash) if hash == probe.hash => None,
            Ok(_) => {
                let what = format!(
                    "image {} is rendered differently here than where the file was written",
                    self.key(probe.index)
                );
                Some(Error::Unsupported {
                    format: FORMAT,
                    path: self.path.clone(),
                    what: what.into(),
                })
            }
            Err(error) => Some(error),
        };
        self.probes.iter().filter_map(check).collect()
    }

    /// Samples follow from the file, all of which was checked when it was opened.
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
