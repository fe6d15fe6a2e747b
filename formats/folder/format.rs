use crate::folder::{FolderReader, TableOfKeys, archive};
#[cfg(feature = "write")]
use crate::folder::{
    annotations::writing::{AnnotationWriter, OPTIONS, Written},
    writer::{self, Writer},
};
#[cfg(feature = "zip")]
use bytes::Bytes;
use fdconvert_core::{
    Capabilities, Codec, Create, Format, Ignored, ImageHeader, Layout, Limits, MaxDecompressed,
    OpenOptions, OptionValues, Reader, Result, Schema, ShardSummary, ShardWriter, SplitChoice,
    Splits,
};
#[cfg(feature = "write")]
use fdconvert_core::{Common, FormatOption, Remark, SourceFacts};
use fdconvert_storage::place;
use std::path::Path;

/// Folders of image files, and zips of such folders.
#[derive(Debug, Clone)]
pub struct Folder {
    pub(crate) limits: Limits,
    pub(crate) max_decompressed: MaxDecompressed,
    pub(crate) follow_links: bool,
    pub(crate) split_folders: bool,
    pub(crate) selected_splits: Vec<String>,
    pub(crate) beside: Vec<String>,
    pub(crate) written_splits: Splits,
    pub(crate) boxes: Option<BoxFrame>,
    pub(crate) leaves_rotation: bool,
    pub(crate) label_columns: Vec<String>,
    /// False to leave out the first image of every sample, whose file is then not read.
    pub(crate) reads_images: bool,
    /// True to read the headers of images that are left out, which tell how EXIF turns them.
    pub(crate) reads_headers: bool,
    #[cfg(feature = "write")]
    pub(crate) written: Written,
}

/// The image that annotation coordinates refer to, if an EXIF orientation turns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxFrame {
    /// The upright image, as viewers show it.
    Upright,
    /// The stored image.
    Stored,
}

/// The default of every command: folders with names of splits are splits.
impl Default for Folder {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_decompressed: MaxDecompressed::default(),
            follow_links: false,
            split_folders: true,
            selected_splits: Vec::new(),
            beside: Vec::new(),
            written_splits: Splits::new(),
            boxes: None,
            leaves_rotation: false,
            label_columns: Vec::new(),
            reads_images: true,
            reads_headers: true,
            #[cfg(feature = "write")]
            written: Written::default(),
        }
    }
}

impl Folder {
    /// Limits the files to read. Only the limit on file sizes applies here, the others are for
    /// decoders.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Follows links wherever they lead; every folder is listed once.
    #[must_use]
    pub fn follow_links(self, follow_links: bool) -> Self {
        Self { follow_links, ..self }
    }

    /// Treats first-level folders with the names of splits as splits, and the folders in them as
    /// classes. This is the default.
    #[must_use]
    pub fn split_folders(self, split_folders: bool) -> Self {
        Self { split_folders, ..self }
    }

    /// Announces that only samples of these splits will be read, or all if empty: then images
    /// without a class in other splits are no error.
    #[must_use]
    pub fn select_splits(self, selected_splits: Vec<String>) -> Self {
        Self { selected_splits, ..self }
    }

    /// Adds a field for each extension, such as `txt` or `mask.png`, from the files with an image's
    /// name and this extension. A sample without such a file is an error.
    #[must_use]
    pub fn beside(self, extensions: Vec<String>) -> Self {
        let bare = |it: String| it.strip_prefix('.').map(str::to_owned).unwrap_or(it);
        Self { beside: extensions.into_iter().map(bare).collect(), ..self }
    }

    /// Limits the decompressed size of each file in a zip.
    #[must_use]
    pub fn max_decompressed(self, max_decompressed: MaxDecompressed) -> Self {
        Self { max_decompressed, ..self }
    }

    /// Sets the splits of the samples to be written, to record them.
    #[must_use]
    pub fn record_splits(self, written_splits: Splits) -> Self {
        Self { written_splits, ..self }
    }

    /// Sets the image that the coordinates of all annotations refer to; without it, the size stated
    /// in each annotation decides.
    #[must_use]
    pub fn boxes(self, boxes: Option<BoxFrame>) -> Self {
        Self { boxes, ..self }
    }

    /// Announces that images will lose their EXIF orientation without being turned. Rotated photos
    /// are then errors if their annotations refer to the upright image.
    #[must_use]
    pub fn leaves_rotation(self, leaves_rotation: bool) -> Self {
        Self { leaves_rotation, ..self }
    }

    /// Leaves out the first image of every sample, and does not read its file: of annotations that
    /// state the size of the image not even its header, unless `reads_headers`.
    #[must_use]
    pub fn without_images(self, reads_headers: bool) -> Self {
        Self { reads_images: false, reads_headers, ..self }
    }

    /// Returns true if files of images are opened; else they may be missing.
    pub(crate) fn reads_files(&self) -> bool {
        self.reads_images || self.reads_headers
    }

    /// Combines these 0/1 columns of a table into one label: an array with a number per column.
    #[must_use]
    pub fn label_columns(self, label_columns: Vec<String>) -> Self {
        Self { label_columns, ..self }
    }

