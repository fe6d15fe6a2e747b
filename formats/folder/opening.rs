//! Opens a folder, a zip of one, or a folder of objects: lists its samples, and their fields.
use crate::folder::{
    Folder, FolderReader,
    ahead::Coming,
    annotations::{self, Annotated, Notices},
    archive::Archive,
    beside,
    labels::{self, LabelTable},
    layout::key_of_path,
    levels::Levels,
    listing::Listing,
    names::{self, Files},
    objects::Objects,
    reader::Samples,
    sidecar::{self, Sidecar},
    split_classes::{divide, origin},
    split_folders::{self, Division},
    table::Column,
    walk::{Found, walk},
    walk_away::{self, FoundAway},
};

use fdconvert_core::{
    Error, FieldFacts, FieldSpec, Ignored, Kind, Remark, Result, Schema, Source, SourceFacts,
    option,
};
use fdconvert_storage::place::is_url;
use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use xxhash_rust::xxh3::xxh3_128;

impl FolderReader {
    pub(crate) fn open(root: &Path, how: Folder) -> Result<Self> {
        let archive = Archive::open(root, how.max_decompressed)?;
        Self::open_in(root, archive, how)
    }

    /// Opens a folder, or the zip in its place.
    pub(crate) fn open_in(root: &Path, archive: Option<Archive>, how: Folder) -> Result<Self> {
        match sidecar::read(root, archive.as_ref(), &how.limits)? {
            Some(table) => Self::of_table(root, how, table, archive),
            None => Self::of_files(root, how, archive),
        }
    }

    /// All images of a folder, a zip, or a folder of objects.
    fn of_files(root: &Path, how: Folder, archive: Option<Archive>) -> Result<Self> {
        if archive.is_none() && !is_url(root) {
            return Self::of_walk(root, how, None)?.with_beside();
        }
        let listed = Listed::of(root, archive)?;
        let FoundAway { found, sizes, stamp } =
            walk_away::walk(root, listed.objects(), &how.beside, listed.ignored())?;
        let mut reader = Self::of_walk(root, how, Some(found))?;
        reader.sizes = Some(sizes);
        reader.looked_up(listed, stamp)
    }

    /// A folder that was unpacked with its table.
    fn of_table(
        root: &Path,
        how: Folder,
        found: Sidecar,
        archive: Option<Archive>,
    ) -> Result<Self> {
        let (table, origin) = (found.table, "labels.jsonl");
        let real = real(root, archive.as_ref())?;
        let samples = Samples::Listed { table, real, bytes: found.rows, origin };
        let mut reader = Self::new(root, found.schema, samples, how)?;
        reader.provenance = Some(found.provenance);
        reader.facts.splits = found.splits;
        reader.with_table(Listed::of_any(root, archive)?)
    }

    fn of_walk(root: &Path, how: Folder, found: Option<Found>) -> Result<Self> {
        beside::check(&how.beside)?;
        let mut found = found.map_or_else(|| walk(root, &how), Ok)?;
        let only_parts = found.class_names.is_empty() && found.listing.parts_images();
        let mut division = if only_parts {
            let what = format!(
                "folders of {} only part the images, as img2dataset does: they are not classes",
                root.display()
            );
            Division {
                labels: Some("the folders are no classes".into()),
                remarks: vec![what.into()],
                ..Division::default()
            }
        } else {
            divide(root, &how, &mut found)?
        };
        let mut fields = vec![FieldSpec::new("image", Kind::Image)];
        if !found.class_names.is_empty() {
            fields.push(FieldSpec::label("label", found.class_names.into()));
        }
        #[cfg(any(feature = "wds", feature = "zip"))]
        if [".tar", ".tgz", ".gz", ".zst"]
            .iter()
            .any(|it| found.ignored.extensions.contains_key(*it))
        {
            division.tell(crate::tarball::beside_images(root));
        }
        let samples = Samples::Walked(found.listing);
        let mut reader = Self::new(root, Schema::new(fields)?, samples, how)?;
        reader.facts.ignored = found.ignored;
        Ok(reader.divided(division))
    }

