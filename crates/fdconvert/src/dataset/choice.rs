//! Datasets made of selected samples of other datasets.
use super::{Dataset, Share};
use crate::keys;
use fdconvert_core::{Error, Indices, Reader, Result, SplitChoice, Subset, indices_of_splits};
use fdconvert_pipeline::{Condition, Joined, KeyList, OnError, splits_of};
use fdconvert_storage::place;
use std::{path::Path, sync::Arc};

/// Number of samples that are evaluated together.
const PIECE: u64 = 1 << 16;

impl Dataset {
    /// Chooses the samples for which an expression holds, such as `label != "cat" && width >= 64`:
    /// those of [`PackOptions::where`](crate::PackOptions::where). `index` is the position here.
    ///
    /// Splits that the expression names count as named.
    ///
    /// # Errors
    /// `Usage` with the place of the fault, and for unknown names, splits and classes with the
    /// known ones; the error of a sample that has to be read and cannot be.
    pub fn r#where(&self, expression: &str) -> Result<Self> {
        let condition = Condition::parse(expression, &*self.reader)?;
        let mut found = Indices::default();
        let mut start = 0;
        while start < self.len() {
            let end = self.len().min(start + PIECE);
            let piece: Vec<u64> = (start..end).collect();
            found.extend(condition.filter(&piece, Some(OnError::Fail), &|_| true)?);
            start = end;
        }
        let mut chosen = self.narrowed(found)?;
        chosen.mixes_splits |= !splits_of(expression)?.is_empty();
        Ok(chosen)
    }

    /// Chooses the samples with the keys in a file, one key per line, in the order of the dataset.
    ///
    /// # Errors
    /// `Usage` for a key that the dataset does not have, and one that is listed twice; `Io`.
    pub fn keys(&self, file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        self.listed(&KeyList::parse(&place::whole(file)?, &file.display().to_string())?)
    }

    /// Chooses the samples with these keys, in the order of the dataset.
    ///
    /// # Errors
    /// As for [`keys`](Self::keys).
    pub fn with_keys(&self, keys: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        self.listed(&KeyList::new(keys.into_iter().map(Into::into).collect(), "the keys")?)
    }

    fn listed(&self, list: &KeyList) -> Result<Self> {
        self.narrowed(keys::find(list, &*self.reader)?.indices.into())
    }

    /// Chooses the samples of splits; `all` stands for every split, to be mixed.
    ///
    /// # Errors
    /// `Usage`, with a list of the existing splits, for an unknown one.
    pub fn split(&self, names: impl IntoIterator<Item: Into<String>>) -> Result<Self> {
        let choice = SplitChoice::named(names);
        let mut chosen = match indices_of_splits(&*self.reader, &choice)? {
            Some(indices) => self.narrowed(indices)?,
            None => self.clone(),
        };
        chosen.mixes_splits = true;
        Ok(chosen)
    }

    /// Chooses the samples at these positions, in this order; repeats are allowed.
    ///
    /// # Errors
    /// `Usage` for a position out of range, and for an order that mixes splits unasked.
    pub fn select(&self, positions: impl Into<Indices>) -> Result<Self> {
        let chosen = self.narrowed(positions.into())?;
        if chosen.splits().is_empty() && !chosen.is_empty() {
            self.check_splits()?;
        }
        Ok(chosen)
    }

    /// Returns the dataset that was opened or joined, with all samples.
    #[must_use]
    pub fn whole(&self) -> Self {
        let (reader, indices) = (Arc::clone(&self.whole), None);
        Self { reader, indices, ..self.clone() }
    }

    /// Returns true for a [`mix`].
    #[must_use]
    pub fn is_mix(&self) -> bool {
        self.shares.is_some()
    }

    /// Returns the chosen samples of the dataset that was opened or joined; `None` for all.
    #[must_use]
    pub fn chosen(&self) -> Option<&Arc<Indices>> {
        self.indices.as_ref()
    }

    /// Refuses samples of several splits, unless [`split`](Self::split) or an expression has named
    /// them: training must not mix them by accident.
    ///
    /// # Errors
    /// `Usage`, with the splits.
    pub fn check_splits(&self) -> Result<()> {
        if self.mixes_splits {
            return Ok(());
        }
        indices_of_splits(&*self.reader, &SplitChoice::Only).map(|_| ())
    }

    fn narrowed(&self, positions: Indices) -> Result<Self> {
        if self.shares.is_some() {
            let what = "a mix keeps its shares: choose samples of each dataset before mixing";
            return Err(Error::usage("dataset", what));
        }
        let indices = match &self.indices {
            Some(outer) => positions.within(outer)?,
            None => positions,
        };
        if indices == Indices::from(0..self.whole.len()) {
            return Ok(self.whole());
        }
        let indices = Arc::new(indices);
        let reader = Arc::new(Subset::new(Arc::clone(&self.whole), Arc::clone(&indices))?);
        Ok(Self { reader, indices: Some(indices), ..self.clone() })
    }
}

