use crate::{
    Balance, OnError, Positions, Selection, Sharding, Split, mixture, own_splits,
    sharding::Measure, unreadable::Unreadable, whole,
};
use fdconvert_codec::{Encode, Form, Policy};
use fdconvert_core::{Codec, Color, Common, Format, ImageHeader, Remark, Result, Shard, Source};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// Assignment of samples to files, and their order. A pure function of source and request:
/// independent of clock, machine and threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Index in the source of every planned sample, in the order of writing; `None` for the whole
    /// source in its order.
    pub order: Option<Vec<u64>>,
    /// Output files, in order; their ranges are positions in the order and cover it once.
    pub shards: Vec<Shard>,
    /// Properties that all planned samples share.
    pub common: Common,
    /// Positions of images that become BMP; `None` unless the policy is a mixture.
    pub bmp: Option<Positions>,
    /// Positions of samples that the plan needed and could not read, the first 100,000 with the
    /// reason. The run leaves them out even if they can be read by then, because the rest of the
    /// plan depends on it. Empty unless the plan was made with [`OnError::Skip`].
    pub unreadable: BTreeMap<u64, Option<Remark>>,
}

/// Request for a plan.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// Selection of the source's samples.
    pub selection: Selection,
    /// Seed of a global shuffle; `None` keeps the source's order.
    pub shuffle: Option<u64>,
    /// Whether to treat the splits of the source as one dataset.
    pub mix_splits: bool,
    /// Parts of the dataset, e.g. `train` and `val`; empty for those of the source, or else for
    /// one. With splits here, the planned samples of the source must be of one split, unless splits
    /// are mixed.
    pub splits: Vec<Split>,
    /// Whether to leave out samples in none of the splits. Otherwise, shares that do not add up to
    /// 1 are an error.
    pub drop_rest: bool,
    /// Name of the only split; `None` for `train`.
    pub only_split: Option<String>,
    /// Seed of the assignment of samples to splits.
    pub split_seed: u64,
    /// Division of a split into shards; formats of one file ignore it.
    pub sharding: Sharding,
    /// Resources that a mixture by benefit balances, instead of its share.
    pub balance: Option<Balance>,
    /// Reaction if the plan needs a sample that cannot be read. `None` leaves it to the runs of the
    /// plan: such a sample does not influence the plan. Failures of the system that concern no
    /// single sample, or may pass, are errors unless samples are skipped.
    pub on_error: Option<OnError>,
}

impl Plan {
    /// Creates a plan for all samples of the source, in its order, in one file.
    #[must_use]
    pub fn single_file(n_samples: u64) -> Self {
        Self {
            order: None,
            shards: vec![Shard::whole(n_samples)],
            common: Common::default(),
            bmp: None,
            unreadable: BTreeMap::new(),
        }
    }

    /// Plans a dataset. Reads no image unless encoding determines the size of shards, which
    /// requires encoding a few samples, or the policy is a mixture, which requires reading the
    /// headers of all.
    ///
    /// # Errors
    /// `Usage` for an invalid selection or splits, and for an encoding that the format cannot hold;
    /// the errors of the source.
    pub fn new(
        source: &dyn Source,
        policy: &Policy,
        format: &dyn Format,
        request: &PlanRequest,
    ) -> Result<Self> {
        policy.check_format(format)?;
        crate::open::check_plan(source, policy, format, request)?;
        let mut order = request.selection.apply(source)?;
        if let Some(seed) = request.shuffle {
            let mut indices = order.unwrap_or_else(|| (0..source.len()).collect());
            crate::select::shuffle(&mut indices, seed);
            order = Some(indices);
        }
        let n_samples = order.as_ref().map_or(source.len(), |indices| indices.len() as u64);
        if n_samples == 0 {
            return Err(request.selection.took_nothing(source.len()));
        }
        let own = if request.mix_splits { Vec::new() } else { source.splits().to_vec() };
        let mut splits = if own.is_empty() {
            let name = request.only_split.as_deref().unwrap_or(Shard::DEFAULT_SPLIT);
            vec![(name.to_owned(), n_samples)]
        } else {
            own_splits::group(&own, &mut order, n_samples)?
        };
        if !request.splits.is_empty() {
            if splits.len() > 1 {
                return Err(own_splits::refused(&splits));
            }
            let mut indices = order.unwrap_or_else(|| (0..source.len()).collect());
            splits = crate::select::split(source, &mut indices, request)?;
            order = Some(indices);
        }
        let unreadable = Unreadable::new(request.on_error);
        let mut plan = Self {
            order,
            shards: Vec::new(),
            common: Common::default(),
            bmp: None,
            unreadable: BTreeMap::new(),
        };
        if let Some(mixture) = policy.mixture {
            let choice = mixture::Choice { policy, mixture, balance: request.balance.as_ref() };
            let bmp = choice.choose(source, format, &plan, n_samples, &unreadable)?;
            plan.bmp = Some(bmp);
        }
        let (mut start, is_divided) = (0, splits.len() > 1);
        for (split, len) in splits {
            let range = start..start + len;
            start = range.end;
            let cuts = if format.is_sharded() {
                let how = Measure { source, policy, format, plan: &plan, unreadable: &unreadable };
                request.sharding.cut(&how, range.clone(), is_divided.then_some(&split))?
            } else {
                vec![range]
            };
            // Of a source that has not ended, more are planned than there will be.
            let is_open = format.is_sharded() && source.facts().is_open();
            let of = if is_open { 0 } else { cuts.len() };
            plan.shards.extend(cuts.into_iter().enumerate().map(|(number, samples)| Shard {
                number,
                of,
                samples,
                split: split.clone(),
            }));
        }
        if format.is_sharded() {
            plan.common = common(source, policy, format, &plan)?;
        }
        if format.capabilities().whole_images {
            plan.common.whole_images = whole::fields(source, policy, format);
        }
        plan.unreadable = unreadable.into_reasons();
        Ok(plan)
    }

