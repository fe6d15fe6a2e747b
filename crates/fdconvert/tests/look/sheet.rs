use super::{decoded, jpeg, kodak, png, write};
use fdconvert::{Context, Pixels, Sheet, SheetOptions, sheet};
use fdconvert_testkit::fixtures;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn photos(root: &Path) -> PathBuf {
    let folder = root.join("photos");
    for (number, photo) in kodak().iter().enumerate() {
        let class = if number % 2 == 0 { "even" } else { "odd" };
        write(&folder, &[(format!("{class}/{number:02}.jpg"), jpeg(photo, 90))]);
    }
    folder
}

fn make(dataset: &Path, out: &Path, options: &SheetOptions) -> (Sheet, Vec<u8>) {
    let made = sheet(dataset, out, options, Context::default()).unwrap();
    let bytes = fs::read(out).unwrap();
    assert_eq!(made.bytes, bytes.len() as u64);
    (made, bytes)
}

fn options(count: u64, side: u32, threads: usize) -> SheetOptions {
    SheetOptions::default().count(count).side(side).threads(threads).overwrite(true)
}

#[test]
fn a_sheet_has_the_first_images_and_the_same_bytes_whatever_the_threads() {
    let root = tempfile::tempdir().unwrap();
    let (folder, out) = (photos(root.path()), root.path().join("sheet.png"));
    let (made, bytes) = make(&folder, &out, &options(7, 64, 1));
    assert_eq!((made.rows, made.columns, made.samples.len()), (3, 3, 7));
    assert_eq!(made.samples[0].1, "even/00.jpg");
    let picture = decoded(&out);
    // Three tiles, and four gaps of four.
    assert_eq!((picture.width, picture.height), (3 * 64 + 16, 3 * 64 + 16));
    // The middle of the first tile equals that of the first photo, and the last place is empty.
    let at = |x: u32, y: u32| &picture.data[((y * picture.width + x) * 3) as usize..][..3];
    let photo = &kodak()[0];
    let middle = ((photo.height / 2 * photo.width + photo.width / 2) * 3) as usize;
    let near = |a: &[u8], b: &[u8]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) < 60);
    assert!(near(at(36, 36), &photo.data[middle..middle + 3]));
    assert_eq!(at(172, 172), at(1, 1));
    assert_ne!(at(36, 36), at(1, 1));
    assert_eq!(make(&folder, &out, &options(7, 64, 4)).1, bytes);

    let mut one_row = options(7, 64, 2);
    one_row.columns = Some(9);
    assert_eq!(make(&folder, &out, &one_row).0.rows, 1);
    one_row.overwrite = false;
    assert!(!sheet(&folder, &out, &one_row, Context::default()).unwrap().is_new);
    one_row.columns = Some(3);
    let there = sheet(&folder, &out, &one_row, Context::default()).unwrap_err().to_string();
    assert!(there.contains("sheet.png exists"), "{there}");
}

#[test]
fn samples_are_drawn_by_a_seed_and_chosen_by_an_expression() {
    let root = tempfile::tempdir().unwrap();
    let (folder, out) = (photos(root.path()), root.path().join("sheet.png"));
    let drawn = |seed: u64| {
        let mut options = options(5, 32, 2);
        options.seed = Some(seed);
        let numbers = make(&folder, &out, &options).0.samples.into_iter().map(|it| it.0);
        numbers.collect::<Vec<_>>()
    };
    let chosen = drawn(1);
    assert!(chosen.len() == 5 && chosen.is_sorted_by(|a, b| a < b), "{chosen:?}");
    assert_eq!(drawn(1), chosen);
    assert!((2..8).any(|seed| drawn(seed) != chosen));
    let mut odd = options(100, 32, 2);
    odd.r#where = Some("label == \"odd\"".into());
    let (made, _) = make(&folder, &out, &odd);
    assert!(made.samples.len() == 6 && made.samples.iter().all(|it| it.1.starts_with("odd/")));
}

#[test]
fn what_cannot_be_shown_is_a_cross_or_an_error() {
    let root = tempfile::tempdir().unwrap();
    let (folder, out) = (root.path().join("some"), root.path().join("sheet.png"));
    let small = Pixels { width: 9, height: 5, channels: 1, data: vec![200; 45] };
    write(&folder, &[("a.png".into(), png(&small))]);
    fs::copy(fixtures::fixture("bad/garbage.jpg"), folder.join("b.jpg")).unwrap();
    let (made, _) = make(&folder, &out, &options(10, 32, 1));
    assert_eq!(made.unreadable.len(), 1);
    assert_eq!(made.unreadable[0].1, "b.jpg");
    let picture = decoded(&out);
    let at = |x: u32, y: u32| picture.data[((y * picture.width + x) * 3) as usize..][..3].to_vec();
    assert_eq!((picture.width, picture.height), (2 * 32 + 12, 32 + 8));
    // Small images stay unscaled, in the middle of their place.
    assert_eq!((at(20, 20), at(10, 20)), (vec![200; 3], at(0, 0)));
    assert!(at(40, 4)[0] > 150 && at(40, 4)[1] < 100);

    let refused = |options: &SheetOptions, dataset: &Path| {
        sheet(dataset, &out, options, Context::default()).unwrap_err().to_string()
    };
    let mut none = options(10, 32, 1);
    none.r#where = Some("width > 1000".into());
    assert!(refused(&none, &photos(root.path())).contains("no sample to show"));
    assert!(refused(&options(10, 7, 1), &folder).contains("8 to 1024"));
}
