//! Several datasets as one numbered set of samples.
mod classes_of;
mod labels;
mod sample;

use crate::{
    classes::{self, Renumbered},
    column::Columns,
    decoding::upright_size,
    fields::{Asked, FieldValue, Fields, MaybeStored, RowValues, take_value},
};
use fdconvert_codec::orientation;
use fdconvert_core::{
    Amount, Encoded, Error, Extent, FieldSpec, Image, Kind, LanesImage, Look, Reader, Result,
    Sample, SplitChoice, Value,
};
use fdconvert_reader::OpenOptions;
use fdconvert_storage::sigbus;
pub use labels::Label;
use labels::renumbered;
pub(crate) use sample::{DrawnSample, Fetched, Located};
use std::{path::Path, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// Most times that a sample may come in an epoch.
const MAX_WEIGHT: f64 = 1000.0;

/// Input of a loader: one dataset or several weighted ones.
#[derive(Clone)]
pub struct Datasets {
    parts: Vec<Part>,
    fields: Arc<Fields>,
    class_names: Option<Arc<[String]>>,
}

#[derive(Clone)]
struct Part {
    reader: Arc<dyn Reader>,
    weight: f64,
    /// Number of samples in the parts before it.
    offset: u64,
    /// The first field of images; `None` for a dataset without any.
    image: Option<usize>,
    /// `None` without labels, and for labels that are not integers.
    label: Option<usize>,
    label_numbers: Renumbered,
    /// Positions of the other fields in batches, with the renumbering of their classes.
    fields: Arc<[(usize, Renumbered)]>,
    /// Images are drawn on demand: there is nothing to read.
    is_drawn: bool,
}

impl Datasets {
    /// Creates the input from one dataset.
    ///
    /// # Errors
    /// `Usage` if it has no sample.
    pub fn one(reader: Arc<dyn Reader>) -> Result<Self> {
        Self::weighted(vec![(reader, 1.0)])
    }

    /// Opens one dataset of any format, or the images of a recipe such as `fractal:svd?classes=20`.
    /// [`open_split`](Self::open_split) opens a dataset of several splits.
    ///
    /// # Errors
    /// As [`fdconvert_reader::open`] and [`one`](Self::one); `Usage`, with the names of the splits,
    /// if there are several.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_split(path, SplitChoice::Only)
    }

    /// Opens splits of one dataset.
    ///
    /// # Errors
    /// As [`fdconvert_reader::open_with`] and [`one`](Self::one).
    pub fn open_split(path: impl AsRef<Path>, splits: SplitChoice) -> Result<Self> {
        let how = OpenOptions::default().splits(splits);
        Self::one(fdconvert_reader::open_with(path, &how)?.into())
    }

    /// Creates the input from several datasets, mixed evenly over every epoch. A weight is the
    /// number of times that each sample of its dataset appears in an epoch: 1 is once; 2 is twice,
    /// with two crops; 0.5 is another half in every epoch.
    ///
    /// # Errors
    /// `Usage` for weights outside 0 to 1000, for a dataset without samples, and for datasets with
    /// images next to others without.
    pub fn weighted(readers: Vec<(Arc<dyn Reader>, f64)>) -> Result<Self> {
        let mut parts = Vec::with_capacity(readers.len());
        let mut offset = 0;
        for (reader, weight) in readers {
            if !(0.0..=MAX_WEIGHT).contains(&weight) {
                let what = format!("{weight} of {} is not from 0 to 1000", reader.name());
                return Err(Error::usage("weight", what));
            }
            let is_image = |field: &FieldSpec| field.kind == Kind::Image;
            let image = reader.schema().fields.iter().position(is_image);
            if reader.is_empty() {
                return Err(Error::usage("dataset", format!("{} is empty", reader.name())));
            }
            let (len, is_drawn) = (reader.len(), reader.as_generated().is_some());
            if weight > 0.0 && n_draws(len, weight) == 0 {
                let what = format!(
                    "{weight:?} of {} is less than one of its {len} samples in an epoch; take 0 or leave \
                     it out",
                    reader.name()
                );
                return Err(Error::usage("weight", what));
            }
            let fields = Arc::default();
            let (label, label_numbers) = (None, None);
            parts.push(Part {
                reader,
                weight,
                offset,
                image,
                label,
                label_numbers,
                fields,
                is_drawn,
            });
            offset += len;
        }
        let first =
            parts.first().ok_or_else(|| Error::usage("path", "the list of datasets is empty"))?;
        let has_images = |part: &Part| part.image.is_some();
        if let Some(other) = parts.iter().find(|part| has_images(part) != has_images(first)) {
            let (with, without) = if has_images(first) { (first, other) } else { (other, first) };
            let what = format!(
                "{} has no field of images, and {} has: load them one by one",
                without.reader.name(),
                with.reader.name()
            );
            return Err(Error::usage("dataset", what));
        }
        Ok(Self { parts, fields: Arc::default(), class_names: None })
    }

    /// Creates the input from datasets that each give a share of every epoch. An epoch has as many
    /// rows as the datasets have samples together; shares are relative, and rounded to whole rows,
    /// the largest remainders up. Within an epoch each sample of a dataset comes equally often, or
    /// once more than others.
    ///
    /// # Errors
    /// As for [`weighted`](Self::weighted); `Usage` for a share that is not above 0, for one that
    /// is less than one row, and for one that shows each sample over 1000 times.
    pub fn mixed(readers: Vec<(Arc<dyn Reader>, f64)>) -> Result<Self> {
        let wrong = |reader: &Arc<dyn Reader>, share: f64, what: &str| {
            Error::usage("share", format!("{share:?} of {} {what}", reader.name()))
        };
        let n_rows: u64 = readers.iter().map(|(reader, _)| reader.len()).sum();
        let total: f64 = readers.iter().map(|(_, share)| share).sum();
        let mut weighted = Vec::with_capacity(readers.len());
        let mut remainders = Vec::with_capacity(readers.len());
        for (reader, share) in readers {
            if !(share > 0.0 && total.is_finite()) {
                return Err(wrong(&reader, share, "is not a number above 0"));
            }
            let exact = n_rows as f64 * (share / total);
            remainders.push((exact.fract(), weighted.len()));
            weighted.push((reader, share, exact.floor() as u64));
        }
        let taken: u64 = weighted.iter().map(|(.., count)| count).sum();
        remainders.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, at) in remainders.into_iter().zip(taken..n_rows).map(|(it, _)| it) {
            if let Some((.., count)) = weighted.get_mut(at) {
                *count += 1;
            }
        }
        let parts = weighted.into_iter().map(|(reader, share, count)| {
            // An empty dataset is refused later.
            let weight = count as f64 / reader.len().max(1) as f64;
            match weight {
                0.0 => Err(wrong(&reader, share, "is less than one row of an epoch")),
                weight if weight > MAX_WEIGHT => {
                    let what = "shows each of its samples over 1000 times in an epoch";
                    Err(wrong(&reader, share, what))
                }
                weight => Ok((reader, weight)),
            }
        });
        Self::weighted(parts.collect::<Result<_>>()?)
    }

    /// Selects the label and the fields of batches of `n_rows`.
    ///
    /// # Errors
    /// `Usage`: for a dataset without such a field, with the names of its fields; for fields that
    /// batches cannot hold or with classes that cannot be numbered together, with the names of
    /// dataset and field.
    pub(crate) fn showing(mut self, label: &Label, asked: &Asked<'_>, n_rows: u32) -> Result<Self> {
        let column = self.choose_labels(label)?;
        self.number_labels(asked)?;
        let fields = Fields::new(asked, column, self.readers())?;
        Columns::check(&fields, n_rows)?;
        let mut shown = vec![Vec::new(); self.parts.len()];
        for spec in fields.specs() {
            let of_parts = self.parts.iter().map(|part| {
                let position = part.reader.schema().position(&spec.name)?;
                Some((&*part.reader, part.reader.schema().fields.get(position)?, position))
            });
            let of_parts: Vec<_> = of_parts.flatten().collect();
            let pairs = of_parts.iter().map(|(reader, field, _)| (*reader, *field));
            // The classes of the label are numbered with the fields, too.
            let is_label = self
                .parts
                .iter()
                .zip(&of_parts)
                .all(|(part, (.., position))| part.label == Some(*position));
            let wanted = asked.classes.filter(|_| is_label);
            let (_, numbers) = classes::join("fields", pairs, wanted)?;
            for ((shown, (.., position)), numbers) in shown.iter_mut().zip(&of_parts).zip(numbers) {
                shown.push((*position, numbers));
            }
        }
        for (part, shown) in self.parts.iter_mut().zip(shown) {
            part.fields = shown.into();
        }
        self.fields = Arc::new(fields);
        Ok(self)
    }

    /// Returns the fields in batches besides images and labels, and a label that is not an integer.
    pub(crate) fn fields(&self) -> &Arc<Fields> {
        &self.fields
    }

    /// Sets the side of drawn images without an explicit size, if rows need one of their own.
    ///
    /// # Errors
    /// `Usage` if they cannot be drawn at that size.
    pub(crate) fn drawn_for(mut self, side: Option<u32>) -> Result<Self> {
        let Some(side) = side else { return Ok(self) };
        for part in &mut self.parts {
            let Some(generated) = part.reader.as_generated() else { continue };
            let drawn = generated.drawn();
            if !drawn.is_free || drawn.side == side {
                continue;
            }
            let reader = generated.drawn_at(side).map_err(|cause| {
                let what = cause.remark().reworded(|cause| {
                    let name = part.reader.name();
                    format!(
                        "{name} cannot be drawn at the {side} pixels that a row needs: {cause}; take \
                         another size, or name one for the images (`size=` in a recipe)"
                    )
                });
                Error::usage("transform", what)
            })?;
            part.reader = reader.into();
        }
        Ok(self)
    }

    /// Returns the names of the fields that no batch shows: all except the first image, the label
    /// of each dataset and the requested [`fields`](crate::Options::fields). A [`Reader`] gives
    /// every field.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let mut names = Vec::new();
        for part in &self.parts {
            for (field, spec) in part.reader.schema().fields.iter().enumerate() {
                let is_shown = Some(field) == part.image
                    || Some(field) == part.label
                    || part.fields.iter().any(|(shown, _)| *shown == field);
                if !is_shown && !names.contains(&spec.name) {
                    names.push(spec.name.clone());
                }
            }
        }
        names
    }

    /// Returns true if the samples have images: all of them, or none.
    pub(crate) fn have_images(&self) -> bool {
        self.parts.iter().any(|part| part.image.is_some())
    }

    /// Returns the number of samples in all datasets.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.offset + part.reader.len())
    }

    /// Returns true if there is no sample, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Yields the datasets in their given order.
    pub fn readers(&self) -> impl Iterator<Item = &Arc<dyn Reader>> + Clone {
        self.parts.iter().map(|part| &part.reader)
    }

    /// Returns, for each dataset, its number of samples and its draws per epoch.
    pub(crate) fn counts(&self) -> Vec<(u64, u64)> {
        let count = |part: &Part| (part.reader.len(), n_draws(part.reader.len(), part.weight));
        self.parts.iter().map(count).collect()
    }

    /// Returns a fingerprint of all datasets and weights; a state with another one is refused.
    ///
    /// # Errors
    /// The errors of the readers.
    pub(crate) fn fingerprint(&self) -> Result<u64> {
        let mut hash = Xxh3::new();
        for part in &self.parts {
            hash.update(&part.reader.fingerprint(Look::SizesSparing)?);
            hash.update(&part.reader.len().to_le_bytes());
            hash.update(&part.weight.to_le_bytes());
        }
        Ok(hash.digest())
    }

    /// Returns the datasets as they are in that epoch.
    pub(crate) fn at_epoch(&self, epoch: u64) -> Result<Self> {
        let parts = self.parts.iter().map(|part| {
            let generated = part.reader.as_generated();
            let new = generated.map_or(Ok(None), |generated| generated.at_epoch(epoch))?;
            let reader = new.map_or_else(|| part.reader.clone(), Arc::from);
            Ok(Part { reader, ..part.clone() })
        });
        let parts = parts.collect::<Result<_>>()?;
        Ok(Self { parts, fields: self.fields.clone(), class_names: self.class_names.clone() })
    }

    /// Returns the number of a sample among all samples of all datasets.
    pub(crate) fn number(&self, Located { dataset, index }: Located) -> u64 {
        self.parts.get(dataset as usize).map_or(index, |part| part.offset.saturating_add(index))
    }

    /// Returns the sizes of the groups of a dataset.
    pub(crate) fn strata(&self, dataset: u32) -> Vec<u64> {
        self.parts.get(dataset as usize).map_or_else(Vec::new, |part| part.reader.strata())
    }

    /// Returns the number in its dataset of a sample of a group.
    pub(crate) fn stratum_sample(&self, dataset: u32, stratum: usize, position: u64) -> u64 {
        let part = self.parts.get(dataset as usize);
        part.map_or(position, |part| part.reader.stratum_sample(stratum, position))
    }

    /// Returns the location of a sample's image.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn extent(&self, Located { dataset, index }: Located) -> Result<Option<Extent>> {
        let part = self.part(dataset)?;
        sigbus::caught(|| part.reader.image_extent(index))
    }

    /// Returns the bytes of a sample's image without reading it.
    ///
    /// # Errors
    /// The errors of the reader; `Usage` for a dataset that does not know them.
    pub(crate) fn image_len(&self, located: Located) -> Result<u64> {
        if let Some(extent) = self.extent(located)? {
            return Ok(extent.len);
        }
        let reader = &self.part(located.dataset)?.reader;
        sigbus::caught(|| reader.bytes(located.index, Amount::Known))?.ok_or_else(|| {
            let what = format!(
                "{} does not know the size of sample {} without reading it, so what fits into \
                 the cache cannot be chosen",
                reader.name(),
                located.index
            );
            Error::usage("cache_bytes", what)
        })
    }

    /// Returns width and height of a sample's image, upright if `orient`. They are those of its
    /// header, but of the index for a dataset in a store, where a read is a request: there a photo
    /// that is stored sideways counts as it is stored. An image that cannot be read has 1x1.
    pub(crate) fn image_size(&self, located: Located, orient: bool) -> (u32, u32) {
        let Located { dataset, index } = located;
        // Drawn images are square.
        let Some(part) = self.part(dataset).ok().filter(|part| !part.is_drawn) else {
            return (1, 1);
        };
        let reader = &part.reader;
        let known = || sigbus::caught(|| reader.image_size(index)).ok().flatten();
        let by_header = || {
            let read = || {
                let sample = reader.get(index)?;
                Ok(match part.image.and_then(|field| sample.values.get(field)) {
                    Some(Value::Image(image)) => {
                        let turned = if orient { orientation(image) } else { 1 };
                        Some(upright_size(image, turned))
                    }
                    _ => None,
                })
            };
            sigbus::caught(read).ok().flatten()
        };
        let size = match reader.facts().reads_ahead || !orient {
            true => known().or_else(by_header),
            false => by_header(),
        };
        size.unwrap_or((1, 1))
    }

    /// Estimates the bytes that an announcement of a sample keeps in memory.
    pub(crate) fn ahead_bytes(&self, located: Located) -> u64 {
        match self.extent(located) {
            Ok(Some(extent)) => extent.len,
            _ => {
                let part = self.part(located.dataset);
                part.map_or(0, |part| part.reader.ahead_bytes(located.index))
            }
        }
    }

    /// Returns the name of a dataset, for messages.
    pub(crate) fn name(&self, dataset: u32) -> String {
        self.parts
            .get(dataset as usize)
            .map_or_else(String::new, |part| part.reader.name().to_owned())
    }

    /// Returns the version of each dataset that can be edited, with its name.
    #[must_use]
    pub fn versions(&self) -> Vec<Option<(String, u64)>> {
        let version = |part: &Part| {
            let facts = part.reader.facts();
            Some((facts.name.clone(), facts.version?))
        };
        self.parts.iter().map(version).collect()
    }

    /// Returns the key of a sample, for messages.
    pub(crate) fn key(&self, Located { dataset, index }: Located) -> String {
        let Some(part) = self.parts.get(dataset as usize) else { return String::new() };
        sigbus::caught(|| Ok(part.reader.key(index))).unwrap_or_default()
    }

    /// Checks the key and the label of a sample, but not its image. Runs within [`sigbus::caught`].
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn verify_row(&self, located: Located) -> Result<()> {
        self.part(located.dataset)?.reader.verify_row(located.index)
    }

    /// Reads a sample, and checks its stored checksums if `verify`. Runs within [`sigbus::caught`].
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn fetch(&self, located: Located, verify: bool) -> Result<Fetched> {
        let Located { dataset, index } = located;
        let part = self.part(dataset)?;
        if verify {
            part.reader.verify_row(index)?;
            part.reader.verify_sample(index)?;
        }
        self.fetched(part, index, part.reader.get(index)?)
    }

    /// Reads a sample and compares all its data with the stored checksums. Runs within
    /// [`sigbus::caught`].
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn fetch_compared(&self, Located { dataset, index }: Located) -> Result<Fetched> {
        let part = self.part(dataset)?;
        let is_encoded = |image| match image {
            Image::Encoded(encoded) => Ok(encoded),
            _ => Err(Error::sample(part.reader.key(index), "its image is not stored")),
        };
        let sample = part.reader.read(index)?.try_map_image(is_encoded)?;
        self.fetched(part, index, sample)
    }

    fn fetched(&self, part: &Part, index: u64, sample: Sample<Encoded>) -> Result<Fetched> {
        let (key, mut image, values) = part.take(sample, &self.fields)?;
        // Damaged entry points do not damage the image: it only takes longer to decode without
        // them, and `verify` finds the damage.
        if let Some(field) = part.image {
            image.entry_points = part.reader.entry_points(index, field).unwrap_or_default();
        }
        Ok(Fetched { key, image, values, is_owned: false })
    }

    /// Returns true if the images of a dataset are drawn, so that there is nothing to fetch.
    pub(crate) fn have_drawn(&self) -> bool {
        self.parts.iter().any(|part| part.is_drawn)
    }

    pub(crate) fn is_drawn(&self, dataset: u32) -> bool {
        self.parts.get(dataset as usize).is_some_and(|part| part.is_drawn)
    }

    /// # Errors
    /// The errors of the reader.
    pub(crate) fn draw(&self, Located { dataset, index }: Located) -> Result<DrawnSample> {
        let part = self.part(dataset)?;
        let (key, image, values) = part.take(part.reader.read(index)?, &self.fields)?;
        Ok(DrawnSample { key, image, values })
    }

    /// Returns the numbers that a sample is drawn from, and its label, if both are known without
    /// drawing it. Other fields describe the drawn image, so that they prevent this.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn lanes(
        &self,
        Located { dataset, index }: Located,
    ) -> Result<Option<(LanesImage, RowValues)>> {
        let part = self.part(dataset)?;
        if !self.fields.is_empty() {
            return Ok(None);
        }
        let Some(generated) = part.reader.as_generated() else { return Ok(None) };
        let Some(image) = generated.lanes(index)? else { return Ok(None) };
        let label = match part.label {
            None => Some(0),
            field if field == part.reader.schema().label() => part.reader.label(index)?,
            Some(_) => None,
        };
        let Some(label) = label else { return Ok(None) };
        let key = || part.reader.key(index);
        let label = renumbered(label, &part.label_numbers, key)?;
        Ok(Some((image, RowValues { label, fields: None })))
    }

    fn part(&self, dataset: u32) -> Result<&Part> {
        let part = self.parts.get(dataset as usize);
        part.ok_or_else(|| Error::usage("dataset", format!("there is no {dataset}")))
    }
}

