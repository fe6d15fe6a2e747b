use crate::{Balance, Positions, Selection, Sharding, Split, mixture};
use fdconvert_codec::{Encode, Form, Policy};
use fdconvert_core::{Codec, Color, Common, Error, Format, ImageHeader, Result, Shard, Source};
use std::collections::BTreeSet;

/// Which samples go into which file, in which order. A pure function of source and request: no
/// clock, no machine, no thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Index in the source of every planned sample, in the order of writing; `None` for all of
    /// the source in its own order.
    pub order: Option<Vec<u64>>,
    /// Output files, in order; their ranges are positions in the order and cover it once.
    pub shards: Vec<Shard>,
    /// What all planned samples have in common.
    pub common: Common,
    /// Positions in the order whose images become BMP; `None` unless the policy is a mixture.
    pub bmp: Option<Positions>,
}

/// What to plan.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// Which samples of the source.
    pub selection: Selection,
    /// Seed of a global shuffle; `None` keeps the source's order.
    pub shuffle: Option<u64>,
    /// Parts of the dataset, e.g. `train` and `val`; empty for one called `train`.
    pub splits: Vec<Split>,
    /// Seed of the choice which sample goes into which split.
    pub split_seed: u64,
    /// How a split is cut into shards; formats of one file take no notice.
    pub sharding: Sharding,
    /// What a mixture by benefit balances, in place of its share.
    pub balance: Option<Balance>,
}

impl Plan {
    /// All samples of the source, in its order, in one file.
    #[must_use]
    pub fn single_file(n_samples: u64) -> Self {
        Self {
            order: None,
            shards: vec![Shard::whole(n_samples)],
            common: Common::default(),
            bmp: None,
        }
    }

    /// Plans a dataset. Reads no image unless shards are to be of a size that encoding decides:
    /// then a few are encoded to learn how large they become; or the policy is a mixture: then the
    /// headers of all are looked at.
    ///
    /// # Errors
    /// `Usage` for a selection or splits that cannot be; those of the source.
    pub fn new(
        source: &dyn Source,
        policy: &Policy,
        format: &dyn Format,
        request: &PlanRequest,
    ) -> Result<Self> {
        let mut order = request.selection.apply(source)?;
        if let Some(seed) = request.shuffle {
            let mut indices = order.unwrap_or_else(|| (0..source.len()).collect());
            crate::select::shuffle(&mut indices, seed);
            order = Some(indices);
        }
        let n_samples = order.as_ref().map_or(source.len(), |indices| indices.len() as u64);
        if n_samples == 0 {
            return Err(Error::usage("source", "there is no sample to pack"));
        }
        let splits = match &request.splits[..] {
            [] => vec![(Shard::DEFAULT_SPLIT.to_owned(), n_samples)],
            splits => {
                let mut indices = order.unwrap_or_else(|| (0..source.len()).collect());
                let sizes = crate::select::split(source, &mut indices, splits, request.split_seed)?;
                order = Some(indices);
                sizes
            }
        };
        let mut plan = Self { order, shards: Vec::new(), common: Common::default(), bmp: None };
        if let Some(mixture) = policy.mixture {
            let balance = request.balance.as_ref();
            let bmp = mixture::choose(source, policy, mixture, balance, format, &plan, n_samples);
            plan.bmp = Some(bmp);
        }
        let mut start = 0;
        for (split, len) in splits {
            let range = start..start + len;
            start = range.end;
            let cuts = if format.is_sharded() {
                request.sharding.cut(source, policy, format, &plan, range.clone())?
            } else {
                vec![range]
            };
            let of = cuts.len();
            plan.shards.extend(cuts.into_iter().enumerate().map(|(number, samples)| Shard {
                number,
                of,
                samples,
                split: split.clone(),
            }));
        }
        if format.is_sharded() {
            plan.common = common(source, policy, format, &plan);
        }
        Ok(plan)
    }

    /// Where in the source the sample at this position is.
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

    /// The stored form of the image at this position, where the policy is a mixture.
    #[must_use]
    pub fn form(&self, position: u64) -> Form {
        let is_bmp = self.bmp.as_ref().is_some_and(|bmp| bmp.contains(position));
        if is_bmp { Form::Bmp } else { Form::Encoded }
    }

    /// Number of planned samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.samples.end - shard.samples.start).sum()
    }

    /// Whether nothing is planned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names of the splits, in order.
    #[must_use]
    pub fn splits(&self) -> BTreeSet<&str> {
        self.shards.iter().map(|shard| shard.split.as_str()).collect()
    }
}

/// What all samples have in common as far as names and rows tell.
fn common(source: &dyn Source, policy: &Policy, format: &dyn Format, plan: &Plan) -> Common {
    let mut codec = Agreed::default();
    let mut extension = Agreed::default();
    for position in 0..plan.len() {
        let index = plan.source_index(position);
        codec.see(stored_codec(source.codec_hint(index), policy, format));
        let key = source.key(index);
        let name = key.rsplit('/').next().unwrap_or_default();
        extension.see(name.rsplit_once('.').map(|(_, extension)| extension.to_owned()));
        if codec.is_over() && extension.is_over() {
            break;
        }
    }
    Common { codec: codec.value(), extension: extension.value() }
}

/// What an image of that codec will probably be stored as.
fn stored_codec(hint: Option<Codec>, policy: &Policy, format: &dyn Format) -> Option<Codec> {
    if policy.mixture.is_some() {
        return None;
    }
    match policy.encode {
        Encode::Jpeg => Some(Codec::Jpeg),
        Encode::Png => Some(Codec::Png),
        Encode::Bmp => Some(Codec::Bmp),
        Encode::Raw => Some(Codec::Raw),
        Encode::Smart { .. } | Encode::Mix { .. } => None,
        Encode::Keep => {
            let codec = hint?;
            let header = ImageHeader { codec, color: Color::Rgb, ..ImageHeader::raw(1, 1, 3) };
            let resized = policy.size.is_some() && codec != Codec::Jpeg;
            Some(if format.holds(&header) && !resized { codec } else { format.fallback() })
        }
    }
}

/// One value as long as everybody says the same.
struct Agreed<T> {
    /// Nothing seen; one value; or no agreement.
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
