//! The samples to which a request applies.
//!
//! A filter is evaluated piece by piece, as far as the columns that it needs are known, and the
//! next request continues there: so it keeps up with the catalog, with the check of checksums, and
//! with a search of keys or objects, which takes up to half a second per request. The last few
//! filters are cached.

mod names;
mod verdict;

pub(crate) use names::{Column, Names, quoted, split_of};
pub(crate) use verdict::{Piece, Verdicts};

use crate::{answer::Failure, catalog::Texts, dataset::Dataset, request::Asked};
use fdconvert_pipeline::{Cancel, Expression};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Number of cached filters; each takes four bytes per kept sample.
const REMEMBERED: usize = 8;

/// Number of samples whose objects are read between two looks at the clock.
const READ_AT_ONCE: u64 = 64;

/// Longest time for which one request searches keys and objects.
const PATIENCE: Duration = Duration::from_millis(400);

/// Parameters with another purpose.
const OTHERS: [&str; 6] = ["set", "start", "count", "sample", "side", "object"];

/// Conditions that all must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filter {
    /// True to keep only samples found damaged by the check.
    pub(crate) damaged: bool,
    /// Conditions on keys and objects, which are read sample by sample.
    pub(crate) searches: Vec<Condition>,
    /// All other conditions, one for each set of columns.
    pub(crate) conditions: Vec<Condition>,
}

/// The parts of an expression that use the same columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) columns: Vec<Column>,
    parts: Vec<Expression>,
}

impl Filter {
    /// Parses the filter of a request.
    ///
    /// # Errors
    /// For an expression that is invalid for this dataset, and for unknown parameters.
    pub(crate) fn parse(asked: &Asked, dataset: &Dataset) -> Result<Self, Failure> {
        let known = |name: &str| OTHERS.contains(&name) || name == "where" || name == "damaged";
        if let Some((name, _)) = asked.parameters().find(|(name, _)| !known(name)) {
            return Err(Failure::asked_wrong(format!("there is no parameter `{name}`")));
        }
        let damaged = match asked.one("damaged")? {
            None => false,
            Some("1") => true,
            Some(other) => {
                let what = format!("`damaged={other}` means nothing: it is 1 or not there");
                return Err(Failure::asked_wrong(what));
            }
        };
        let mut filter = Self { damaged, ..Self::default() };
        let Some(text) = asked.one("where")? else { return Ok(filter) };
        let expression =
            Expression::parse(text, &dataset.names.typed).map_err(Failure::asked_wrong)?;
        for part in expression.conjuncts() {
            filter.add(part, dataset)?;
        }
        Ok(filter)
    }

    fn add(&mut self, part: Expression, dataset: &Dataset) -> Result<(), Failure> {
        let names = part.names();
        let columns = names.iter().filter_map(|name| dataset.names.columns.get(*name).copied());
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_unstable();
        let published = dataset.catalog.published();
        for column in &columns {
            let Column::Further(field) = *column else { continue };
            if published.texts(field).is_some_and(Texts::is_given_up) {
                let name = dataset.names.term(*column).unwrap_or_default();
                let what = format!(
                    "the texts of {name} are too long, or too many different ones, to choose by"
                );
                return Err(Failure::asked_wrong(what));
            }
        }
        let conditions = match columns.iter().any(|column| column.is_read()) {
            true => &mut self.searches,
            false => &mut self.conditions,
        };
        match conditions.iter_mut().find(|condition| condition.columns == columns) {
            Some(condition) => condition.parts.push(part),
            None => conditions.push(Condition { columns, parts: vec![part] }),
        }
        Ok(())
    }