impl Part {
    /// Takes the key, the image and the requested values of a sample.
    fn take<I: MaybeStored>(
        &self,
        sample: Sample<I>,
        fields: &Fields,
    ) -> Result<(String, I, RowValues)> {
        let Sample { key, mut values } = sample;
        let label = match self.label.map(|label| values.get(label)) {
            None => 0,
            Some(Some(Value::Int(label))) => {
                renumbered(*label, &self.label_numbers, || key.clone())?
            }
            Some(_) => return Err(Error::sample(key, "it has no label")),
        };
        if self.image.is_some_and(|image| image >= values.len()) {
            return Err(Error::sample(key, "it has no image"));
        }
        let fields = match fields.is_empty() {
            true => None,
            false => Some(self.field_values(&key, &mut values, fields)?),
        };
        let Some(image) = self.image else {
            return Ok((key, I::nothing(), RowValues { label, fields }));
        };
        match values.swap_remove(image) {
            Value::Image(image) => Ok((key, image, RowValues { label, fields })),
            _ => Err(Error::sample(key, "it has no image")),
        }
    }

    fn field_values<I: MaybeStored>(
        &self,
        key: &str,
        values: &mut [Value<I>],
        fields: &Fields,
    ) -> Result<Arc<[FieldValue]>> {
        let of = |((position, numbers), field): (&(usize, Renumbered), &FieldSpec)| {
            let value = values.get_mut(*position);
            let value =
                value.and_then(|value| take_value(value, &field.kind)).ok_or_else(|| {
                    let (name, kind) = (&field.name, field.kind.name());
                    Error::sample(key, format!("its field `{name}` does not hold a {kind}"))
                })?;
            Ok(match value {
                Value::Int(number) => Value::Int(renumbered(number, numbers, || key.to_owned())?),
                value => value,
            })
        };
        self.fields.iter().zip(fields.specs()).map(of).collect()
    }
}

/// Returns the number of samples that a dataset contributes to an epoch. A weight of 1 is exact for
/// datasets of more than 2^53 samples, too.
fn n_draws(len: u64, weight: f64) -> u64 {
    if weight == 1.0 { len } else { (len as f64 * weight).round() as u64 }
}
