//! Files of formulas: round trips, damage, and failures that leave nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::formula::{FormulaFormat, FormulaReader, write};
use fdconvert_core::{
    Common, Create, Error, Format, Image, Look, Provenance, Reader, Schema, Shard, Source, Value,
};
use fdconvert_fractal::{Category, Formula, FractalSource, Recipe, Shape, System};
use fdconvert_storage::{fault, partial_path};
use proptest::prelude::*;
use std::{fs, io, path::Path};

const RECIPES: [&str; 5] = [
    "fractal:fractaldb?classes=3&instances=200&size=40&points=400",
    "fractal:svd?classes=5&instances=7&size=33&points=500&sampler=lanes64-v1&vary=epoch",
    "fractal:fractaldb?classes=2&size=32&points=300&draw=point_color&sampler=fractaldb-v1",
    "fractal:visual_atom?classes=3&instances=4&size=30",
    "fractal:ex-fractaldb?classes=3&weight=0.1&views=2&points=400&size=40&vary=epoch",
];

fn formula(recipe: &str) -> Formula {
    Recipe::parse(recipe).unwrap().resolve(&mut |_| true).unwrap()
}

fn provenance() -> Provenance {
    let params = [("a".to_owned(), "b".to_owned())].into();
    Provenance { tool: "test 1".into(), source: "fractal:test".into(), params, skipped: vec![] }
}

fn open(path: &Path) -> Result<Box<dyn Reader>, Error> {
    FormulaFormat.open(path)
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (number, recipe) in RECIPES.iter().enumerate() {
        let path = folder.path().join(format!("{number}.formula"));
        let formula = formula(recipe);
        let summary = write(&path, &formula, &provenance(), false).unwrap();
        assert_eq!(summary.bytes, fs::metadata(&path).unwrap().len());
        assert_eq!(summary.samples, formula.len());
        assert!(FormulaFormat.detect(&path) && FormulaFormat.suits(&path));

        let reader = FormulaReader::open(&path).unwrap();
        assert_eq!(reader.fractals().formula(), &formula);
        assert_eq!(Reader::provenance(&reader), Some(&provenance()));
        assert!(reader.verify_layout().is_empty());
        assert_eq!(reader.name(), format!("{number}.formula"));
        let source = FractalSource::new(formula.clone(), "other name").unwrap();
        assert_eq!(
            reader.fingerprint(Look::Sizes).unwrap(),
            source.fingerprint(Look::Sizes).unwrap()
        );
        assert_eq!(reader.schema(), source.schema());
        for index in (0..reader.len()).step_by(11) {
            let mut rgb = Vec::new();
            source.rgb_into(index, &mut rgb).unwrap();
            let sample = reader.get(index).unwrap();
            reader.schema().check(&sample).unwrap();
            let Value::Image(image) = &sample.values[0] else { panic!("no image") };
            assert_eq!(image.bytes, rgb);
            assert_eq!((image.width, image.height), (formula.frame.size(), formula.frame.size()));
            let read = reader.read(index).unwrap();
            assert_eq!((&read.key, &read.values[1..].len()), (&sample.key, &2));
            assert!(matches!(read.values[0], Value::Image(Image::Bilevel(_) | Image::Pixels(_))));
            reader.verify_sample(index).unwrap();
        }
        for index in [reader.len(), u64::MAX] {
            assert!(matches!(reader.get(index), Err(Error::Usage { .. })));
            assert!(matches!(reader.verify_sample(index), Err(Error::Usage { .. })));
        }

        let again = folder.path().join("again.formula");
        write(&again, &formula, &provenance(), true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
    }
}

/// A recipe is a dataset without a file: it has the same samples as its file.
#[test]
fn a_recipe_is_opened_like_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    for recipe in RECIPES {
        assert!(FormulaFormat.is_recipe(Path::new(recipe)));
        write(&path, &formula(recipe), &provenance(), true).unwrap();
        let file = crate::open(&path).unwrap();
        let reader = crate::open(recipe).unwrap();
        assert_eq!(
            (reader.len(), reader.fingerprint(Look::Sizes).unwrap()),
            (file.len(), file.fingerprint(Look::Sizes).unwrap())
        );
        assert_eq!(reader.schema(), file.schema());
        for index in (0..reader.len()).step_by(17) {
            assert_eq!(reader.get(index).unwrap(), file.get(index).unwrap());
        }
        assert!(reader.verify_layout().is_empty() && reader.provenance().is_none());
        assert_eq!(reader.name(), Recipe::parse(recipe).unwrap().name());
        assert_eq!(reader.details()["recipe"], reader.name());
        assert!(
            reader.details().keys().skip(1).eq(file
                .details()
                .keys()
                .skip(1)
                .filter(|name| *name != "file_bytes"))
        );
    }
    for other in ["photos", "fractal", "./fractal:svd"] {
        assert!(!FormulaFormat.is_recipe(Path::new(other)));
    }
}