    /// Returns a text that identifies the filter.
    pub(crate) fn key(&self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    fn needs_catalog(&self) -> bool {
        let all = self.searches.iter().chain(&self.conditions);
        let mut columns = all.flat_map(|condition| &condition.columns);
        columns.any(|column| !column.is_read() && !matches!(column, Column::Split | Column::Index))
    }

    /// Returns it without the searches of one such column alone.
    pub(crate) fn without(&self, is_left_out: fn(Column) -> bool) -> Self {
        let is_kept = |it: &&Condition| !matches!(*it.columns, [column] if is_left_out(column));
        let searches = self.searches.iter().filter(is_kept).cloned().collect();
        Self { searches, ..self.clone() }
    }

    /// Returns true if it reads the objects of samples.
    fn reads_objects(&self) -> bool {
        let columns = self.searches.iter().flat_map(|condition| &condition.columns);
        { columns }.any(|column| column.is_read() && *column != Column::Key)
    }

    /// Returns only the conditions on keys and objects.
    fn search(&self) -> Self {
        Self { searches: self.searches.clone(), ..Self::default() }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Kept {
    All,
    These(Arc<Vec<u32>>),
}

/// Samples that a filter keeps, as far as known.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Number of evaluated samples, which are the first ones.
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

    /// Returns the samples from the position `start` on, at most `count`.
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

    pub(crate) fn position(&self, sample: u64) -> Option<u64> {
        match &self.kept {
            Kept::All => (sample < self.samples).then_some(sample),
            Kept::These(these) => {
                let sample = u32::try_from(sample).ok()?;
                these.binary_search(&sample).ok().map(|at| at as u64)
            }
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.scanned >= self.samples
    }
}

#[derive(Debug, Default)]
struct Progress {
    scanned: u64,
    kept: Arc<Vec<u32>>,
}

/// The last few filters.
#[derive(Debug, Default)]
pub(crate) struct Selections(Mutex<VecDeque<(String, Arc<Mutex<Progress>>)>>);

impl Selections {
    /// Returns the progress of a filter, which becomes the most recent.
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
    /// Returns the samples that a filter keeps, as far as known now.
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

    /// Evaluates the samples that are not evaluated yet.
    fn extend(&self, filter: &Filter, progress: &mut Progress) {
        let began = Instant::now();
        let published = self.catalog.published();
        let mut limit = self.catalog.len();
        let needs_catalog = filter.needs_catalog();
        if needs_catalog {
            limit = limit.min(published.scanned());
        }
        // The search alone is cached, too: it takes longest, and other conditions change more
        // often.
        let is_search = *filter == filter.search();
        let found =
            (!is_search && !filter.searches.is_empty()).then(|| self.select(&filter.search()));
        if let Some(found) = &found {
            limit = limit.min(found.scanned);
        }
        let damaged = filter.damaged.then(|| self.damage.damaged());
        if let Some((checked, _)) = &damaged {
            limit = limit.min(*checked);
        }
        let columns = needs_catalog.then_some(&published);
        let conditions = if is_search { &filter.searches } else { &filter.conditions };
        let reads_objects = is_search && filter.reads_objects();
        while progress.scanned < limit {
            let end =
                if reads_objects { limit.min(progress.scanned + READ_AT_ONCE) } else { limit };
            let Some(piece) = Piece::at(progress.scanned, end, columns) else { return };
            let ahead = (reads_objects && self.reader().facts().reads_ahead)
                .then(|| self.reader().read_ahead(&(piece.start..piece.end()).collect::<Vec<_>>()));
            let verdicts = Verdicts::of(&piece, conditions, self, &published);
            let kept = (piece.start..piece.end()).zip(0..).filter(|(index, at)| {
                let is_found = found.as_ref().is_none_or(|found| found.position(*index).is_some());
                let is_damaged = damaged.as_ref().is_none_or(|(_, damaged)| {
                    u32::try_from(*index).is_ok_and(|index| damaged.binary_search(&index).is_ok())
                });
                is_damaged && verdicts.keeps(*at) && is_found
            });
            let kept = kept.filter_map(|(index, _)| u32::try_from(index).ok());
            Arc::make_mut(&mut progress.kept).extend(kept);
            progress.scanned = piece.end();
            drop(ahead);
            if is_search && began.elapsed() > PATIENCE {
                return;
            }
        }
        // Samples after the last 32-bit position are never evaluated.
        if progress.scanned >= self.catalog.len() {
            progress.scanned = self.len();
        }
    }
}

/// Waits until a filter is complete, for uses that need all of it.
pub(crate) fn complete(
    dataset: &Dataset,
    filter: &Filter,
    patience: Duration,
    ended: &Cancel,
) -> Selection {
    let began = Instant::now();
    loop {
        let selection = dataset.select(filter);
        if selection.is_complete() || began.elapsed() > patience || ended.is_cancelled() {
            return selection;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