    /// Writes the annotations that the format's options name, and no rows. With `strict`, samples
    /// that would lose something are refused. Links lead to the files of the source with these facts.
    ///
    /// # Errors
    /// `Usage` for unknown values.
    #[cfg(feature = "write")]
    pub fn annotated(
        &self,
        values: &OptionValues,
        strict: bool,
        facts: &SourceFacts,
    ) -> Result<Self> {
        let mut written = Written::of(values)?;
        (written.strict, written.roots) = (strict, facts.roots.clone());
        let is_dropped = facts.dropped_fields.iter().any(|name| name == "image");
        let is_unread = is_dropped || !facts.roots.is_empty();
        written.lacks_image = is_unread && !written.keeps_images();
        Ok(Self { written, ..self.clone() })
    }

    /// Opens `root`: an unpacked dataset with its table, a folder of class folders, or a flat one.
    /// A zip can take the place of the folder.
    ///
    /// # Errors
    /// `Usage` for a folder without images, and for images beside class folders; `Corrupt` or
    /// `Version` when its table, or the zip, is damaged or of another version; `Io` when a folder
    /// cannot be listed.
    pub fn open_folder(&self, root: &Path) -> Result<FolderReader> {
        FolderReader::open(root, self.clone())
    }

    /// Opens a zip in memory; messages call it `path`.
    ///
    /// # Errors
    /// Those of [`open_folder`](Self::open_folder).
    #[cfg(feature = "zip")]
    pub fn open_zip(&self, path: &Path, bytes: Bytes) -> Result<FolderReader> {
        let archive = archive::Archive::of_bytes(path, bytes, self.max_decompressed)?;
        FolderReader::open_in(path, Some(archive), self.clone())
    }

    /// Opens `root` in its state at the time of a plan, without walking it: `schema`, `listing` and
    /// `fingerprint` are the reader's values from then. Deleted files are errors of their samples.
    ///
    /// # Errors
    /// `Usage` when the listing is invalid.
    pub fn open_planned(
        &self,
        root: &Path,
        schema: Schema,
        listing: &[u8],
        fingerprint: [u8; 16],
        ignored: Ignored,
    ) -> Result<FolderReader> {
        FolderReader::open_planned(root, schema, listing, fingerprint, ignored, self.clone())
    }

    /// Opens exactly the files below `root` in the table `labels` (`.csv`, `.tsv` or `.jsonl`), in
    /// its order and with its columns. A table with only a path column keeps the classes of the
    /// folders; split folders stay splits whatever the columns. Missing files are errors of their
    /// samples.
    ///
    /// Annotations of COCO (`.json`), YOLO (`.yaml`, or a folder of `.txt` files) and Pascal VOC (a
    /// folder of `.xml` files) can take the place of a table, and become the field `objects`. A
    /// folder of tables (`metadata.csv` or `metadata.jsonl` in it or in its split folders) counts
    /// as one table.
    ///
    /// # Errors
    /// `Usage`, with line and column, when the table is invalid; `Io` when it cannot be read.
    pub fn open_with_labels(&self, root: &Path, labels: &Path) -> Result<FolderReader> {
        FolderReader::open_with_labels(root, labels, self.clone())
    }

    /// Reads a table with keys of packed samples as names.
    ///
    /// # Errors
    /// Those of [`open_with_labels`](Self::open_with_labels), except errors of images.
    pub fn read_table(&self, labels: &Path) -> Result<TableOfKeys> {
        TableOfKeys::read(labels, self)
    }
}

impl Format for Folder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn about(&self) -> &'static str {
        "a folder of image files, one folder per class; read from a zip, too"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { layout: Layout::Images, ..Capabilities::default() }
    }

    #[cfg(feature = "write")]
    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(self.name(), self.options())?;
        #[cfg(feature = "write")]
        return Ok(Box::new(Self { written: Written::of(values)?, ..self.clone() }));
        #[cfg(not(feature = "write"))]
        Ok(Box::new(self.clone()))
    }

    /// Accepts any folder and any zip, so callers try this format last.
    fn detect(&self, path: &Path) -> bool {
        place::is_folder(path) || archive::looks_like_one(path)
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        // Everything but raw pixels is a file.
        header.codec != Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let splits = self.written_splits.clone();
        if self.written.is_some() {
            let written = self.written.clone();
            return Ok(Box::new(AnnotationWriter::create(request, splits, written)?));
        }
        Ok(Box::new(Writer::create(request, splits)?))
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        if self.written.is_some() {
            return writer::confirm_finished(request);
        }
        writer::finished(request)
    }

    #[cfg(feature = "write")]
    fn remarks(&self, _: &Schema, _: &Common) -> Vec<Remark> {
        self.written.told.remarks()
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        let mut folder = self.clone().max_decompressed(options.max_decompressed);
        if let SplitChoice::Named(wanted) = &options.splits {
            folder = folder.select_splits(wanted.clone());
        }
        Ok(Box::new(folder.open_folder(path)?))
    }
}
