//! Checks whether options fit together, before a source is opened.
use crate::{ByteCount, PackOptions, SourceLayout, out as output, policy::policy, unused};
use fdconvert_codec::Policy;
use fdconvert_core::{
    Error, Format, FormatOption, OptionKind, OptionName, OptionValues, Result, Schema, option,
};
use std::path::Path;

/// The decisions that follow from options alone.
pub(crate) struct Checked {
    pub(crate) format: Box<dyn Format>,
    /// Without the mixture, because a ratio may have to be measured.
    pub(crate) policy: Policy,
}

/// Refuses everything that can be refused without a source; `out` determines the format if no
/// option does.
///
/// # Errors
/// `Usage`, with the name of the option.
pub(crate) fn check(options: &PackOptions, out: Option<&Path>) -> Result<Checked> {
    let mut format = format(options, out)?;
    let is_named_file = out.is_none_or(|out| format.suits(out));
    if asks_for_shards(options) || !is_named_file {
        format = format.in_shards().unwrap_or(format);
    }
    let policy = policy(options)?;
    if options.ratio.is_some() && !format.capabilities().mixes_codecs {
        let what = format!("a {} has one form of image", format.name());
        return Err(Error::usage(option::RATIO, what)
            .cure("to store several", option::FORMAT.with("mixed")));
    }
    let of_labels = [
        (option::BOXES, options.boxes.is_some()),
        (option::LABEL_COLUMNS, !options.label_columns.is_empty()),
    ];
    if let Some((option, _)) = of_labels.into_iter().find(|(_, is_given)| *is_given)
        && options.labels.is_none()
        && options.layout == SourceLayout::Folder
    {
        return Err(without_labels(option));
    }
    if options.labels.is_some() && matches!(options.layout, SourceLayout::Named(_)) {
        let what = "a layout has its own labels: give one of both";
        return Err(Error::usage(option::LAYOUT, what)
            .cure("to read only these labels", option::LAYOUT.with("folder")));
    }
    if options.per.is_some() && options.sample.is_none() {
        return Err(Error::usage(option::PER, "it is about a share of the samples")
            .cure("to take one", option::SAMPLE.with("10%")));
    }
    check_jpeg_index(options, &*format)?;
    refuse_shards_of_one_file(options, &*format)?;
    unused::refuse(options, &policy)?;
    if let Some(out) = out {
        output::check_name(out, &*format, false)?;
    }
    Ok(Checked { format, policy })
}

/// Refuses an option about a table or annotations if there are none.
pub(crate) fn without_labels(option: OptionName) -> Error {
    Error::usage(option, "it is about a table of labels").cure("to give one", option::LABELS)
}

/// Refuses options for images if the source has none: they would be ignored.
pub(crate) fn refuse_without_images(options: &PackOptions, schema: &Schema) -> Result<()> {
    if schema.shown_images().is_some() {
        return Ok(());
    }
    let given = [
        (option::ENCODE, options.encode.is_some()),
        (option::JPEG_QUALITY, options.jpeg_quality.is_some()),
        (option::MAX_SIDE, options.max_side.is_some()),
        (option::SHORT_SIDE, options.short_side.is_some()),
        (option::RATIO, options.ratio.is_some()),
        (option::BASELINE, options.baseline),
        (option::STRIP_METADATA, !options.strip_metadata.is_empty()),
        (option::DEDUP, options.dedup.is_some()),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let fields: Vec<_> = schema
        .fields
        .iter()
        .map(|field| format!("`{}` ({})", field.name, field.kind.name()))
        .collect();
    let what = format!(
        "the source has no field of images, only {}: leave the option out; a column of bytes \
         counts as images only if all inspected values are",
        fields.join(", ")
    );
    Err(Error::usage(option, what))
}

/// Returns the format from an option, or from the extension of the output.
///
/// # Errors
/// `Usage` if neither determines it.
pub(crate) fn format(options: &PackOptions, out: Option<&Path>) -> Result<Box<dyn Format>> {
    let formats = fdconvert_reader::formats();
    let names = || fdconvert_reader::names_of(&formats);
    let chosen = match &options.format {
        Some(name) => formats
            .iter()
            .find(|format| {
                format.name() == name.as_str() || format.aliases().contains(&name.as_str())
            })
            .ok_or_else(|| {
                Error::usage(
                    option::FORMAT,
                    format!("unknown `{name}`; expected one of: {}", names()),
                )
            }),
        None => {
            let out = out.ok_or_else(|| {
                Error::usage(option::FORMAT, format!("say which, one of: {}", names()))
            })?;
            formats.iter().find(|format| format.suits(out)).ok_or_else(|| {
                let what = format!(
                    "no format has the extension of {}; there are: {}",
                    out.display(),
                    names()
                );
                Error::usage("output", what).cure("to choose one", option::FORMAT)
            })
        }
    }?;
    let values = format_values(options, chosen.options())?;
    values.check(chosen.name(), chosen.options())?;
    chosen.with_options(&values)
}

/// Returns the format's options, with sizes as numbers of bytes: they may have a unit.
pub(crate) fn format_values(options: &PackOptions, known: &[FormatOption]) -> Result<OptionValues> {
    let mut values = options.format_options.clone();
    for option in known.iter().filter(|option| option.kind == OptionKind::Bytes) {
        if let Some(text) = values.get_mut(option.name)
            && text.parse::<u64>().is_err()
        {
            let bytes = text.parse::<ByteCount>();
            *text = bytes.map_err(|what| Error::usage(option.name, what))?.0.to_string();
        }
    }
    Ok(OptionValues(values))
}

/// Returns true if an option is about shards.
fn asks_for_shards(options: &PackOptions) -> bool {
    let PackOptions { shard_count, shard_size, shards, shards_multiple_of, .. } = options;
    shard_count.is_some() || shard_size.is_some() || shards.is_some() || *shards_multiple_of != 1
}

/// Refuses options on shards for a format of one file.
fn refuse_shards_of_one_file(options: &PackOptions, format: &dyn Format) -> Result<()> {
    let given = [
        (option::SHARD_COUNT, options.shard_count.is_some()),
        (option::SHARD_SIZE, options.shard_size.is_some()),
        (option::SHARDS, options.shards.is_some()),
        (option::SHARDS_MULTIPLE_OF, options.shards_multiple_of != 1),
    ];
    // Formulas report unsupported options themselves.
    if format.is_sharded() || format.capabilities().formulas_only {
        return Ok(());
    }
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what = format!(
                "a {} has no shards; leave it out, or choose a format of shards (wds, mds, mixed, parquet)",
                format.name()
            );
            Err(Error::usage(option, what).cure("to choose one", option::FORMAT.with("wds")))
        }
    }
}

/// Refuses entry points of JPEGs if the format has no index for them.
fn check_jpeg_index(options: &PackOptions, format: &dyn Format) -> Result<()> {
    if options.jpeg_index.bits_in(format).is_none() || format.capabilities().entry_points {
        return Ok(());
    }
    let able =
        fdconvert_reader::formats().into_iter().filter(|format| format.capabilities().entry_points);
    let able: Vec<_> = able.map(|format| format.name()).collect();
    let name = format.name();
    let why = if able.contains(&name) {
        format!("a {name} with these options has no index to store entry points in")
    } else {
        format!("a {name} cannot store entry points; {} can", able.join(", "))
    };
    Err(Error::usage(option::JPEG_INDEX, why))
}
