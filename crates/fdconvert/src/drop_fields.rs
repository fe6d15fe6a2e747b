//! The option `drop_fields`: fields that are not packed.
use fdconvert_core::{Error, Result, Source, option};
use fdconvert_pipeline::Without;
use std::sync::Arc;

/// Removes the fields with these names from the sources.
///
/// # Errors
/// `Usage` for a name that no source has, and for all fields of one.
pub(crate) fn leave_out(
    names: &[String],
    sources: Vec<Box<dyn Source>>,
) -> Result<Vec<Box<dyn Source>>> {
    let all: Vec<&dyn Source> = sources.iter().map(|source| &**source).collect();
    check(names, &all)?;
    let without = |source: Box<dyn Source>| -> Result<Box<dyn Source>> {
        if !has_any(&*source, names) {
            return Ok(source);
        }
        Ok(Box::new(Without::new(Arc::from(source), names)?))
    };
    sources.into_iter().map(without).collect()
}

/// Removes them from the source of a program.
///
/// # Errors
/// The errors of [`leave_out`].
pub(crate) fn leave_out_of_one(
    names: &[String],
    source: Arc<dyn Source>,
) -> Result<Arc<dyn Source>> {
    check(names, &[&*source])?;
    if !has_any(&*source, names) {
        return Ok(source);
    }
    Ok(Arc::new(Without::new(source, names)?))
}

fn has_any(source: &dyn Source, names: &[String]) -> bool {
    source.schema().fields.iter().any(|field| names.contains(&field.name))
}

fn check(names: &[String], sources: &[&dyn Source]) -> Result<()> {
    for name in names {
        let has = |source: &&dyn Source| {
            source.schema().position(name).is_some() || source.facts().dropped_fields.contains(name)
        };
        if !sources.iter().any(has) {
            let fields = sources.iter().flat_map(|source| &source.schema().fields);
            let mut fields: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
            fields.sort_unstable();
            fields.dedup();
            let fields = fields.join(", ");
            let what = format!("no field of the source is called `{name}`, only {fields}");
            return Err(Error::usage(option::DROP_FIELDS, what));
        }
    }
    Ok(())
}
