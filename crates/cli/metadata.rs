//! The flag for removing metadata from images.
use clap::Args;
use fdconvert::MetadataKind;

#[derive(Debug, Clone, Args)]
pub(crate) struct MetadataArgs {
    /// Take this out of images that keep their bytes: exif, gps, xmp, iptc, comments, icc, all
    ///
    /// The bytes of the pixels stay as they are. all is everything but the colour profile, which
    /// `all,icc` takes, too. The orientation stays: where an EXIF goes that turns the image, one
    /// that says nothing else takes its place. gps empties the directory of positions and leaves
    /// the rest of the EXIF; a packet of XMP that names a position goes, and so does an EXIF that
    /// cannot be read. What is behind the end of an image (previews, videos) goes with all but
    /// comments and icc. TIFFs are re-encoded without loss. Images that are re-encoded have no
    /// metadata anyway.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Images",
        hide_short_help = true
    )]
    pub(crate) strip_metadata: Vec<MetadataKind>,
}
