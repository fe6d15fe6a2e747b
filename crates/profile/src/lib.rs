//! The offline profiler: finds the share of raw images at which loading and decoding are equally
//! fast.
//!
//! The idea is Liquid's (APSys 2023). Encoded images are small and cost much CPU to decode; raw
//! ones are large and cost almost none. Storing a share `x` of the images raw moves work from the
//! CPU to the disk, and training reads fastest when neither waits for the other.
//!
//! # The model
//!
//! An image costs `s` stored bytes and `d` CPU seconds to decode, as a mean over the dataset, in
//! its encoded form E and in its raw form R ([`Cost`]). The [`Machine`] reads `B` bytes/s, decodes
//! with `C` effective cores, and keeps `M` bytes of the dataset in memory. For `n` images:
//!
//! ```text
//! S(x) = (1-x) s_E + x s_R             bytes per image, mean
//! h(x) = min(1, M / (n S(x)))          share of the bytes that comes from the cache
//! L(x) = B / ((1-h(x)) S(x))           images/s that reading allows
//! D(x) = C / ((1-x) d_E + x d_R)       images/s that decoding allows
//! T(x) = min(L(x), D(x), G)            images/s
//! ```
//!
//! `G` is the number of images/s that training takes, if known: beyond it more speed is useless,
//! and the smallest of the datasets that reach it is chosen. `h` depends on `x`, which Liquid
//! resolves by iterating. That is not needed: `(1-h) S = max(0, S - M/n)` is linear in `x` where it
//! is not zero, so the *seconds* per image, `1/T`, are the maximum of two straight lines and of the
//! constant `1/G`. That is convex; its minimum is at 0, at 1 or where two of the lines cross. The
//! crossing of reading and decoding
//!
//! ```text
//! x* = (B d_E - C (s_E - M/n)) / (C (s_R - s_E) + B (d_E - d_R))
//! ```
//!
//! is exact. [`Model::solve`] compares these points instead of reading signs off the denominator,
//! and so handles dominated formats, exchanged roles and full caches correctly. The methods of
//! papers, Liquid's iteration and its bisection over eleven ratios, are in [`research`], as is the
//! linear program for more formats and more resources.
//!
//! ```
//! use fdconvert_profile::{Cost, Machine, Model, Verdict};
//!
//! let png = Cost { bytes_per_image: 600e3, cpu_seconds_per_image: 10e-3 };
//! let bmp = Cost { bytes_per_image: 1200e3, cpu_seconds_per_image: 0.5e-3 };
//! let machine = Machine { read_bytes_per_s: 500e6, effective_cores: 4.0, cache_bytes: 0.0,
//!     consumer_images_per_s: None };
//! let solution = Model::new(png, bmp, machine, 100_000)?.solve();
//! assert_eq!(solution.verdict, Verdict::Gain);
//! assert!((0.3..0.5).contains(&solution.optimum.share));
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! [`measure_formats`] (bytes and CPU) and [`measure_read`] (bytes/s of a folder or of files)
//! measure the inputs, and a [`Report`] keeps everything, as JSON or as a page.
//!
//! [`SlowStorage`] makes a dataset as slow as a slower disk or a store would be, to be loaded from.
//!
//! [`Cluster`] is a separate model of many ranks that share a storage and keep parts of the dataset
//! in their caches.
//!
//! Deliberately absent: training, the choice *which* images become raw, and latency: a loader with
//! too few requests in flight is slower than this model predicts.
#![forbid(unsafe_code)]

mod chart;
mod html;
mod measure;
mod model;
mod page;
mod read;
mod report;
pub mod research;
mod sampling;
mod scale;
mod slow;
mod solve;
mod throttle;
mod xml;

pub use chart::{BarChart, Bars, Histogram, LineChart, MarkedBar, MarkedBars, Series};
pub use html::to_html;
pub use measure::{FormatCost, Measured, Measuring, measure_formats, time_formats};
pub use model::{Binding, Busy, Cost, Machine, Model, Throughput};
pub use page::{Page, grouped};
pub use read::{Bandwidth, Pattern, ReadPlan, Target, measure_read};
pub use report::{FormatReport, MeasuredOn, Mixture, MixtureReport, PaperSearch, Report, Verified};
pub use sampling::{Sampled, Stored, choose, sample};
pub use scale::{Cluster, Dealing, EpochTime, moved_share};
pub use slow::SlowStorage;
pub use solve::{Choice, GAIN, SLACK, Solution, Verdict, sweep};
pub use throttle::Throttle;
