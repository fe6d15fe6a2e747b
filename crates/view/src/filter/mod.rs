//! Which samples a request is about.
//!
//! A filter is evaluated piece by piece, as far as what it needs is known, and is taken up there by
//! the next request: so it keeps up with the catalog, with the check of checksums, and with a search
//! for a text, which takes half a second at a time. The last few are remembered.

mod parse;
mod verdict;

pub(crate) use verdict::{Piece, Verdicts};

use crate::{dataset::Dataset, server::Shared};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Filters that are remembered, four bytes for each sample that they keep.
const REMEMBERED: usize = 8;

/// Longest time for which one request searches keys.
const PATIENCE: Duration = Duration::from_millis(400);

/// Conditions that all must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filter {
    /// One of these, in lower case, is in the key.
    pub(crate) texts: Vec<String>,
    /// The check found the sample damaged.
    pub(crate) damaged: bool,
    pub(crate) conditions: Vec<Condition>,
}

/// Alternatives for one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// Of the parameter.
    pub(crate) name: String,
    column: Column,
    tests: Vec<Test>,
}

/// Property of samples that a condition looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Class,
    Codec,
    Width,
    Height,
    Bytes,
    Aspect,
    Split,
    /// A further field of the catalog.
    Further(usize),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Int(i64),
    Range(Range),
    Codec(u8),
    Text(String),
}

/// Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn holds(self, value: f64) -> bool {
        value >= self.least && value <= self.most
    }
}

impl Test {
    fn int(&self) -> Option<i64> {
        if let Self::Int(int) = self { Some(*int) } else { None }
    }

    fn range(&self) -> Option<Range> {
        if let Self::Range(range) = self { Some(*range) } else { None }
    }

    fn codec(&self) -> Option<u8> {
        if let Self::Codec(codec) = self { Some(*codec) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Filter {
    /// Tells one filter from another.
    pub(crate) fn key(&self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the columns of the catalog are needed.
    fn needs_catalog(&self) -> bool {
        self.conditions.iter().any(|condition| condition.column != Column::Split)
    }

    /// The part that is about keys.
    fn search(&self) -> Self {
        Self { texts: self.texts.clone(), ..Self::default() }
    }
}

/// The samples that a filter keeps.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    All,
    These(Arc<Vec<u32>>),
}

/// Samples that a filter keeps, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Samples that were looked at: those below this number.
    pub(crate) scanned: u64,
    pub(crate) kept: Kept,
    samples: u64,
}

impl Selection {
    pub(crate) fn len(&self) -> u64 {
        match &self.kept {
            Kept::All => self.samples,
            Kept::These(these) => these.len() as u64,
        }
    }

    /// The samples from the place `start` on, at most `count`.
    pub(crate) fn page(&self, start: u64, count: u64) -> Vec<u64> {
        let end = start.saturating_add(count).min(self.len());
        match &self.kept {
            Kept::All => (start..end).collect(),
            Kept::These(these) => {
                let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
                    return Vec::new();
                };
                let page = these.get(start..end).unwrap_or_default();
                page.iter().map(|index| u64::from(*index)).collect()
            }
        }
    }

    /// The place of a sample.
    pub(crate) fn position(&self, sample: u64) -> Option<u64> {
        match &self.kept {
            Kept::All => (sample < self.samples).then_some(sample),
            Kept::These(these) => {
                let sample = u32::try_from(sample).ok()?;
                these.binary_search(&sample).ok().map(|at| at as u64)
            }
        }
    }

    /// Returns whether nothing is to be added any more.
    pub(crate) fn is_complete(&self) -> bool {
        self.scanned >= self.samples
    }
}

/// Progress of evaluating a filter.
#[derive(Debug, Default)]
struct Progress {
    scanned: u64,
    kept: Arc<Vec<u32>>,
}

/// The last few filters.
#[derive(Debug, Default)]
pub(crate) struct Selections(Mutex<VecDeque<(String, Arc<Mutex<Progress>>)>>);

impl Selections {
    /// The progress of a filter, which becomes the latest.
    fn progress(&self, filter: &Filter) -> Arc<Mutex<Progress>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = filter.key();
        let at = known.iter().position(|(other, _)| *other == key);
        let entry = at.and_then(|at| known.remove(at)).unwrap_or_else(|| (key, Arc::default()));
        let progress = entry.1.clone();
        known.push_front(entry);
        known.truncate(REMEMBERED);
        progress
    }
}

impl Dataset {
    /// The samples that a filter keeps, as far as it can be said now.
    pub(crate) fn select(&self, filter: &Filter) -> Selection {
        let samples = self.len();
        if filter.is_everything() {
            return Selection { scanned: samples, kept: Kept::All, samples };
        }
        let progress = self.selections.progress(filter);
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        self.extend(filter, &mut progress);
        Selection { scanned: progress.scanned, kept: Kept::These(progress.kept.clone()), samples }
    }

    /// Looks at the samples that nothing was said of yet.
    fn extend(&self, filter: &Filter, progress: &mut Progress) {
        let began = Instant::now();
        let published = self.catalog.published();
        let mut limit = self.catalog.len();
        let needs_catalog = filter.needs_catalog();
        if needs_catalog {
            limit = limit.min(published.scanned());
        }
        // The search alone is remembered, too: it takes longest, and other filters change more often.
        let is_search = *filter == filter.search();
        let found = (!is_search && !filter.texts.is_empty()).then(|| self.select(&filter.search()));
        if let Some(found) = &found {
            limit = limit.min(found.scanned);
        }
        let damaged = filter.damaged.then(|| self.damage.damaged());
        if let Some((checked, _)) = &damaged {
            limit = limit.min(*checked);
        }
        let columns = needs_catalog.then_some(&published);
        while progress.scanned < limit {
            let Some(piece) = Piece::at(progress.scanned, limit, columns) else { return };
            let verdicts = Verdicts::of(&piece, &filter.conditions, self, &published);
            let kept = (piece.start..piece.end()).zip(0..).filter(|(index, at)| {
                let is_found = match &found {
                    Some(found) => found.position(*index).is_some(),
                    None => filter.texts.is_empty() || self.key_holds(*index, &filter.texts),
                };
                let is_damaged = damaged.as_ref().is_none_or(|(_, damaged)| {
                    u32::try_from(*index).is_ok_and(|index| damaged.binary_search(&index).is_ok())
                });
                is_damaged && verdicts.keeps(*at) && is_found
            });
            let kept = kept.filter_map(|(index, _)| u32::try_from(index).ok());
            Arc::make_mut(&mut progress.kept).extend(kept);
            progress.scanned = piece.end();
            if is_search && began.elapsed() > PATIENCE {
                return;
            }
        }
        // What lies behind the last position of 32 bits is never looked at.
        if progress.scanned >= self.catalog.len() {
            progress.scanned = self.len();
        }
    }

    fn key_holds(&self, index: u64, texts: &[String]) -> bool {
        let key = self.reader().key(index).to_lowercase();
        texts.iter().any(|text| key.contains(text.as_str()))
    }
}

/// Waits until a filter is complete, for what is of no use before.
pub(crate) fn complete(
    shared: &Shared,
    dataset: &Dataset,
    filter: &Filter,
    patience: Duration,
) -> Selection {
    let began = Instant::now();
    loop {
        let selection = dataset.select(filter);
        if selection.is_complete() || began.elapsed() > patience || shared.ended.is_set() {
            return selection;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
