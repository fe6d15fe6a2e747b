use super::{Keys, Location, Profile};
use crate::{compare::tree, fixtures, server::Server};
use fdconvert_core::{
    Common, Complete, Create, Encoded, FieldSpec, Format, Kind, Provenance, Reader, Result, Sample,
    Schema, Shard, ShardSummary, ShardWriter, Value,
};
use fdconvert_storage::place::{self, set_store_options};
use std::{fs, path::PathBuf, sync::OnceLock};

/// Returns the folder of the datasets of all tests that are not on the disk, and its server.
fn served() -> &'static (tempfile::TempDir, Server) {
    static SERVED: OnceLock<(tempfile::TempDir, Server)> = OnceLock::new();
    SERVED.get_or_init(|| {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bucket")).unwrap();
        let server = Server::start(root.path());
        let options = [
            ("endpoint", server.url()),
            ("allow_http", "true".to_owned()),
            ("access_key_id", "test".to_owned()),
            ("secret_access_key", "secret".to_owned()),
            ("region", "us-east-1".to_owned()),
        ];
        set_store_options(options.map(|(name, value)| (name.to_owned(), value))).unwrap();
        (root, server)
    })
}

/// A format and an empty folder to test it in.
pub(super) struct Bench<'a> {
    pub(super) format: &'a dyn Format,
    pub(super) profile: &'a Profile,
    temporary: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    pub(super) fn new(format: &'a dyn Format, profile: &'a Profile) -> Self {
        let temporary = match profile.location {
            Location::Disk => tempfile::tempdir(),
            Location::Store | Location::Web => {
                tempfile::Builder::new().prefix("t").tempdir_in(served().0.path().join("bucket"))
            }
        };
        let temporary = temporary.unwrap();
        fs::create_dir(temporary.path().join("inner")).unwrap();
        Self { format, profile, temporary }
    }

    /// Returns the folder of the output, which contains nothing else.
    pub(super) fn folder(&self) -> PathBuf {
        self.temporary.path().join("inner")
    }

    /// Returns the path for writing.
    pub(super) fn out(&self) -> PathBuf {
        match self.profile.location {
            Location::Disk | Location::Web => self.folder().join(self.profile.out),
            Location::Store => self.url("s3:/"),
        }
    }

    /// Returns the path for reading.
    fn place(&self) -> PathBuf {
        match self.profile.location {
            Location::Disk | Location::Store => self.out(),
            Location::Web => self.url(&served().1.url()),
        }
    }

    fn url(&self, root: &str) -> PathBuf {
        let name = self.temporary.path().file_name().unwrap().to_string_lossy();
        PathBuf::from(format!("{root}/bucket/{name}/inner/{}", self.profile.out))
    }

    pub(super) fn create(
        &self,
        schema: &Schema,
        n_samples: usize,
        overwrite: bool,
    ) -> Result<Box<dyn ShardWriter>> {
        self.create_as(schema, n_samples, overwrite, false)
    }

    /// Creates a writer, for samples with entry points if `entry_points`.
    pub(super) fn create_as(
        &self,
        schema: &Schema,
        n_samples: usize,
        overwrite: bool,
        entry_points: bool,
    ) -> Result<Box<dyn ShardWriter>> {
        let shard = Shard::whole(n_samples as u64);
        let provenance = provenance();
        let writer = self.format.create(&Create {
            out: &self.out(),
            schema,
            shard: &shard,
            common: &Common::default(),
            provenance: &provenance,
            fingerprint: FINGERPRINT,
            stamp: FINGERPRINT,
            overwrite,
            entry_points,
            is_open: false,
        })?;
        assert_eq!(writer.resumed(), 0, "there was nothing to resume");
        Ok(writer)
    }

    pub(super) fn try_write(
        &self,
        schema: &Schema,
        samples: &[Sample<Encoded>],
        overwrite: bool,
    ) -> Result<ShardSummary> {
        let mut writer = self.create(schema, samples.len(), overwrite)?;
        samples.iter().try_for_each(|sample| writer.write(sample))?;
        self.finish(writer, schema, samples.len())
    }

    /// Commits the only shard and completes the dataset.
    pub(super) fn finish(
        &self,
        writer: Box<dyn ShardWriter>,
        schema: &Schema,
        n_samples: usize,
    ) -> Result<ShardSummary> {
        let summary = writer.finish()?;
        self.complete(schema, n_samples, summary.clone())?;
        Ok(summary)
    }

    fn complete(&self, schema: &Schema, n_samples: usize, summary: ShardSummary) -> Result<()> {
        let provenance = Provenance { skipped: summary.skipped.clone(), ..provenance() };
        let shards = [(Shard::whole(n_samples as u64), summary)];
        let written = self.format.complete(&Complete {
            out: &self.out(),
            schema,
            shards: &shards,
            common: &Common::default(),
            provenance: &provenance,
            fingerprint: FINGERPRINT,
        })?;
        assert!(written.iter().all(|path| place::is_file(path)), "not written: {written:?}");
        Ok(())
    }

    /// Completes the dataset if its shard was committed before a failure, and returns whether it
    /// was.
    #[cfg(feature = "fault")]
    pub(super) fn recover(&self, schema: &Schema, n_samples: usize) -> bool {
        let finished = self.format.finished(&Create {
            out: &self.out(),
            schema,
            shard: &Shard::whole(n_samples as u64),
            common: &Common::default(),
            provenance: &provenance(),
            fingerprint: FINGERPRINT,
            stamp: FINGERPRINT,
            overwrite: false,
            entry_points: false,
            is_open: false,
        });
        let finished = finished.unwrap();
        let is_finished = finished.is_some();
        finished.into_iter().for_each(|summary| {
            self.complete(schema, n_samples, summary).unwrap();
        });
        is_finished
    }

    /// Writes all samples and checks the writer's results.
    pub(super) fn write(&self, schema: &Schema, samples: &[Sample<Encoded>]) {
        let summary = self.try_write(schema, samples, false).unwrap();
        assert_eq!(summary.samples, samples.len() as u64);
        assert!(place::exists(&summary.path).unwrap(), "{}", summary.path.display());
        if self.format.is_sharded() {
            assert!(summary.path.starts_with(self.out()), "{}", summary.path.display());
        } else {
            assert_eq!(summary.path, self.out());
        }
        assert!(summary.bytes > 0);
    }

    pub(super) fn open(&self) -> Box<dyn Reader> {
        assert!(self.format.detect(&self.place()), "does not detect what it has written");
        self.format.open(&self.place()).unwrap()
    }

    /// Asserts that the dataset contains these samples.
    pub(super) fn assert_holds(&self, schema: &Schema, samples: &[Sample<Encoded>]) {
        let reader = self.open();
        self.assert_schema(reader.schema(), schema);
        assert_eq!(reader.len(), samples.len() as u64);
        let mut found: Vec<_> = (0..reader.len()).map(|i| reader.get(i).unwrap()).collect();
        let mut expected = samples.to_vec();
        if !self.profile.keeps_order {
            let by_parts = |sample: &Sample<Encoded>| -> Vec<String> {
                sample.key.split('/').map(str::to_owned).collect()
            };
            expected.sort_by_key(by_parts);
            found.sort_by_key(by_parts);
        }
        for (found, expected) in found.iter().zip(&expected) {
            if self.profile.keys != Keys::Lost {
                assert_eq!(found.key, expected.key);
            }
            assert_same_values(found, expected);
        }
    }

    fn assert_schema(&self, found: &Schema, expected: &Schema) {
        assert_eq!(found.fields.len(), expected.fields.len(), "{found:?}");
        for (found, expected) in found.fields.iter().zip(&expected.fields) {
            assert_eq!((&found.name, &found.kind), (&expected.name, &expected.kind));
            if self.profile.keeps_class_names && expected.class_names.is_some() {
                assert_eq!(found.class_names, expected.class_names);
            }
        }
    }

    /// Asserts that no file exists, finished or not.
    pub(super) fn assert_empty(&self) {
        let mut names: Vec<_> =
            fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        if self.profile.location == Location::Store {
            // Stores have no folders, and those of the server may stay.
            names.retain(|path| tree(path).keys().any(|name| !name.ends_with(b"/")));
        }
        assert!(names.is_empty(), "left behind: {names:?}");
        self.assert_nothing_outside();
    }

    /// Asserts that all files have the name of the output, and none is elsewhere.
    pub(super) fn assert_nothing_outside(&self) {
        for entry in fs::read_dir(self.folder()).unwrap() {
            let name = entry.unwrap().file_name();
            let name = name.to_string_lossy().into_owned();
            assert!(name.starts_with(self.profile.out), "a stray file: {name}");
        }
        let n_entries = fs::read_dir(self.temporary.path()).unwrap().count();
        assert_eq!(n_entries, 1, "a file outside of the output's folder");
    }

    /// Returns images of the fixtures that the format can hold.
    pub(super) fn images(&self) -> Vec<Encoded> {
        let held = fixtures::images().into_iter().filter(|(header, _)| self.format.holds(header));
        let images: Vec<_> = held.map(|(_, image)| image).collect();
        assert!(!images.is_empty() || !self.has(&Kind::Image), "holds none of the fixtures");
        images
    }

    pub(super) fn has(&self, kind: &Kind) -> bool {
        self.profile.kinds.contains(kind)
    }

    /// Returns a schema of an image (if the format has them) and a label with class names, and
    /// samples.
    pub(super) fn labelled(&self, n_samples: usize, seed: u64) -> (Schema, Vec<Sample<Encoded>>) {
        let class_names: [String; 3] = ["ant", "bee", "cat"].map(str::to_owned);
        let schema = self.with_image(FieldSpec::label("label", class_names.into()));
        let mut samples = fixtures::samples(&schema, &self.images(), n_samples, seed);
        // Not in key order, in case keys are kept.
        samples.reverse();
        (schema, samples)
    }

    /// Returns a schema of an image (if the format has them) and this field.
    pub(super) fn with_image(&self, field: FieldSpec) -> Schema {
        let image = self.has(&Kind::Image).then(|| FieldSpec::new("image", Kind::Image));
        Schema::new(image.into_iter().chain([field]).collect()).unwrap()
    }
}

/// Asserts that values are identical bit for bit, except that all NaNs are equal.
pub(super) fn assert_same_values(found: &Sample<Encoded>, expected: &Sample<Encoded>) {
    assert_eq!(found.values.len(), expected.values.len(), "sample `{}`", expected.key);
    for (found, wanted) in found.values.iter().zip(&expected.values) {
        let same = match (found, wanted) {
            (Value::Float(a), Value::Float(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            _ => found == wanted,
        };
        assert!(same, "sample `{}`: {} is not {}", expected.key, shown(found), shown(wanted));
    }
}

fn shown(value: &Value<Encoded>) -> String {
    let text = format!("{value:?}");
    text.chars().take(200).collect()
}

const FINGERPRINT: [u8; 16] = *b"conformance test";

fn provenance() -> Provenance {
    Provenance {
        tool: "testkit".into(),
        source: "fixtures".into(),
        params: [("policy".into(), "keep".into())].into(),
        skipped: vec![],
    }
}
