use super::{cropped, decoded, files, jpeg, kodak, png, resized, write};
use fdconvert::{
    Context, Duplicates, DuplicatesOptions, Pack, PackOptions, Pixels, find_duplicates,
};
use fdconvert_codec::orient;
use fdconvert_core::probe::probe;
use fdconvert_testkit::fixtures;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn find(datasets: &[&Path], near: bool, threads: usize) -> Duplicates {
    let options = DuplicatesOptions::default().near(near).threads(threads);
    let mut found = find_duplicates(&owned(datasets), &options, Context::default()).unwrap();
    found.seconds = 0.0;
    found
}

/// Returns the keys of each group.
fn groups(found: &Duplicates) -> BTreeSet<Vec<String>> {
    let keys =
        |group: &fdconvert::results::Group| group.samples.iter().map(|it| it.key.clone()).collect();
    found.groups.iter().map(keys).collect()
}

fn mirrored(pixels: &Pixels) -> Pixels {
    let channels = usize::from(pixels.channels);
    let rows = pixels.data.chunks_exact(pixels.width as usize * channels);
    let data = rows.flat_map(|row| row.rchunks_exact(channels).flatten().copied()).collect();
    Pixels { data, ..*pixels }
}

/// Each photo five times: one copy has the same bytes, the others have the same content.
fn planted(root: &Path) -> PathBuf {
    let folder = root.join("planted");
    for (number, photo) in kodak().iter().enumerate() {
        let name = |what: &str| format!("{number:02}-{what}");
        let part = cropped(photo, (40, 20), (300, photo.height - 60));
        write(
            &folder,
            &[
                (name("a.jpg"), jpeg(photo, 92)),
                (name("b.png"), png(photo)),
                (name("c.jpg"), jpeg(photo, 50)),
                (name("d.jpg"), jpeg(photo, 92)),
                (name("e.jpg"), jpeg(&resized(photo, 200), 75)),
                (name("x-crop.jpg"), jpeg(&part, 92)),
                (name("y-mirror.jpg"), jpeg(&mirrored(photo), 92)),
            ],
        );
    }
    folder
}

#[test]
fn planted_duplicates_are_found_and_other_photos_are_not() {
    let root = tempfile::tempdir().unwrap();
    let folder = planted(root.path());
    let near = find(&[&folder], true, 1);
    let names = ["a.jpg", "b.png", "c.jpg", "d.jpg", "e.jpg"];
    let group = |number: usize| names.map(|name| format!("{number:02}-{name}")).to_vec();
    assert_eq!(groups(&near), (0..12).map(group).collect());
    assert_eq!((near.surplus(), near.flat, near.leaks()), (48, 0, 0));
    let exact = |found: &Duplicates| -> Vec<Vec<bool>> {
        let of = |group: &fdconvert::results::Group| {
            group.samples.iter().map(|it| it.is_exact).collect()
        };
        found.groups.iter().map(of).collect()
    };
    assert_eq!(exact(&near), vec![vec![false, false, false, true, false]; 12]);
    assert_eq!(find(&[&folder], true, 4), near);

    let same = find(&[&folder], false, 4);
    let group = |number: usize| vec![format!("{number:02}-a.jpg"), format!("{number:02}-d.jpg")];
    assert_eq!(groups(&same), (0..12).map(group).collect());
    assert!(same.groups.iter().flat_map(|group| &group.samples).all(|it| it.distance.is_none()));

    // Stored checksums give the same result as computed ones.
    let shards = root.path().join("shards");
    Pack::new([&folder], &shards).options(PackOptions::default().format("wds")).run().unwrap();
    assert_eq!(groups(&find(&[&shards], false, 2)), groups(&same));
    assert_eq!(groups(&find(&[&shards], true, 2)), groups(&near));
}

/// Files of equal pixels with an EXIF rotation, and their rotated contents as files without one.
#[test]
fn turned_photos_are_what_they_show() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("some");
    for file in files(&fixtures::photos().join("turned")) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let bytes = fs::read(&file).unwrap();
        let upright = orient(decoded(&file), probe(&bytes).unwrap().orientation);
        let named =
            [(format!("{name}-a.jpg"), bytes), (format!("{name}-b.jpg"), jpeg(&upright, 90))];
        write(&folder, &named);
    }
    let group = |number: usize| ["a", "b"].map(|it| format!("exif-{number}-{it}.jpg")).to_vec();
    assert_eq!(groups(&find(&[&folder], true, 2)), (1..=8).map(group).collect());
}

