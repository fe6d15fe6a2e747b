//! The one format that keeps a source instead of samples: `fractal:...` into a `.formula` file.
use crate::{
    Context,
    pack::How,
    settings::Settings,
    sources::{self, resolve},
};
use fdconvert_codec::{Encode, Policy};
use fdconvert_core::{Error, Provenance, Reader as _, Result, ShardSummary, Source as _};
use fdconvert_formula::FormulaReader;
use fdconvert_fractal::{Formula, Recipe};
use fdconvert_pipeline::{PlanRequest, Report};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

/// A formula on its way into a file.
pub struct FormulaOutput {
    out: PathBuf,
    recipe: Recipe,
    provenance: Provenance,
    overwrite: bool,
    /// What the same call has written before.
    there: Option<FormulaReader>,
}

/// Checks that the source can become a formula, before any search for categories.
pub(crate) fn prepare(
    sources: &[PathBuf],
    out: &Path,
    settings: &Settings,
    how: &How,
) -> Result<FormulaOutput> {
    let [path] = sources else {
        let what = "a formula keeps one recipe; pack several into another format";
        return Err(Error::usage("--format formula", what));
    };
    let Some(text) = sources::recipe(path) else {
        let what = format!(
            "{} has images, and a formula keeps none; only a recipe becomes one: \
             fdconvert pack 'fractal:fractaldb?classes=1000' {}",
            path.display(),
            out.display()
        );
        return Err(Error::usage("--format formula", what));
    };
    refuse_what_needs_images(settings)?;
    let recipe = Recipe::parse(text)?;
    let provenance = Provenance {
        tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
        source: recipe.name(),
        ..Provenance::default()
    };
    let mut formula = FormulaOutput {
        out: out.to_owned(),
        recipe,
        provenance,
        overwrite: how.overwrite,
        there: None,
    };
    if fs::symlink_metadata(out).is_ok() && !how.overwrite {
        // The file depends on the recipe and the version alone, and its own checksums say that it
        // is whole: the same command has written it.
        match FormulaReader::open(out) {
            Ok(found)
                if found.provenance() == Some(&formula.provenance)
                    && found.verify_layout().is_empty() =>
            {
                formula.there = Some(found);
            }
            _ => {
                let what = format!("{} exists; replace it with --overwrite", out.display());
                return Err(Error::usage("OUT", what));
            }
        }
    }
    Ok(formula)
}

impl FormulaOutput {
    /// Where it is written.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// The complete file of an earlier run, if it is there.
    #[must_use]
    pub fn there(&self) -> Option<&FormulaReader> {
        self.there.as_ref()
    }

    /// Carries out the recipe: what will be written.
    ///
    /// # Errors
    /// `Usage` where there are no such fractals, `Cancelled`.
    pub fn resolve(&self, context: Context<'_>) -> Result<Formula> {
        resolve(&self.recipe, context)
    }

    /// Writes what the recipe became.
    ///
    /// # Errors
    /// `Usage` where something is there already, `Io`.
    pub fn write(&self, formula: &Formula) -> Result<ShardSummary> {
        fdconvert_formula::write(&self.out, formula, &self.provenance, self.overwrite)
    }

    /// Writes it, unless it is complete already.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve) and [`write`](Self::write).
    pub fn run(&self, context: Context<'_>) -> Result<Report> {
        let began = Instant::now();
        let (shard, resumed) = match &self.there {
            Some(there) => {
                let bytes = fs::metadata(&self.out).map_err(Error::io("look at", &self.out))?.len();
                let (path, samples) = (self.out.clone(), there.len());
                (ShardSummary { path, samples, bytes, skipped: Vec::new() }, samples)
            }
            None => (self.write(&self.resolve(context)?)?, 0),
        };
        Ok(Report {
            planned: shard.samples,
            samples: shard.samples,
            resumed,
            bytes_out: shard.bytes,
            shards: vec![shard],
            elapsed: began.elapsed(),
            ..Report::default()
        })
    }
}

/// Options that would have to change images or their order.
fn refuse_what_needs_images(settings: &Settings) -> Result<()> {
    let refuse = |what: &str| {
        let what = format!("a formula keeps no images, so none can be {what}");
        Err(Error::usage("--format formula", what))
    };
    let policy = &settings.policy;
    if policy.encode != Encode::Keep || policy.size.is_some() {
        return refuse("encoded or resized; say size= in the recipe");
    }
    // Limits and filters without effect may stay.
    let changes = Policy { limits: policy.limits, ..Policy::default() };
    if policy.alpha != changes.alpha || policy.gray != changes.gray {
        return refuse("converted");
    }
    // A seed alone changes nothing.
    let (plan, none) = (&settings.plan, PlanRequest::default());
    if plan.selection != none.selection
        || plan.shuffle.is_some()
        || !plan.splits.is_empty()
        || plan.sharding != none.sharding
    {
        return refuse("selected, shuffled, split or put into shards; readers and loaders do that");
    }
    Ok(())
}
