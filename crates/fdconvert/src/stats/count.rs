//! Statistics of a dataset's samples: classes, codecs and sizes.
use super::objects::{ObjectCounts, classes_of};
use crate::{Context, Stage};
use fdconvert_codec::{FoundMetadata, Metadata, MetadataKind, find_metadata};
use fdconvert_core::{
    Codec, Encoded, Error, Reader, Result, Value, objects::ObjectClasses, probe::probe,
};
use fdconvert_pipeline::field_of_objects;
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Number of samples to count by default: it takes a second or so.
pub(crate) const UNASKED: u64 = 20_000;

/// Number of samples between two checks of the cancel switch.
const CHUNK: u64 = 4096;

/// Statistics of samples.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of samples in each class, by name; for numbers without a name, by number.
    pub classes: BTreeMap<String, u64>,
    /// Number of images in each codec, by its extension.
    pub codecs: BTreeMap<&'static str, u64>,
    /// Sizes of the images in bytes, sorted.
    pub bytes: Vec<u64>,
    /// Widths of the images, sorted.
    pub widths: Vec<u64>,
    /// Heights of the images, sorted.
    pub heights: Vec<u64>,
    /// Widths divided by heights, sorted.
    pub aspects: Vec<f64>,
    /// Bytes of the images divided by their pixels, sorted.
    pub densities: Vec<f64>,
    /// Number of images with more than 8 bits per channel, which loaders round to 8.
    pub over_8_bits: u64,
    /// Metadata of the samples' first images, if requested: it requires the bytes of every image,
    /// beyond its recorded properties.
    pub metadata: Option<MetadataCounts>,
    /// Objects in the images; `None` if the dataset has no field for them.
    pub objects: Option<ObjectCounts>,
    /// Number of samples that cannot be read.
    pub n_unreadable: u64,
}

/// Number of images with metadata of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataCounts {
    /// Number of images of each kind, by its name, including zeros. A position counts wherever it
    /// is stored.
    pub kinds: BTreeMap<String, u64>,
    /// Number of images that an EXIF orientation turns.
    pub turned: u64,
}

impl MetadataCounts {
    const KINDS: [MetadataKind; 6] = [
        MetadataKind::Exif,
        MetadataKind::Gps,
        MetadataKind::Xmp,
        MetadataKind::Iptc,
        MetadataKind::Comments,
        MetadataKind::Icc,
    ];

    fn add(&mut self, found: FoundMetadata) {
        for kind in Self::KINDS {
            let has = found.kinds.contains(Metadata::from(kind));
            *self.kinds.entry(kind.to_string()).or_default() += u64::from(has);
        }
        self.turned += u64::from(found.is_turned);
    }
}