#[test]
fn leaks_between_splits_and_datasets_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let photos = kodak();
    let folder = root.path().join("split");
    for (number, photo) in photos.iter().enumerate() {
        write(&folder, &[(format!("train/a/{number}.jpg"), jpeg(photo, 90))]);
    }
    let leaked = [("val/a/x.jpg", &photos[3]), ("val/a/y.jpg", &photos[3])];
    let leaked = leaked.map(|(name, photo)| (name.to_owned(), jpeg(photo, 90)));
    write(&folder, &leaked);
    let found = find(&[&folder], false, 2);
    let [group] = &found.groups[..] else { panic!("{found:?}") };
    let splits: Vec<_> = group.samples.iter().map(|it| it.split.as_deref()).collect();
    assert_eq!(splits, [Some("train"), Some("val"), Some("val")]);
    // Both from the other split, but not their pair.
    assert_eq!((found.leaks(), found.surplus()), (2, 2));

    // The same dataset twice: every sample is duplicated.
    let twice = find(&[&folder, &folder], false, 2);
    assert_eq!(twice.samples, [14, 14]);
    assert_eq!((twice.groups.len(), twice.surplus()), (12, 16));
    assert!(twice.groups.iter().all(|group| group.leaks() > 0));
    assert_eq!(twice, find(&[&folder, &folder], false, 1));
}

#[test]
fn keys_to_keep_are_what_packing_takes() {
    let root = tempfile::tempdir().unwrap();
    let folder = planted(root.path());
    let list = root.path().join("keep.txt");
    let mut options = DuplicatesOptions::default().keys(list.clone());
    let found =
        find_duplicates(std::slice::from_ref(&folder), &options, Context::default()).unwrap();
    assert_eq!(found.kept_keys, Some(72));
    let out = root.path().join("clean");
    let pack = PackOptions::default().format("wds").keys(list.clone());
    assert_eq!(Pack::new([&folder], &out).options(pack).run().unwrap().samples, 72);
    assert_eq!(find(&[&out], false, 1).groups, []);

    // The same list may exist already.
    assert_eq!(
        find_duplicates(std::slice::from_ref(&folder), &options, Context::default())
            .unwrap()
            .kept_keys,
        Some(72)
    );
    fs::write(&list, "precious").unwrap();
    let there = find_duplicates(std::slice::from_ref(&folder), &options, Context::default())
        .unwrap_err()
        .to_string();
    assert!(there.contains("keep.txt exists"), "{there}");
    options.overwrite = true;
    let ambiguous =
        find_duplicates(&[folder.clone(), folder.clone()], &options, Context::default())
            .unwrap_err()
            .to_string();
    assert!(ambiguous.contains("two samples are called"), "{ambiguous}");
}

#[test]
fn damage_is_listed_and_stops_nothing() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("some");
    let photo = jpeg(&kodak()[0], 90);
    write(&folder, &[("a.jpg".into(), photo.clone()), ("z.jpg".into(), photo)]);
    for name in ["truncated.png", "garbage.jpg", "empty.jpg"] {
        fs::copy(fixtures::fixture("bad").join(name), folder.join(name)).unwrap();
    }
    let flat = Pixels { width: 64, height: 64, channels: 1, data: vec![7; 64 * 64] };
    write(&folder, &[("flat.png".into(), png(&flat))]);
    for threads in [1, 4] {
        let found = find(&[&folder], true, threads);
        assert_eq!(groups(&found), BTreeSet::from([vec!["a.jpg".into(), "z.jpg".into()]]));
        let unreadable: Vec<_> = found.unreadable.iter().map(|it| it.2.as_str()).collect();
        assert_eq!(unreadable, ["empty.jpg", "garbage.jpg", "truncated.png"]);
        assert_eq!(found.flat, 1);
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = |datasets: &[&Path], options: &DuplicatesOptions| {
        find_duplicates(&owned(datasets), options, Context::default()).unwrap_err().to_string()
    };
    assert!(refused(&[root.path()], &DuplicatesOptions::default()).contains("no image"));
    assert!(refused(&[], &DuplicatesOptions::default()).contains("at least one"));
    assert!(
        refused(&[root.path()], &DuplicatesOptions::default().distance(16)).contains("0 to 15")
    );
}

fn owned(datasets: &[&Path]) -> Vec<PathBuf> {
    datasets.iter().map(|dataset| dataset.to_path_buf()).collect()
}