#[test]
fn images_are_drawn_at_another_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    let recipe = "fractal:svd?classes=2&instances=3&points=600";
    let is_free = |reader: &dyn Reader| reader.as_generated().unwrap().drawn().is_free;
    let free = crate::open(recipe).unwrap();
    let sized = crate::open(format!("{recipe}&size=40")).unwrap();
    write(&path, &formula(recipe), &provenance(), false).unwrap();
    let file = open(&path).unwrap();
    assert!(is_free(&*free) && !is_free(&*sized) && !is_free(&*file));
    for reader in [free, file] {
        assert_eq!(reader.as_generated().unwrap().drawn().side, 256);
        let redrawn = reader.as_generated().unwrap().drawn_at(40).unwrap();
        assert_eq!(redrawn.as_generated().unwrap().drawn().side, 40);
        assert_eq!(redrawn.get(5).unwrap(), sized.get(5).unwrap());
        // The hashes of the file are of the file's size.
        assert!(redrawn.verify_layout().is_empty());
        assert!(matches!(reader.as_generated().unwrap().drawn_at(8), Err(Error::Usage { .. })));
    }
}

#[test]
fn a_million_images_are_a_few_hundred_kilobytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fractaldb-1k.formula");
    let formula = formula("fractal:fractaldb?classes=1000&instances=1000&sampler=lanes64-v1");
    assert_eq!(formula.len(), 1_000_000);
    let summary = write(&path, &formula, &provenance(), false).unwrap();
    assert!(summary.bytes < 300_000, "{} bytes", summary.bytes);
}

#[test]
fn epochs_are_other_instances_of_the_same_classes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    write(&path, &formula(RECIPES[1]), &provenance(), false).unwrap();
    let reader = open(&path).unwrap();
    let image = |reader: &dyn Reader| match reader.get(3).unwrap().values.swap_remove(0) {
        Value::Image(image) => image.bytes,
        _ => panic!("no image"),
    };
    let later = reader.as_generated().unwrap().at_epoch(5).unwrap().unwrap();
    assert_ne!(image(&*reader), image(&*later));
    assert_eq!(
        image(&*reader),
        image(&*later.as_generated().unwrap().at_epoch(0).unwrap().unwrap())
    );
    assert_eq!(reader.label(9).unwrap(), later.label(9).unwrap());
    assert!(later.verify_layout().is_empty());

    write(&path, &formula(RECIPES[0]), &provenance(), true).unwrap();
    assert!(open(&path).unwrap().as_generated().unwrap().at_epoch(5).unwrap().is_none());
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    for recipe in [RECIPES[1], RECIPES[3], RECIPES[4]] {
        write(&path, &formula(recipe), &provenance(), true).unwrap();
        let sound = fs::read(&path).unwrap();
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&path, &damaged).unwrap();
            let error = open(&path).err().unwrap_or_else(|| panic!("bit {} of byte {at}", at % 8));
            assert!(matches!(error, Error::Corrupt { .. } | Error::Version { .. }), "{error}");
        }
        for length in 0..sound.len() {
            fs::write(&path, &sound[..length]).unwrap();
            assert!(matches!(open(&path), Err(Error::Corrupt { .. })), "{length} bytes");
        }
        fs::write(&path, [&sound[..], b"x"].concat()).unwrap();
        assert!(open(&path).is_err());
    }
}

