//! Packing: a source, a policy and a format in one ordered, bounded pipeline.
//!
//! [`pack`] runs a [`PackJob`]: it reads each planned sample from a `Source`, lets a `Policy` turn
//! its images into stored bytes, and passes the result to a `ShardWriter` of some `Format`, in the
//! plan's order. Workers run ahead of the writer within a byte budget; the output never depends on
//! their number. An [`Observer`] receives events without influence; a [`Cancel`] can only stop.
//!
//! ```
//! # use fdconvert_pipeline::Plan;
//! let plan = Plan::single_file(1000);
//! assert_eq!(plan.len(), 1000);
//! ```
//!
//! An [`Expression`] selects samples, and a [`Comparison`] finds the differences of two datasets:
//! for packing and `diff`, and for the viewer.
//!
//! Deliberately absent: pixels (codec), files (formats), progress bars (the command).
#![forbid(unsafe_code)]

mod ahead;
mod cancel;
mod chosen_objects;
mod classes;
mod compare;
mod concat;
mod dedup;
mod entry_points;
mod expression;
mod failure;
mod finished;
mod job;
mod joined;
mod keys;
mod label_map;
mod mixture;
mod open;
mod ordered;
mod own_splits;
mod pack;
mod paired;
mod plan;
mod plan_file;
mod positions;
mod prefixed;
mod relabelled;
mod replacing;
mod report;
mod run;
mod select;
mod sharding;
mod tally;
mod unreadable;
mod whole;
mod without;

pub use cancel::Cancel;
pub use chosen_objects::{ChosenObjects, ObjectChoice};
pub use classes::ClassList;
pub use compare::{Changed, Comparison, Difference, Matched, PixelDifference};
pub use concat::Concat;
pub use dedup::{Deduped, dedup};
pub use expression::{
    Condition, Expression, Meaning, Scalar, Type, field_of_objects, known_categories, splits_of,
};
pub use job::{Identity, PackJob, TOOL, outputs, recorded_params};
pub use joined::Joined;
pub use keys::{FoundKeys, KeyList};
pub use label_map::LabelMap;
pub use mixture::Balance;
pub use pack::{Observer, pack};
pub use paired::Paired;
pub use plan::{Plan, PlanRequest};
pub use plan_file::{PlanFile, PlannedSource};
pub use positions::Positions;
pub use prefixed::Prefixed;
pub use relabelled::{KeyTable, Relabelled};
pub use report::{Bottleneck, Checked, EntryPointCounts, Report, Stages};
pub use run::{OnError, Part, Run, threads};
pub use select::{Selection, Split};
pub use sharding::{ShardBy, Sharding};
pub use without::Without;
