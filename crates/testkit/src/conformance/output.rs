use super::{Keys, Profile, bench::Bench};
use crate::compare::{assert_same_tree, tree};
use fdconvert_core::{Error, Format, Value};

/// Odd keys are read back, or refused one by one, and never lead to a file elsewhere.
///
/// # Panics
/// When that does not hold.
pub fn keys(format: &dyn Format, profile: &Profile) {
    for key in odd_keys() {
        let bench = Bench::new(format, profile);
        let (schema, mut samples) = bench.labelled(3, 6);
        let extension = samples[1].values.iter().find_map(|value| match value {
            Value::Image(image) => Some(image.codec.extension()),
            _ => None,
        });
        let suffix = extension.map_or_else(String::new, |extension| format!(".{extension}"));
        let key =
            key.replace(".png", &suffix).replace("$FOLDER", &bench.folder().to_string_lossy());
        samples[1].key.clone_from(&key);
        let mut writer = bench.create(&schema, 3, false).unwrap();
        writer.write(&samples[0]).unwrap();
        let accepted = match writer.write(&samples[1]) {
            Ok(()) => true,
            Err(Error::Sample { key: named, .. }) if named == key => false,
            Err(other) => panic!("key {key:?}: {other}"),
        };
        writer.write(&samples[2]).unwrap();
        bench.finish(writer, &schema, 3).unwrap();
        bench.assert_nothing_outside();
        let reader = bench.open();
        assert_eq!(reader.len(), 2 + u64::from(accepted), "key {key:?}");
        let found: Vec<_> = (0..reader.len()).map(|i| reader.get(i).unwrap().key).collect();
        let is_file = key.contains('/') && key.ends_with(&suffix);
        let comes_back = match profile.keys {
            Keys::Kept => true,
            Keys::Paths => is_file,
            Keys::Lost => false,
        };
        assert!(
            !accepted || !comes_back || found.contains(&key),
            "key {key:?} became one of {found:?}"
        );
        // Ordinary names, in any language, are accepted.
        let ordinary = ["x.png", "a.b.c/d.e.f.png", "ünï/cödé 图\u{1f600}.png", "00000012"];
        let ordinary = ordinary.iter().any(|known| known.replace(".png", &suffix) == key);
        assert!(accepted || !ordinary, "refused the key {key:?}");
    }
    duplicate_keys(format, profile);
}

fn odd_keys() -> Vec<String> {
    let long_name = format!("ant/{}.png", "n".repeat(251));
    let too_long_name = format!("ant/{}.png", "n".repeat(252));
    let deep = format!("{}x.png", "d/".repeat(300));
    let too_deep = format!("{}x.png", "d/".repeat(3000));
    let short = [
        "",
        ".",
        "..",
        "/",
        "a/",
        "00000012",
        "a",
        "x.png",
        "../evil.png",
        "../../evil.png",
        "$FOLDER/evil.png",
        "a/../../../evil.png",
        "a/./b.png",
        "a//b.png",
        "..\\evil.png",
        "a\\b.png",
        "a\\xff.png",
        "a\0b.png",
        "ünï/cödé 图\u{1f600}.png",
        "e\u{301}/x.png",
        "a.b.c/d.e.f.png",
        "a.b/c",
        ".hidden/x.png",
        "ant/.x.png",
        "labels.jsonl/x.png",
        "labels.jsonl",
        "fdconvert.json",
        "fdconvert.json/x.png",
        " a / b .png ",
        "a/new\nline.png",
        "-rf.png",
        "~/x.png",
        "a/x.PNG",
        "a/x.jpeg.png",
        "CON/aux.png",
        "a/*?.png",
        "\u{feff}.png",
        "a/%2e%2e/x.png",
        ".fdconvert-unfinished",
        ".fdconvert-unfinished/x.png",
        "ant",
    ];
    short.map(str::to_owned).into_iter().chain([long_name, too_long_name, deep, too_deep]).collect()
}

fn duplicate_keys(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, mut samples) = bench.labelled(4, 6);
    samples[2] = samples[0].clone();
    let mut writer = bench.create(&schema, 4, false).unwrap();
    writer.write(&samples[0]).unwrap();
    writer.write(&samples[1]).unwrap();
    match writer.write(&samples[2]) {
        Ok(()) => {}
        Err(Error::Sample { key, .. }) => {
            assert_eq!(key, samples[0].key);
            samples.remove(2);
        }
        Err(other) => panic!("a key twice: {other}"),
    }
    writer.write(samples.last().unwrap()).unwrap();
    bench.finish(writer, &schema, 4).unwrap();
    bench.assert_holds(&schema, &samples);
}

