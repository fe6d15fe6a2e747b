//! The datasets that the paths read, made from the fixtures of the repository, and packing one.
use crate::Result;
use bytes::Bytes;
use fdconvert_codec::{Encode, JpegOptions, Policy, Size};
use fdconvert_core::{
    Encoded, Error, FieldSpec, Format, Image, Kind, Look, Sample, Schema, Source, SourceFacts,
    Value, probe::probe,
};
use fdconvert_formats::{beton::Beton, wds::Wds};
use fdconvert_pipeline::{Cancel, PackJob, Run, pack};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Many copies of small JPEGs of all kinds.
pub(crate) const MANY_BETON: &str = "many.beton";
/// The same images in shards.
pub(crate) const MANY_WDS: &str = "many.wds";
/// Twelve photos as JPEGs of quality 90, the longer side 500 pixels.
pub(crate) const PHOTOS: &str = "photos.beton";
/// The same photos as pixels, the longer side 256.
pub(crate) const RAW: &str = "raw.beton";

/// Copies of each small JPEG.
const COPIES: usize = 8;

/// Makes the datasets that the paths read.
pub fn prepare(fixtures: &Path, inputs: &Path) -> Result {
    if inputs.exists() {
        fs::remove_dir_all(inputs)?;
    }
    fs::create_dir_all(inputs)?;
    let mut small = Vec::new();
    for folder in sorted(&fixtures.join("photos"))? {
        small.extend(sorted(&folder)?);
    }
    let many: Vec<_> = (0..COPIES).flat_map(|_| small.iter().cloned()).collect();
    let many = Arc::new(Files::read(&many)?);
    let (beton, keep) = (|| Box::new(Beton::default()), Policy::default());
    write(many.clone(), &inputs.join(MANY_BETON), beton(), keep.clone(), None)?;
    write(many, &inputs.join(MANY_WDS), Box::new(Wds::default()), keep.clone(), None)?;
    let kodak = Arc::new(Files::read(&sorted(&fixtures.join("kodak"))?)?);
    let raw = Policy { encode: Encode::Raw, size: Some(Size::MaxSide(256)), ..keep };
    write(kodak.clone(), &inputs.join(PHOTOS), beton(), jpeg(500), None)?;
    write(kodak, &inputs.join(RAW), beton(), raw, None)
}

/// JPEGs of quality 90, the longer side at most `side` pixels.
pub(crate) fn jpeg(side: u32) -> Policy {
    Policy {
        encode: Encode::Jpeg,
        size: Some(Size::MaxSide(side)),
        jpeg: JpegOptions { quality: 90, ..JpegOptions::default() },
        ..Policy::default()
    }
}

/// Packs on the caller's thread.
pub(crate) fn write(
    source: Arc<dyn Source>,
    out: &Path,
    format: Box<dyn Format>,
    policy: Policy,
    jpeg_index: Option<u32>,
) -> Result {
    let run = Run { threads: Some(1), ..Run::default() };
    let job = PackJob { policy, jpeg_index, run, ..PackJob::new(source, format, out) };
    pack(&job, &Cancel::default(), &mut ())?;
    Ok(())
}

/// Image files in memory, as samples with a label.
struct Files {
    facts: SourceFacts,
    images: Vec<Encoded>,
}

impl Files {
    fn read(paths: &[PathBuf]) -> Result<Self> {
        let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
        let mut images = Vec::new();
        for path in paths {
            let bytes = Bytes::from(fs::read(path)?);
            let header = probe(&bytes)?;
            images.push(Encoded::new(header.codec, header.width, header.height, bytes));
        }
        let facts = SourceFacts::new("files", Schema::new(fields)?, images.len() as u64);
        Ok(Self { facts, images })
    }
}

impl Source for Files {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> fdconvert_core::Result<Sample<Image>> {
        let found = usize::try_from(index).ok().and_then(|index| self.images.get(index));
        let image = found.ok_or_else(|| Error::sample(self.key(index), "is not there"))?;
        let values = vec![
            Value::Image(Image::Encoded(image.clone())),
            Value::Int((index % 10).cast_signed()),
        ];
        Ok(Sample { key: self.key(index), values })
    }

    fn key(&self, index: u64) -> String {
        format!("class-{}/{index:06}", index % 10)
    }

    fn fingerprint(&self, _look: Look) -> fdconvert_core::Result<[u8; 16]> {
        Ok([0; 16])
    }
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}