    /// Returns the index in the source of the sample at this position.
    #[must_use]
    pub fn source_index(&self, position: u64) -> u64 {
        match &self.order {
            None => position,
            // Positions come from the plan's own shards.
            Some(order) => usize::try_from(position)
                .ok()
                .and_then(|at| order.get(at))
                .copied()
                .unwrap_or(u64::MAX),
        }
    }

    /// Returns the stored form of the image at this position, if the policy is a mixture.
    #[must_use]
    pub fn form(&self, position: u64) -> Form {
        let is_bmp = self.bmp.as_ref().is_some_and(|bmp| bmp.contains(position));
        if is_bmp { Form::Bmp } else { Form::Encoded }
    }

    /// Returns the number of planned samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.samples.end - shard.samples.start).sum()
    }

    /// Returns true if the plan is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of the splits, in order.
    #[must_use]
    pub fn splits(&self) -> BTreeSet<&str> {
        self.shards.iter().map(|shard| shard.split.as_str()).collect()
    }
}

/// Returns the common properties of all samples, as far as names and rows show them.
fn common(
    source: &dyn Source,
    policy: &Policy,
    format: &dyn Format,
    plan: &Plan,
) -> Result<Common> {
    let mut codec = Agreed::default();
    let mut extension = Agreed::default();
    let fields = 0..source.schema().fields.len();
    let facts = source.facts();
    let mut members: Vec<_> = fields.map(|field| facts.field(field).member.clone()).collect();
    // Images of several parts, such as `left.png`: the whole name is the extension.
    let image = source.schema().first_image().and_then(|image| members.get(image)?.clone());
    let dotted = image.filter(|name| name.contains('.'));
    // The samples that an open source has already represent all.
    let n_samples = if facts.is_open() { facts.n_ready().min(plan.len()) } else { plan.len() };
    for position in 0..n_samples {
        let index = plan.source_index(position);
        codec.see(stored_codec(source.codec_hint(index)?, policy, format));
        let key = source.key(index);
        let name = key.rsplit('/').next().unwrap_or_default();
        let ends_in = |dotted: &&String| {
            name.strip_suffix(dotted.as_str()).is_some_and(|stem| stem.ends_with('.'))
        };
        let last = || name.rsplit_once('.').map(|(_, extension)| extension.to_owned());
        extension.see(dotted.as_ref().filter(ends_in).cloned().or_else(last));
        if codec.is_over() && extension.is_over() {
            break;
        }
    }
    let (codec, extension) = (codec.value(), extension.value());
    let distinct_stems = extension.is_none() && has_distinct_stems(source, plan, n_samples);
    if members.iter().all(Option::is_none) {
        members.clear();
    }
    Ok(Common { codec, extension, distinct_stems, members, whole_images: Vec::new() })
}

/// Returns true if no two keys differ only in the extension of an image. Takes eight bytes per
/// sample; a collision of hashes only costs extensions that keys could have lost.
fn has_distinct_stems(source: &dyn Source, plan: &Plan, n_samples: u64) -> bool {
    let positions = 0..n_samples;
    let hash = |position| {
        let key = source.key(plan.source_index(position));
        xxh3_64(Codec::strip_extension(&key).unwrap_or(&key).as_bytes())
    };
    let mut hashes: Vec<u64> = positions.map(hash).collect();
    hashes.sort_unstable();
    hashes.is_sorted_by(|before, after| before < after)
}

/// Returns the likely stored codec of an image of that codec.
fn stored_codec(hint: Option<Codec>, policy: &Policy, format: &dyn Format) -> Option<Codec> {
    if policy.mixture.is_some() {
        return None;
    }
    match policy.encode {
        Encode::Jpeg => Some(Codec::Jpeg),
        Encode::Png => Some(Codec::Png),
        Encode::Bmp => Some(Codec::Bmp),
        Encode::Webp => Some(Codec::Webp),
        Encode::Raw => Some(Codec::Raw),
        Encode::Smart { .. } | Encode::Mix { .. } => None,
        Encode::Keep => {
            let codec = hint?;
            let header = ImageHeader { codec, color: Color::Rgb, ..ImageHeader::raw(1, 1, 3) };
            let changes =
                policy.must_decode(codec) || policy.size.is_some() && codec != Codec::Jpeg;
            Some(if format.holds(&header) && !changes { codec } else { format.fallback() })
        }
    }
}

/// One value while all agree.
struct Agreed<T> {
    /// No value yet; one value; or no agreement.
    state: Option<Option<T>>,
}

impl<T> Default for Agreed<T> {
    fn default() -> Self {
        Self { state: None }
    }
}

impl<T: PartialEq> Agreed<T> {
    fn see(&mut self, value: Option<T>) {
        match &self.state {
            None => self.state = Some(value),
            Some(seen) if *seen == value => {}
            Some(_) => self.state = Some(None),
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, Some(None))
    }

    fn value(self) -> Option<T> {
        self.state.flatten()
    }
}