/// Damage with a correct checksum: the writer's mistakes, or an attack.
#[test]
fn lies_under_a_right_checksum_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    write(&path, &formula(RECIPES[0]), &provenance(), false).unwrap();
    let sound = fs::read(&path).unwrap();
    let content = &sound[..sound.len() - 24];
    let text = String::from_utf8_lossy(&content[24..]).into_owned();
    let header_len = u32::from_le_bytes(content[12..16].try_into().unwrap()) as usize;
    let header = &text[..header_len];
    let refuse = |bytes: Vec<u8>, words: &str| {
        let checksum = xxhash_rust::xxh3::xxh3_128(&bytes).to_le_bytes();
        fs::write(&path, [&bytes[..], &checksum, b"LUMROFDF"].concat()).unwrap();
        let error = open(&path).err().unwrap_or_else(|| panic!("accepted: {words}")).to_string();
        assert!(error.contains(words), "{error} does not say: {words}");
    };
    let with_header = |header: &str| {
        let mut bytes = content[..24].to_vec();
        bytes[12..16].copy_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(&content[24 + header_len..]);
        bytes
    };
    for (from, to, words) in [
        ("\"classes\":3", "\"classes\":4", "a category of"),
        ("\"classes\":3", "\"classes\":4000000", "4000000 categories"),
        ("\"probes\":8", "\"probes\":9", "probes"),
        ("\"size\":40", "\"size\":4", "size"),
        ("\"points\":400", "\"points\":4", "points"),
        ("\"patches\":2", "\"patches\":0", "instances"),
        ("\"draw\":\"patch_gray\"", "\"draw\":\"crayon\"", "`crayon` is not of this release"),
        ("\"sampler\":\"fractaldb-v1\"", "\"sampler\":\"lanes65\"", "`lanes65` is not of this"),
        ("\"min_fill\":0.0", "\"min_fill\":7.0", "min_fill"),
        ("\"weight\":0.4", "\"weight\":1e300", "weight"),
        ("\"varies\":false", "\"varies\":false,\"more\":1", "unknown field"),
        ("\"varies\":false,", "", "missing field"),
    ] {
        let changed = header.replacen(from, to, 1);
        assert_ne!(changed, header, "{from} is not in the header");
        refuse(with_header(&changed), words);
    }
    let body = 24 + header_len;
    let patched = |at: usize, bytes: &[u8]| {
        let mut patched = content.to_vec();
        patched[at..at + bytes.len()].copy_from_slice(bytes);
        patched
    };
    refuse(patched(body, &[9]), "a category of kind 9");
    refuse(patched(body + 1, &u16::MAX.to_le_bytes()), "bytes, and");
    refuse(patched(body + 3, b"../.."), "a category of the name");
    refuse(patched(body + 3, &[0xff]), "utf-8");
    refuse(patched(body + 8, &[0]), "maps");
    refuse(patched(body + 8, &[9]), "maps");
    refuse(patched(16, &7u64.to_le_bytes()), "the categories take");
    refuse(patched(12, &u32::MAX.to_le_bytes()), "a header of");
    refuse(patched(content.len() - 24, &u64::MAX.to_le_bytes()), "a probe of image");
}