struct Looked {
    label: Option<i64>,
    /// Codec, bytes, width and height of its first image, or of all images of its list.
    images: Vec<(&'static str, [u64; 3])>,
    /// Number of those images with more than 8 bits per channel.
    n_over_8_bits: u64,
    metadata: Vec<FoundMetadata>,
    /// Its objects, if there is a field for them, as far as its document can be read.
    objects: Option<Option<ObjectClasses>>,
}

/// Counts every sample, with `metadata` also the metadata of its image.
pub(crate) fn count(reader: &dyn Reader, metadata: bool, context: Context<'_>) -> Result<Stats> {
    let steps = context.progress.stage(Stage::Counting);
    steps.total(reader.len());
    let schema = reader.schema();
    let (label, image) = (schema.label(), schema.shown_images());
    let counts = || {
        let mut counts = MetadataCounts::default();
        // Zeros are informative.
        counts.add(FoundMetadata::default());
        counts
    };
    let counts = (metadata && image.is_some()).then(counts);
    let objects = field_of_objects(schema);
    let mut stats = Stats {
        metadata: counts,
        objects: objects.map(|_| ObjectCounts::new(schema)),
        ..Stats::default()
    };
    let mut labels: BTreeMap<i64, u64> = BTreeMap::new();
    for start in (0..reader.len()).step_by(CHUNK as usize) {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let end = reader.len().min(start + CHUNK);
        let look = |index: u64| -> Option<Looked> {
            let sample = reader.get(index).ok()?;
            let label = label.and_then(|field| sample.values.get(field));
            let images = image.and_then(|field| sample.values.get(field)).map(Value::images);
            let images = images.unwrap_or_default();
            let document = objects.and_then(|field| sample.values.get(field));
            let of_image = |image: &Encoded| {
                let bytes = image.bytes.len() as u64;
                let sizes = [bytes, image.width.into(), image.height.into()];
                (image.codec.extension(), sizes)
            };
            let with_metadata = if metadata { images } else { &[] };
            Some(Looked {
                metadata: with_metadata
                    .iter()
                    .map(|image| find_metadata(&image.bytes, image.codec))
                    .collect(),
                objects: document.map(classes_of),
                n_over_8_bits: images.iter().filter(|image| is_over_8_bits(image)).count() as u64,
                label: if let Some(Value::Int(label)) = label { Some(*label) } else { None },
                images: images.iter().map(of_image).collect(),
            })
        };
        let looked: Vec<Option<Looked>> = (start..end).into_par_iter().map(look).collect();
        steps.done(end);
        for looked in looked {
            let Some(looked) = looked else {
                stats.n_unreadable += 1;
                continue;
            };
            if let Some(label) = looked.label {
                *labels.entry(label).or_default() += 1;
            }
            stats.over_8_bits += looked.n_over_8_bits;
            if let Some(counts) = &mut stats.metadata {
                looked.metadata.into_iter().for_each(|found| counts.add(found));
            }
            if let (Some(counts), Some(found)) = (&mut stats.objects, &looked.objects) {
                counts.add(found.as_ref());
            }
            for (codec, [bytes, width, height]) in looked.images {
                *stats.codecs.entry(codec).or_default() += 1;
                stats.bytes.push(bytes);
                stats.widths.push(width);
                stats.heights.push(height);
                if width > 0 && height > 0 {
                    stats.aspects.push(width as f64 / height as f64);
                    stats.densities.push(bytes as f64 / (width as f64 * height as f64));
                }
            }
        }
    }
    for sizes in [&mut stats.bytes, &mut stats.widths, &mut stats.heights] {
        sizes.par_sort_unstable();
    }
    for ratios in [&mut stats.aspects, &mut stats.densities] {
        ratios.par_sort_unstable_by(f64::total_cmp);
    }
    let names = label.and_then(|field| schema.fields.get(field)?.class_names.clone());
    let name = |label: i64| {
        let name = usize::try_from(label).ok().and_then(|label| names.as_ref()?.get(label));
        name.map_or_else(|| label.to_string(), Clone::clone)
    };
    // Classes without a sample are informative, too.
    stats.classes =
        names.iter().flat_map(|names| names.iter()).map(|name| (name.clone(), 0)).collect();
    for (label, n) in labels {
        *stats.classes.entry(name(label)).or_default() += n;
    }
    Ok(stats)
}

/// Returns true if an image has more than 8 bits per channel. For a PNG this requires only its
/// first bytes; JPEGs of more bits are not supported.
fn is_over_8_bits(image: &Encoded) -> bool {
    const PNG_BITS: usize = 24;
    match image.codec {
        Codec::Png => image.bytes.get(PNG_BITS).is_some_and(|&bits| bits > 8),
        Codec::Tiff | Codec::Avif | Codec::Jxl => {
            probe(&image.bytes).is_ok_and(|header| header.bits > 8)
        }
        _ => false,
    }
}

impl Stats {
    /// Returns the classes and their numbers of samples, the most frequent first, and by name if
    /// equally frequent.
    #[must_use]
    pub fn by_frequency(&self) -> Vec<(&str, u64)> {
        let mut classes: Vec<_> = self.classes.iter().map(|(name, n)| (&**name, *n)).collect();
        // The names are in order already.
        classes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        classes
    }

    /// Returns the statistics as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let spread = |sizes: &[u64]| {
            spread(sizes)
                .map(|[min, median, max]| json!({"min": min, "median": median, "max": max}))
        };
        let mut bytes = spread(&self.bytes).unwrap_or_else(|| json!({}));
        if let Json::Object(bytes) = &mut bytes {
            bytes.insert("total".into(), json!(self.bytes.iter().sum::<u64>()));
        }
        let mut fields = Map::new();
        fields.insert("classes".into(), json!(self.classes));
        fields.insert("codecs".into(), json!(self.codecs));
        fields.insert("bytes".into(), bytes);
        fields.insert("width".into(), json!(spread(&self.widths)));
        fields.insert("height".into(), json!(spread(&self.heights)));
        let metadata = self.metadata.as_ref().map(|counts| {
            let mut fields: Map<String, Json> =
                counts.kinds.iter().map(|(name, n)| (name.clone(), json!(n))).collect();
            fields.insert("turned".into(), json!(counts.turned));
            fields
        });
        let objects = self.objects.as_ref().map(ObjectCounts::to_json);
        fields.insert("objects".into(), json!(objects));
        fields.insert("over_8_bits".into(), json!(self.over_8_bits));
        fields.insert("metadata".into(), json!(metadata));
        fields.insert("unreadable".into(), json!(self.n_unreadable));
        Json::Object(fields)
    }
}

/// Returns the minimum, the upper median, and the maximum of sorted values.
#[must_use]
pub fn spread<T: Copy>(sorted: &[T]) -> Option<[T; 3]> {
    Some([*sorted.first()?, *sorted.get(sorted.len() / 2)?, *sorted.last()?])
}