/// Equal samples give equal bytes, under the same names.
///
/// # Panics
/// When they do not.
pub fn determinism(format: &dyn Format, profile: &Profile) {
    let write = || {
        let bench = Bench::new(format, profile);
        let (schema, samples) = bench.labelled(30, 8);
        bench.write(&schema, &samples);
        bench
    };
    assert_same_tree(&write().folder(), &write().folder());
}

/// A shard with fewer samples than planned has the bytes of an exact plan, if the format declares
/// so.
///
/// # Panics
/// When it has others.
pub fn fewer_samples(format: &dyn Format, profile: &Profile) {
    if !format.capabilities().counts_last {
        return;
    }
    let write = |n_planned| {
        let bench = Bench::new(format, profile);
        let (schema, samples) = bench.labelled(7, 8);
        let mut writer = bench.create(&schema, n_planned, false).unwrap();
        samples.iter().for_each(|sample| writer.write(sample).unwrap());
        bench.finish(writer, &schema, samples.len()).unwrap();
        bench.assert_holds(&schema, &samples);
        bench
    };
    assert_same_tree(&write(7).folder(), &write(5000).folder());
}

/// A dropped writer leaves nothing, at any time before its end.
///
/// # Panics
/// When it does.
pub fn dropped(format: &dyn Format, profile: &Profile) {
    for n_written in [0, 1, 5] {
        let bench = Bench::new(format, profile);
        let (schema, samples) = bench.labelled(6, 3);
        let mut writer = bench.create(&schema, 6, false).unwrap();
        samples.iter().take(n_written).for_each(|sample| writer.write(sample).unwrap());
        // A folder of shards exists from the start, but is no dataset before its end.
        let is_there =
            if format.is_sharded() { format.detect(&bench.out()) } else { bench.out().exists() };
        assert!(!is_there, "an unfinished output has its final name");
        drop(writer);
        bench.assert_empty();
    }
}

/// An existing output is refused and does not change; with `overwrite` it is replaced at the very
/// end, or refused, according to the profile.
///
/// # Panics
/// When that does not hold.
pub fn existing_output(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(4, 1);
    bench.write(&schema, &samples);
    let before = tree(&bench.folder());

    let (_, others) = bench.labelled(4, 9);
    let refused = |overwrite| {
        let created = bench.create(&schema, 4, overwrite);
        // A folder has no record of its run: its files are compared.
        let result = created.and_then(|mut writer| writer.write(&others[0]));
        assert!(matches!(result, Err(Error::Usage { .. })), "an existing output: {result:?}");
        assert!(before == tree(&bench.folder()), "a refused run changed the output");
    };
    refused(false);
    if !profile.replaces {
        return refused(true);
    }
    let (schema, other) = bench.labelled(7, 2);
    let mut writer = bench.create(&schema, 7, true).unwrap();
    writer.write(&other[0]).unwrap();
    let mut during = tree(&bench.out());
    if format.is_sharded() {
        // Unfinished shards are next to the finished ones.
        let known = output(&bench, &before);
        during.retain(|path, _| known.contains_key(path));
    }
    assert!(during == output(&bench, &before), "replaced before its end");
    drop(writer);
    assert!(before == tree(&bench.folder()), "a dropped writer changed the output");
    bench.try_write(&schema, &other, true).unwrap();
    bench.assert_holds(&schema, &other);
}

/// Returns the part of the folder's tree that belongs to the output.
fn output(
    bench: &Bench<'_>,
    folder: &std::collections::BTreeMap<Vec<u8>, Vec<u8>>,
) -> std::collections::BTreeMap<Vec<u8>, Vec<u8>> {
    let name = bench.profile.out.as_bytes();
    let below = [name, b"/"].concat();
    let part = folder.iter().filter_map(|(path, bytes)| {
        let rest = if path == name { &[][..] } else { path.strip_prefix(&below[..])? };
        Some((rest.to_vec(), bytes.clone()))
    });
    part.collect()
}
