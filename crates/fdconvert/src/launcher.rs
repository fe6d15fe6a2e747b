//! Finds the part of a dataset that a process packs, from the variables of its launcher.
//!
//! A launcher numbers its processes in environment variables. Some number the processes of one job
//! (torchrun, MPI, srun), others the jobs of an array (Slurm, Kubernetes, AWS Batch), and a process
//! may see several. They are tried in the order of [`LAUNCHERS`]: the one nearest to the process
//! first. A launcher of a single process knows nothing about other processes, so that it counts
//! only if nothing else numbers the process. Tasks that srun starts in the jobs of a Slurm array
//! are numbered across the jobs, because both numbers are Slurm's.
use fdconvert_core::{Error, Result, option};
use fdconvert_pipeline::Part;
use std::str::FromStr;

/// Looks up an environment variable by name.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Requested part of a dataset: `1/4` is the first of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartOf {
    /// Explicit part.
    Of(Part),
    /// `auto`: the part of this process, from its launcher.
    Auto,
}

impl FromStr for PartOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        let numbers = text.split_once('/').and_then(|(index, of)| {
            Some((index.trim().parse::<u64>().ok()?, of.trim().parse::<u64>().ok()?))
        });
        match numbers {
            Some((index, of)) if (1..=of).contains(&index) => {
                Ok(Self::Of(Part { index: index - 1, of }))
            }
            _ => {
                let what = "is not a part; write I/N with I from 1 to N, e.g. 1/4, or auto";
                Err(format!("`{text}` {what}"))
            }
        }
    }
}

impl PartOf {
    /// Returns the part; `parts` is the total, for launchers that do not set it, and `lookup` reads
    /// an environment variable.
    ///
    /// # Errors
    /// `Usage` if no launcher is found, if its variables are invalid, and if the number of parts is
    /// missing or given twice.
    pub fn find(
        self,
        parts: Option<u64>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<FoundPart> {
        match (self, parts) {
            (Self::Auto, parts) => find_part(parts, lookup),
            (Self::Of(part), None) => Ok(FoundPart { part, variables: None }),
            (Self::Of(_), Some(_)) => {
                let what = "the part says how many there are; leave it out";
                Err(Error::usage(option::PARTS, what)
                    .cure("to take the part that a launcher numbers", option::PART.with("auto")))
            }
        }
    }
}

/// Part of this process, and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundPart {
    /// Part of this process.
    pub part: Part,
    /// Variables that were read, for people; `None` for an explicit part.
    pub variables: Option<String>,
}

struct Launcher {
    index: &'static str,
    /// Variable with the number of parts; without one, the user must give it.
    count: Option<&'static str>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Counts from 0.
    Plain,
    /// Tasks of a job, which may be in an array.
    SlurmTask,
    /// Counts from a minimum in steps.
    SlurmArray,
}

const LAUNCHERS: [Launcher; 6] = [
    Launcher { index: "RANK", count: Some("WORLD_SIZE"), kind: Kind::Plain },
    Launcher {
        index: "OMPI_COMM_WORLD_RANK",
        count: Some("OMPI_COMM_WORLD_SIZE"),
        kind: Kind::Plain,
    },
    Launcher { index: "SLURM_PROCID", count: Some("SLURM_NTASKS"), kind: Kind::SlurmTask },
    Launcher {
        index: "SLURM_ARRAY_TASK_ID",
        count: Some("SLURM_ARRAY_TASK_COUNT"),
        kind: Kind::SlurmArray,
    },
    Launcher { index: "JOB_COMPLETION_INDEX", count: None, kind: Kind::Plain },
    Launcher { index: "AWS_BATCH_JOB_ARRAY_INDEX", count: None, kind: Kind::Plain },
];