/// Version 2 is for three-dimensional systems only, and they need it.
#[test]
fn versions_go_with_what_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    let bytes = |recipe: &str| {
        write(&path, &formula(recipe), &provenance(), true).unwrap();
        let bytes = fs::read(&path).unwrap();
        bytes[..bytes.len() - 24].to_vec()
    };
    let (plane, space) = (bytes(RECIPES[1]), bytes(RECIPES[4]));
    assert_eq!((plane[8], space[8]), (1, 2));
    let refuse = |content: Vec<u8>, words: &str| {
        let checksum = xxhash_rust::xxh3::xxh3_128(&content).to_le_bytes();
        fs::write(&path, [&content[..], &checksum, b"LUMROFDF"].concat()).unwrap();
        let error = open(&path).err().unwrap_or_else(|| panic!("accepted: {words}")).to_string();
        assert!(error.contains(words), "{error} does not say: {words}");
    };
    let with = |content: &[u8], from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = content.windows(from.len()).position(|window| window == from.as_bytes());
        let mut changed = content.to_vec();
        changed[at.unwrap()..][..to.len()].copy_from_slice(to.as_bytes());
        changed
    };
    let with_version = |content: &[u8], version: u8| {
        let mut changed = content.to_vec();
        changed[8] = version;
        changed
    };
    refuse(with_version(&plane, 2), "version 2 does not go with");
    refuse(with_version(&space, 1), "version 1 does not go with");
    refuse(with_version(&space, 3), "version 3");
    refuse(with(&space, "mv-fractaldb-v1\"", "lanes64-v1\"     "), "turn");
    refuse(with(&space, "\"weight\":0.1", "\"weight\":0.7"), "weight");
    refuse(with(&space, "point_gray", "patch_gray"), "draw");
    refuse(with(&space, "\"flips\":false", "\"flips\":true "), "draw");
    refuse(with(&space, "\"turn\":3.1", "\"turn\":999"), "turn");
    refuse(with(&space, "\"patches\":2", "\"patches\":0"), "views");
}

#[test]
fn other_images_than_the_writers_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    write(&path, &formula(RECIPES[0]), &provenance(), false).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The hash of the last probe, under a correct checksum.
    let end = bytes.len() - 24;
    bytes[end - 1] ^= 1;
    let checksum = xxhash_rust::xxh3::xxh3_128(&bytes[..end]).to_le_bytes();
    bytes[end..end + 16].copy_from_slice(&checksum);
    fs::write(&path, &bytes).unwrap();
    let problems = open(&path).unwrap().verify_layout();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("rendered differently"), "{}", problems[0]);
}

#[test]
fn nothing_is_overwritten_or_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    fs::write(&path, "precious").unwrap();
    let formula = formula(RECIPES[1]);
    assert!(write(&path, &formula, &provenance(), false).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    {
        let _full =
            fault::arm(folder.path(), fault::Operation::Write, 100, io::ErrorKind::StorageFull);
        assert!(matches!(write(&path, &formula, &provenance(), true), Err(Error::Io { .. })));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert!(!partial_path(&path).exists());
    write(&path, &formula, &provenance(), true).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn samples_cannot_be_written() {
    let schema = Schema::default();
    let request = Create {
        out: Path::new("x.formula"),
        schema: &schema,
        shard: &Shard::whole(1),
        common: &Common::default(),
        provenance: &Provenance::default(),
        fingerprint: [0; 16],
        stamp: [0; 16],
        overwrite: false,
        entry_points: false,
        is_open: false,
    };
    let error = FormulaFormat.create(&request).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("only a recipe can become one")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All numbers of a system are read back unchanged, including NaN.
    #[test]
    fn systems_keep_their_bits(
        maps in prop::collection::vec((any::<[f64; 6]>(), any::<f64>()), 1..=8),
        name in "[^/\0]{1,40}",
    ) {
        prop_assume!(name != "." && name != "..");
        let (maps, probabilities): (Vec<_>, Vec<_>) = maps.into_iter().unzip();
        let system = System::new(maps, probabilities).unwrap();
        let category = Category { name, shape: Shape::Ifs(system) };
        let tiny = Formula { categories: vec![category], ..formula(RECIPES[1]) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.formula");
        write(&path, &tiny, &provenance(), false).unwrap();
        let reader = FormulaReader::open(&path).unwrap();
        prop_assert_eq!(reader.fingerprint(Look::Sizes).unwrap(), tiny.fingerprint());
        prop_assert!(reader.verify_layout().is_empty());
    }
}
