//! From flags to the library's options: field by field, without decisions.
use crate::{
    choices::{ByArg, CheckArg, FilterArg, OnErrorArg, SubsamplingArg},
    option_args::OptionArgs,
};
use fdconvert::{By, Check, Filter, OnPackError, PackOptions, Subsampling};
use fdconvert_core::OptionValues;

impl OptionArgs {
    /// Returns the options of the flags, with those of formats.
    pub(crate) fn to_options(&self, format_options: &OptionValues) -> PackOptions {
        let mut options = PackOptions::default();
        options.format_options = format_options.0.clone();
        macro_rules! take {
            ($($name:ident),+ $(,)?) => { $(options.$name = self.$name.clone();)+ };
        }
        take!(format, labels, pair, beside, drop_fields, follow_links, seed);
        take!(sample, shuffle, split, no_split_folders);
        take!(shard_count, shard_size, shards, shards_multiple_of);
        take!(encode, jpeg_quality, optimize_huffman, baseline, restart_rows, smart_ratio);
        take!(jpeg_index, ratio, max_bmp_size, max_side, short_side, alpha);
        take!(gray_to_rgb, no_exif_rotation, strict);
        take!(max_pixels, max_file_bytes, max_decompressed);
        self.label.set(&mut options);
        options.keys = self.selection.keys.clone();
        options.per = self.selection.per;
        options.r#where = self.selection.r#where.clone();
        options.dedup = self.selection.dedup;
        options.prefix = self.selection.prefix.clone();
        options.strip_metadata = self.metadata.strip_metadata.clone();
        options.subsampling = self.subsampling.into();
        options.by = self.by.into();
        options.filter = self.filter.into();
        options.check = self.check.into();
        options
    }
}

impl From<SubsamplingArg> for Subsampling {
    fn from(arg: SubsamplingArg) -> Self {
        match arg {
            SubsamplingArg::S420 => Self::S420,
            SubsamplingArg::S422 => Self::S422,
            SubsamplingArg::S444 => Self::S444,
            SubsamplingArg::Keep => Self::Keep,
        }
    }
}

impl From<ByArg> for By {
    fn from(arg: ByArg) -> Self {
        match arg {
            ByArg::Random => Self::Random,
            ByArg::Benefit => Self::Benefit,
        }
    }
}

impl From<FilterArg> for Filter {
    fn from(arg: FilterArg) -> Self {
        match arg {
            FilterArg::Area => Self::Area,
            FilterArg::Lanczos3 => Self::Lanczos3,
            FilterArg::Bilinear => Self::Bilinear,
        }
    }
}

impl From<CheckArg> for Check {
    fn from(arg: CheckArg) -> Self {
        match arg {
            CheckArg::Header => Self::Header,
            CheckArg::Pixels => Self::Pixels,
        }
    }
}

impl From<OnErrorArg> for OnPackError {
    fn from(arg: OnErrorArg) -> Self {
        match arg {
            OnErrorArg::Fail => Self::Fail,
            OnErrorArg::Skip => Self::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, Command, FromArgMatches as _};

    #[test]
    fn flags_that_are_not_given_are_the_defaults_of_the_library() {
        let command = OptionArgs::augment_args(Command::new("options"));
        let args = OptionArgs::from_arg_matches(&command.get_matches_from(["options"])).unwrap();
        assert_eq!(args.to_options(&OptionValues::default()), PackOptions::default());
    }
}