    pub(crate) fn open_planned(
        root: &Path,
        schema: Schema,
        listing: &[u8],
        fingerprint: [u8; 16],
        ignored: Ignored,
        how: Folder,
    ) -> Result<Self> {
        let listing = Listing::from_bytes(listing)?.ok_or_else(|| {
            Error::usage("plan", format!("the listing of {} is damaged", root.display()))
        })?;
        let division = if how.split_folders && listing.parts_images() {
            let (levels, mut division) = listing.division(root)?;
            division.labels = Some(origin(&levels, schema.label().is_some()));
            division
        } else {
            Division::default()
        };
        let mut reader = Self::new(root, schema, Samples::Walked(listing), how)?;
        reader.fingerprint = OnceLock::from(fingerprint);
        // Machines may read copies of the source with other file times.
        reader.stamp = OnceLock::from(fingerprint);
        reader.facts.ignored = ignored;
        Ok(reader.divided(division).told())
    }

    pub(crate) fn open_with_labels(root: &Path, file: &Path, how: Folder) -> Result<Self> {
        beside::check(&how.beside)?;
        let archive = Archive::open(root, how.max_decompressed)?;
        if archive.is_none()
            && let Some(annotated) = annotations::read(root, file, &how)?
        {
            return Self::open_annotated(root, annotated, how);
        }
        let member = archive.as_ref().and_then(|archive| Some((archive, archive.member_of(file)?)));
        let inside = match member {
            Some((archive, member)) => {
                let name = key_of_path(&member);
                let bytes = archive.read(&name, &member, &how.limits)?;
                let missing = || {
                    let what = format!("{name} is missing in {}", root.display());
                    Error::usage(option::LABELS, what)
                };
                Some(bytes.ok_or_else(missing)?)
            }
            None => None,
        };
        let read = labels::read(file, &how, inside)?;
        Self::of_labels(root, file, read, archive, how)
    }

    /// The files listed in a table of another tool.
    fn of_labels(
        root: &Path,
        file: &Path,
        read: LabelTable,
        archive: Option<Archive>,
        how: Folder,
    ) -> Result<Self> {
        let LabelTable { mut schema, mut table, bytes, mut remarks, splits, files: read } = read;
        let is_list = schema.fields.len() == 1;
        let real = real(root, archive.as_ref())?;
        let listed = Listed::of_any(root, archive)?;
        let objects = listed.as_ref().map(Listed::objects);
        let files = Files { root, how: &how, objects };
        remarks.extend(names::settle(&mut table.paths, &files)?);
        labels::tell_unlisted(&table, &files, &read, &mut remarks)?;
        let walked = match (schema.fields.len(), objects) {
            (1, None) => walk(root, &how).map(Some),
            (1, Some(objects)) => {
                let found = walk_away::walk(root, objects, &how.beside, Ignored::default());
                found.map(|away| Some(away.found))
            }
            _ => Ok(None),
        };
        let mut division = match walked {
            Ok(Some(mut found)) => {
                let mut division = divide(root, &how, &mut found)?;
                let levels = match how.split_folders && found.listing.parts_images() {
                    true => found.listing.division(root)?.0,
                    false => Levels::default(),
                };
                labels::keep_classes(&mut schema, &mut table, found.class_names, &levels)?;
                if levels.has_splits {
                    division.splits = split_folders::of_paths(&levels, &table.paths)?;
                }
                division
            }
            // Without classes there is nothing to keep; missing files are reported one by one.
            Ok(None) | Err(Error::Usage { .. }) if how.split_folders && splits.is_empty() => {
                split_folders::of_table(root, &table.paths)?
            }
            Ok(None) | Err(Error::Usage { .. }) => Division::default(),
            Err(error) => return Err(error),
        };
        if !splits.is_empty() {
            // A column of the table takes precedence over folders.
            division = Division { splits, ..Division::default() };
        }
        division.tell(remarks);
        let samples = Samples::Listed { table, real, bytes, origin: option::LABELS.as_str() };
        let mut reader = Self::new(root, schema, samples, how)?.divided(division);
        let labels = reader.facts.label_origin.take().filter(|_| is_list);
        reader.facts.label_origin = labels.or_else(|| Some(of_columns(&reader, file)));
        reader.with_table(listed)
    }

