//! The one format that keeps a source instead of samples: `fractal:...` into a `.formula` file.
use crate::{Context, document::document, sources::formula_of};
use fdconvert_codec::{Encode, Policy};
use fdconvert_core::{Error, Provenance, Reader as _, Result, option};
use fdconvert_formats::formula::FormulaReader;
use fdconvert_fractal::Recipe;
use fdconvert_pipeline::PlanRequest;
use fdconvert_storage::place;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Formula that will be written to a file.
pub struct FormulaOutput {
    out: PathBuf,
    recipe: Recipe,
    provenance: Provenance,
    overwrite: bool,
    /// File that an equal call has written before.
    there: Option<FormulaReader>,
}

/// Checks that the source can become a formula, before any search for categories.
pub(crate) fn prepare(
    sources: &[PathBuf],
    out: &Path,
    options: (&Policy, &PlanRequest),
    overwrite: bool,
) -> Result<FormulaOutput> {
    let [path] = sources else {
        let what = "a formula keeps one recipe; pack several into another format";
        return Err(Error::usage(option::FORMAT.with("formula"), what));
    };
    let Some(text) = Recipe::in_place_of(path) else {
        let what = format!(
            "{} has images, and a formula keeps none; only a recipe becomes one: \
             fdconvert pack 'fractal:fractaldb?classes=1000' {}",
            path.display(),
            out.display()
        );
        return Err(Error::usage(option::FORMAT.with("formula"), what));
    };
    refuse_what_needs_images(options)?;
    let recipe = Recipe::parse(text)?;
    let provenance = Provenance {
        tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
        source: recipe.name(),
        ..Provenance::default()
    };
    let out = out.to_owned();
    let mut formula = FormulaOutput { out, recipe, provenance, overwrite, there: None };
    if !overwrite && place::exists(&formula.out)? {
        // The file depends on the recipe and the version alone, and its checksums prove it
        // complete: an equal command has written it.
        match FormulaReader::open(&formula.out) {
            Ok(found)
                if found.provenance() == Some(&formula.provenance)
                    && found.verify_layout().is_empty() =>
            {
                formula.there = Some(found);
            }
            _ => return Err(Error::exists("output", &formula.out)),
        }
    }
    Ok(formula)
}

impl FormulaOutput {
    /// Returns the path of the output.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Returns true if the complete file of an earlier run exists.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.there.is_some()
    }

    /// Evaluates the recipe and writes the result, unless it exists already or the run is `dry`.
    ///
    /// # Errors
    /// `Usage` if there are no such fractals or the path is taken; `Cancelled`, `Io`.
    pub fn run(&self, dry: bool, context: Context<'_>) -> Result<FormulaReport> {
        let formula = match &self.there {
            Some(there) => there.fractals().formula().clone(),
            None => formula_of(&self.recipe, context)?,
        };
        let (samples, classes) = (formula.len(), formula.categories.len() as u64);
        let bytes = if self.is_complete() {
            place::file_len(&self.out)?.unwrap_or_default()
        } else if dry {
            0
        } else {
            fdconvert_formats::formula::write(
                &self.out,
                &formula,
                &self.provenance,
                self.overwrite,
            )?
            .bytes
        };
        Ok(FormulaReport { samples, classes, bytes })
    }
}

/// Contents of a formula's file, written or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormulaReport {
    /// Number of images.
    pub samples: u64,
    /// Number of classes.
    pub classes: u64,
    /// Size of the file in bytes; 0 if it was not written.
    pub bytes: u64,
}

impl FormulaOutput {
    /// Returns the present or future contents of the file as a document.
    #[must_use]
    pub fn document(&self, report: &FormulaReport) -> Value {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(self.out.display().to_string()));
        fields.insert("format".into(), json!("formula"));
        fields.insert("planned".into(), json!(report.samples));
        fields.insert("samples".into(), json!(report.samples));
        fields.insert("classes".into(), json!(report.classes));
        fields.insert("bytes_out".into(), json!(report.bytes));
        document("packed", fields)
    }
}

/// Refuses options that would change images or their order.
fn refuse_what_needs_images((policy, plan): (&Policy, &PlanRequest)) -> Result<()> {
    let refuse = |what: &str| {
        let what = format!("a formula keeps no images, so none can be {what}");
        Err(Error::usage(option::FORMAT.with("formula"), what))
    };
    if policy.encode != Encode::Keep || policy.size.is_some() {
        return refuse("encoded or resized; say size= in the recipe");
    }
    // Limits and filters without effect are allowed.
    let changes = Policy { limits: policy.limits, ..Policy::default() };
    if policy.alpha != changes.alpha || policy.gray != changes.gray {
        return refuse("converted");
    }
    if policy.strip != changes.strip {
        return refuse("stripped of metadata");
    }
    // A seed alone changes nothing.
    let none = PlanRequest::default();
    if plan.selection != none.selection
        || plan.shuffle.is_some()
        || !plan.splits.is_empty()
        || plan.sharding != none.sharding
    {
        return refuse("selected, shuffled, split or put into shards; readers and loaders do that");
    }
    Ok(())
}
