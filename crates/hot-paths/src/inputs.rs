//! The datasets that the paths read, made of the fixtures of the repository, and how one is packed.
use crate::Result;
use bytes::Bytes;
use fdconvert_codec::{Encode, JpegOptions, Policy, Size};
use fdconvert_core::{
    Encoded, Error, FieldSpec, Format, Image, Kind, Look, Sample, Schema, Source, SourceFacts,
    Value, probe::probe,
};
use fdconvert_formats::{beton::Beton, wds::Wds};
use fdconvert_pipeline::{Cancel, Dataset, OnError, Plan, Run, pack};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Small JPEGs of all kinds, many times over.
pub(crate) const MANY_BETON: &str = "many.beton";
/// The same in shards.
pub(crate) const MANY_WDS: &str = "many.wds";
/// Twelve photos as JPEGs of quality 90, the longer side 500 pixels.
pub(crate) const PHOTOS: &str = "photos.beton";
/// The same as pixels, the longer side 256.
pub(crate) const RAW: &str = "raw.beton";

/// Of each small JPEG.
const COPIES: usize = 8;

pub(crate) fn prepare(fixtures: &Path, inputs: &Path) -> Result<()> {
    let mut small = Vec::new();
    for folder in sorted(&fixtures.join("photos"))? {
        small.extend(sorted(&folder)?);
    }
    let many: Vec<_> = (0..COPIES).flat_map(|_| small.iter().cloned()).collect();
    let many = Files::read(&many)?;
    let keep = Policy::default();
    write(&many, &inputs.join(MANY_BETON), &Beton::default(), &keep, None)?;
    write(&many, &inputs.join(MANY_WDS), &Wds::default(), &keep, None)?;
    let kodak = Files::read(&sorted(&fixtures.join("kodak"))?)?;
    let raw = Policy { encode: Encode::Raw, size: Some(Size::MaxSide(256)), ..keep };
    write(&kodak, &inputs.join(PHOTOS), &Beton::default(), &jpeg(500), None)?;
    write(&kodak, &inputs.join(RAW), &Beton::default(), &raw, None)
}

/// JPEGs of quality 90, the longer side so many pixels at most.
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
    source: &dyn Source,
    out: &Path,
    format: &dyn Format,
    policy: &Policy,
    jpeg_index: Option<u32>,
) -> Result<()> {
    let (plan, params) = (Plan::single_file(source.len()), BTreeMap::new());
    let on_error = OnError::Fail;
    let dataset =
        Dataset { source, policy, format, out, plan: &plan, params: &params, jpeg_index, on_error };
    pack(&dataset, &Run::default(), &Cancel::default(), &mut ())?;
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