    /// Annotations of other tools, which list the images or belong to existing ones.
    pub(crate) fn open_annotated(root: &Path, annotated: Annotated, how: Folder) -> Result<Self> {
        let Annotated { schema, mut table, identity, division, mut remarks, ignored, lists } =
            annotated;
        let listed = Listed::of_any(root, None)?;
        // Without files there is nothing that names could be compared with.
        if lists && how.reads_files() {
            let objects = listed.as_ref().map(Listed::objects);
            let files = Files { root, how: &how, objects };
            remarks.extend(names::settle(&mut table.paths, &files)?);
            labels::tell_unlisted(&table, &files, &[], &mut remarks)?;
        }
        let mut division = match division {
            Some(division) => division,
            None if how.split_folders => split_folders::of_table(root, &table.paths)?,
            None => Division::default(),
        };
        division.tell(remarks);
        let (real, bytes) = (real(root, None)?, identity);
        let samples = Samples::Listed { table, real, bytes, origin: option::LABELS.as_str() };
        let mut reader = Self::new(root, schema, samples, how)?.divided(division);
        reader.facts.ignored = ignored;
        reader.facts.label_origin = match reader.schema().label() {
            Some(_) => None,
            None => Some("annotations are separate fields".into()),
        };
        reader.with_table(listed)
    }

    /// Adds the facts that a zip or a store lists about the files of a table.
    fn with_table(mut self, listed: Option<Listed>) -> Result<Self> {
        beside::check(&self.how.beside)?;
        let Some(listed) = listed else { return self.with_beside() };
        let paths = (0..self.len()).map(|index| self.path(index).unwrap_or_default());
        let (sizes, stamp) = walk_away::look_up(listed.objects(), paths)?;
        self.sizes = Some(sizes);
        self.looked_up(listed, stamp)
    }

    /// Adds the listed facts about the files beside images; `stamp` is that of the images.
    fn looked_up(mut self, listed: Listed, mut stamp: [u8; 16]) -> Result<Self> {
        if !self.how.beside.is_empty() {
            let paths = (0..self.len()).flat_map(|index| self.paths_beside(index));
            let (sizes, beside) = walk_away::look_up(listed.objects(), paths.map(Cow::from))?;
            self.beside_sizes = Some(sizes);
            stamp = xxh3_128(&[stamp, beside].concat()).to_le_bytes();
        }
        if let Listed::Zip(archive) = listed {
            stamp = archive.stamp();
            self.facts.remarks.extend(archive.remark().map(Remark::from));
            self.archive = Some(archive);
        }
        self.stamp = OnceLock::from(stamp);
        self.with_beside()
    }

    /// Adds the fields for the files beside images.
    fn with_beside(mut self) -> Result<Self> {
        let read_first = |extension: &str| {
            let first = self.path(0).unwrap_or_default();
            let path = beside::path_beside(&first, extension);
            let bytes = self.read_bytes(&self.key_of(&first), &path, None)?;
            Ok(bytes.unwrap_or_default())
        };
        self.facts.schema = beside::with_fields(self.schema(), &self.how.beside, read_first)?;
        Ok(self.told())
    }

    /// Adds the splits and remarks of the folders.
    fn divided(mut self, division: Division) -> Self {
        self.facts.splits = division.splits;
        self.facts.label_origin = division.labels;
        self.facts.remarks = division.remarks.into_iter().collect();
        self
    }