/// Joins datasets, one after the other. Their fields must agree; classes are joined by name, in
/// sorted order if they differ.
///
/// ```no_run
/// let [train, extra] = ["train.beton", "extra.beton"].map(fdconvert::open);
/// let both = fdconvert::concat([train?, extra?])?;
/// # Ok::<(), fdconvert::Error>(())
/// ```
///
/// # Errors
/// `Usage` without datasets, for different fields, for a mix, for several splits of a dataset that
/// are not named, and for generated images among stored ones or of another size.
pub fn concat(datasets: impl IntoIterator<Item = Dataset>) -> Result<Dataset> {
    joined(&datasets.into_iter().collect::<Vec<_>>())
}

/// Mixes datasets: a [`Loader`](crate::Loader) takes a share of every epoch from each.
///
/// The samples, and their positions, are those of [`concat()`]. An epoch has as many rows as there
/// are samples; a dataset's share of them is rounded to whole rows, and drawn without replacement
/// until all of its samples were there, then again from all: within an epoch each of them comes
/// equally often, or once more than others. The rows of all datasets are spread evenly over the
/// epoch, each epoch with other draws. Shares are relative: 7 and 3 are the same as 0.7
/// and 0.3.
///
/// ```no_run
/// let [a, b] = ["a.beton", "b.beton"].map(fdconvert::open);
/// let mixed = fdconvert::mix([(a?, 0.7), (b?, 0.3)])?;
/// let loader = fdconvert::Loader::new(mixed.try_into()?, fdconvert::LoaderOptions::default())?;
/// # Ok::<(), fdconvert::Error>(())
/// ```
///
/// # Errors
/// As for [`concat()`]; `Usage` for a share that is not above 0.
pub fn mix(shares: impl IntoIterator<Item = (Dataset, f64)>) -> Result<Dataset> {
    let (datasets, shares): (Vec<Dataset>, Vec<f64>) = shares.into_iter().unzip();
    let of = |(dataset, share): (&Dataset, &f64)| (Arc::clone(&dataset.reader), *share);
    let parts: Vec<Share> = datasets.iter().zip(&shares).map(of).collect();
    // Its errors are due now.
    fdconvert_loader::Datasets::mixed(parts.clone())?;
    Ok(Dataset { shares: Some(parts.into()), ..joined(&datasets)? })
}

fn joined(datasets: &[Dataset]) -> Result<Dataset> {
    for dataset in datasets {
        dataset.check_splits()?;
        if dataset.shares.is_some() {
            let what = "a mix is no part of another dataset: give all datasets and shares at once";
            return Err(Error::usage("datasets", what));
        }
    }
    let readers = datasets.iter().map(|dataset| Arc::clone(&dataset.reader)).collect();
    let joined: Arc<dyn Reader> = Arc::new(Joined::new(readers)?);
    Ok(Dataset { mixes_splits: true, ..Dataset::from(joined) })
}
