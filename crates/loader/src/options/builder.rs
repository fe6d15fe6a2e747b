//! A loader in the making: its datasets and its options.
use super::{DeviceOptions, Options};
use crate::{
    dataset::{Datasets, Label},
    engine::Loader,
    failure::Failures,
    follow::{MaskOptions, ObjectOptions},
    order::{Last, Sampling, World},
    sizes::Sizes,
    supply::{Access, CachePolicy},
    transform::{Transform, TransformList},
    transport::Exchange,
    views::{ViewGroup, ViewLayout},
};
use fdconvert_core::{Error, Limits, Result};
use std::{path::PathBuf, sync::Arc};

/// A loader in the making, from [`Loader::builder`].
///
/// It has the setters of [`Options`], and [`transform`](Self::transform) takes plain lists.
pub struct Builder {
    datasets: Result<Datasets>,
    options: Options,
}

impl Loader {
    /// Begins a loader of what becomes datasets, such as a `fdconvert::Dataset`.
    pub fn builder(datasets: impl TryInto<Datasets, Error = Error>) -> Builder {
        Builder { datasets: datasets.try_into(), options: Options::default() }
    }
}

macro_rules! forwarded {
    ($($name:ident: Option<$of:ty>,)*; $($plain:ident: $type:ty,)*) => {
        $(
            #[doc = concat!("Sets [`Options::", stringify!($name), "`](field@Options::", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, value: impl Into<Option<$of>>) -> Self {
                self.options.$name = value.into();
                self
            }
        )*
        $(
            #[doc = concat!("Sets [`Options::", stringify!($plain), "`](field@Options::", stringify!($plain), ").")]
            #[must_use]
            pub fn $plain(mut self, value: $type) -> Self {
                self.options.$plain = value;
                self
            }
        )*
    };
}

impl Builder {
    each_option!(forwarded);

    /// Shows one view of each image, drawn from this list: some [`Transform`]s, or a
    /// [`TransformList`].
    ///
    /// # Errors
    /// As for [`TransformList::new`].
    pub fn transform(self, list: impl Into<Vec<Transform>>) -> Result<Self> {
        let options = self.options.transform(TransformList::new(list.into())?);
        Ok(Self { options, ..self })
    }

    /// Creates the loader.
    ///
    /// # Errors
    /// As for [`Loader::new`], and for what does not become datasets.
    pub fn build(self) -> Result<Loader> {
        Loader::new(self.datasets?, self.options)
    }
}