/// Returns the part of a process with the environment of `lookup`; `parts` is the total, for
/// launchers that do not set it.
///
/// # Errors
/// `Usage` if no launcher is found, if its variables are invalid, and if the number of parts is
/// missing or contradicts the caller's.
pub(crate) fn find_part(
    parts: Option<u64>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<FoundPart> {
    let lookup: Lookup<'_> = &|name| lookup(name).filter(|value| !value.trim().is_empty());
    let mut single = None;
    for launcher in &LAUNCHERS {
        let Some(found) = launcher.read(parts, lookup)? else { continue };
        if found.part.of > 1 {
            return check(found, parts);
        }
        single = single.or(Some(found));
    }
    match single {
        Some(found) => check(found, parts),
        None => {
            let names: Vec<_> = LAUNCHERS.iter().map(|launcher| launcher.index).collect();
            let what = format!(
                "nothing in the environment numbers this process: none of {} is set (with how many \
                 there are: WORLD_SIZE, OMPI_COMM_WORLD_SIZE, SLURM_NTASKS, SLURM_ARRAY_TASK_COUNT, \
                 or `parts`)",
                names.join(", ")
            );
            Err(refuse(what).cure("to name the part", option::PART.with("1/4")))
        }
    }
}

/// Checks that a launcher and the caller give the same number of parts.
fn check(found: FoundPart, parts: Option<u64>) -> Result<FoundPart> {
    match parts {
        Some(parts) if parts != found.part.of => {
            let what = format!(
                "{} says that there are {}, not {parts}; leave `parts` out",
                found.variables.unwrap_or_default(),
                found.part.of
            );
            Err(refuse(what))
        }
        _ => Ok(found),
    }
}

impl Launcher {
    fn read(&self, parts: Option<u64>, lookup: Lookup<'_>) -> Result<Option<FoundPart>> {
        let Some(index) = number(self.index, lookup)? else { return Ok(None) };
        let (of, variables) = match self.count {
            None => {
                let of = parts.ok_or_else(|| {
                    let what = "and nothing says how many there are";
                    refuse(format!("{} is {index}, {what}", self.index))
                        .cure("to name their number", option::PARTS)
                })?;
                (of, self.index.to_owned())
            }
            Some(count) => match number(count, lookup)? {
                Some(of) => (of, format!("{} and {count}", self.index)),
                // A variable with this name may belong to something else.
                None => return Ok(None),
            },
        };
        let found =
            |index, of| FoundPart { part: Part { index, of }, variables: Some(variables.clone()) };
        let found = match self.kind {
            Kind::Plain => found(index, of),
            Kind::SlurmArray => found(place_in_array(index, of, lookup)?, of),
            Kind::SlurmTask if of < 2 => found(index, of),
            Kind::SlurmTask => match array_of(lookup)? {
                None => found(index, of),
                Some(array) => FoundPart {
                    part: Part {
                        index: array.part.index.saturating_mul(of).saturating_add(index),
                        of: array.part.of.saturating_mul(of),
                    },
                    variables: Some(format!("SLURM_ARRAY_TASK_ID, {variables}")),
                },
            },
        };
        if found.part.index >= found.part.of {
            let what = format!(
                "{} makes this part {} of {}, counted from 0; it has to be less",
                found.variables.unwrap_or_default(),
                found.part.index,
                found.part.of
            );
            return Err(refuse(what));
        }
        Ok(Some(found))
    }
}

fn array_of(lookup: Lookup<'_>) -> Result<Option<FoundPart>> {
    let array = LAUNCHERS.iter().find(|launcher| launcher.kind == Kind::SlurmArray);
    array.map_or(Ok(None), |array| array.read(None, lookup))
}

/// Returns the position of a task in a Slurm array such as `1-9:2`, from 0.
fn place_in_array(id: u64, count: u64, lookup: Lookup<'_>) -> Result<u64> {
    let first = number("SLURM_ARRAY_TASK_MIN", lookup)?.unwrap_or(0);
    let step = number("SLURM_ARRAY_TASK_STEP", lookup)?.unwrap_or(1).max(1);
    let place = id.checked_sub(first).filter(|distance| distance % step == 0);
    let place = place.map(|distance| distance / step).filter(|place| *place < count);
    place.ok_or_else(|| {
        let what = format!(
            "the Slurm array has {count} tasks from {first} in steps of {step}, and {id} is not \
             among them, so it is a list with gaps; submit a range, e.g. 1-{count}"
        );
        refuse(what).cure("to name the part", option::PART.with("1/4"))
    })
}

fn number(name: &str, lookup: Lookup<'_>) -> Result<Option<u64>> {
    let Some(text) = lookup(name) else { return Ok(None) };
    let number = text
        .trim()
        .parse()
        .map_err(|_| refuse(format!("{name} is `{text}`, which is not a number from 0 up")))?;
    Ok(Some(number))
}

fn refuse(what: String) -> Error {
    Error::usage(option::PART.with("auto"), what)
}

#[cfg(test)]
#[path = "launcher_tests.rs"]
mod tests;