    /// Adds the facts that follow from everything found.
    fn told(mut self) -> Self {
        let is_made = |at: usize| match &self.samples {
            Samples::Walked(_) => false,
            Samples::Listed { table, .. } => {
                matches!(table.columns.get(at), Some(Column::Made(_)))
            }
        };
        let of_field = |(at, spec): (usize, &FieldSpec)| {
            let extension = self.extension_of(at);
            FieldFacts {
                // Images beside others are their masks.
                keeps_pixels: extension.is_some(),
                // Values of a table are known without opening a file, but for annotations.
                is_known: extension.is_none() && !is_made(at),
                member: extension.filter(|_| spec.kind != Kind::Image).cloned(),
                inner: Vec::new(),
            }
        };
        let fields = self.schema().fields.iter().enumerate().map(of_field).collect();
        let is_split = |folder: &&String| split_folders::split_of(folder.as_bytes()).is_some();
        let empty = self.facts.ignored.folders.iter().filter(is_split);
        let told = empty.filter(|_| self.how.split_folders);
        let told = told.map(|folder| format!("the split folder {folder} holds no image").into());
        self.facts.remarks.extend(told);
        let notices = self.notices.clone();
        self.facts.remarks.push_found(move || notices.remarks());
        self.facts.fields = fields;
        self
    }

    fn new(root: &Path, mut schema: Schema, samples: Samples, how: Folder) -> Result<Self> {
        let mut dropped_fields = Vec::new();
        if !how.reads_images
            && let Some(first) = schema.first_image()
        {
            dropped_fields.push(schema.fields.remove(first).name);
            schema = Schema::new(schema.fields)?;
        }
        let name = match root.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            // `.` and `..` have names only after resolution.
            None => real(root, None)?
                .file_name()
                .map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned()),
        };
        let len = match &samples {
            Samples::Walked(listing) => listing.len(),
            Samples::Listed { table, .. } => table.len(),
        };
        let facts = SourceFacts::new(name, schema, len);
        let is_folder = !is_url(root) && root.is_dir();
        let roots = if is_folder { vec![real(root, None)?] } else { Vec::new() };
        Ok(Self {
            root: root.to_path_buf(),
            facts: SourceFacts { reads_ahead: is_url(root), roots, dropped_fields, ..facts },
            samples,
            provenance: None,
            how,
            coming: Coming::default(),
            fingerprint: OnceLock::new(),
            stamp: OnceLock::new(),
            sizes: None,
            archive: None,
            notices: Arc::new(Notices::default()),
            beside_sizes: None,
        })
    }
}

/// The origin of a table's labels, or why there are none.
fn of_columns(reader: &FolderReader, file: &Path) -> String {
    let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let schema = reader.schema();
    if let Some(field) = schema.label().and_then(|label| schema.fields.get(label)) {
        return format!("from column `{}` of {file}", field.name);
    }
    if let Samples::Listed { table, .. } = &reader.samples
        && table.columns.iter().any(|column| matches!(column, Column::Made(_)))
    {
        return format!("the boxes of {file} and their classes are the field `objects`");
    }
    match schema.fields.iter().find(|field| field.name == "label").map(|field| &field.kind) {
        Some(Kind::Array(_)) => {
            format!("the columns {} of {file} are flags", reader.how.label_columns.join(", "))
        }
        Some(kind) => format!(
            "column `label` of {file} is a field of {}, and classes are names or whole numbers",
            kind.name()
        ),
        None => format!("{file} has no column `label`"),
    }
}

/// The file list of a zip or a store.
enum Listed {
    Zip(Box<Archive>),
    Store(Objects),
}

impl Listed {
    /// The list of a zip or a store; `None` for a folder.
    fn of_any(root: &Path, archive: Option<Archive>) -> Result<Option<Self>> {
        let is_listed = archive.is_some() || is_url(root);
        is_listed.then(|| Self::of(root, archive)).transpose()
    }

    fn of(root: &Path, archive: Option<Archive>) -> Result<Self> {
        Ok(match archive {
            Some(archive) => Self::Zip(Box::new(archive)),
            None => Self::Store(Objects::list(root)?),
        })
    }

    fn objects(&self) -> &Objects {
        match self {
            Self::Zip(archive) => archive.objects(),
            Self::Store(objects) => objects,
        }
    }

    fn ignored(&self) -> Ignored {
        match self {
            Self::Zip(archive) => archive.ignored().clone(),
            Self::Store(_) => Ignored::default(),
        }
    }
}

fn real(root: &Path, archive: Option<&Archive>) -> Result<PathBuf> {
    if archive.is_some() || is_url(root) {
        return Ok(root.to_path_buf());
    }
    fs::canonicalize(root).map_err(Error::io("open", root))
}
