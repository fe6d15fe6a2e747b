//! Exports: keys and sheets.
use crate::common::{Memory, Viewer, by, packed, png, sample};
use fdconvert::{Kind, Pack, PackOptions, Value};
use fdconvert_testkit::fixtures;
use std::fs;

#[test]
fn the_keys_are_a_list_that_packing_takes() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "wds");
    let viewer = Viewer::of(&path);
    viewer.facets("");
    let reply = viewer.ok(&format!("keys.txt?{}", by("label == 'dog' && width <= 45")));
    assert_eq!(reply.kind(), "text/plain; charset=utf-8");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"keys.txt\"");
    let keys = reply.text();
    assert_eq!(keys, "dog/1.png\ndog/4.png\n");
    let (list, out) = (folder.path().join("keys.txt"), folder.path().join("some.wds"));
    fs::write(&list, keys).unwrap();
    let mut options = PackOptions::default().format("wds");
    options.keys = Some(list);
    assert_eq!(Pack::new([&path], &out).options(options).run().unwrap().samples, 2);
    assert_eq!(viewer.ok("keys.txt").text().lines().count(), 12);
    assert_eq!(viewer.ok(&format!("keys.txt?{}", by("label == 'cow'"))).text(), "");
}

#[test]
fn a_sheet_shows_the_first_samples() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    viewer.facets("");
    let reply = viewer.ok(&format!("sheet.png?{}&side=40", by("label == 'fox'")));
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"sheet.png\"");
    // Four images, two by two.
    let (width, height, channels, data) = png(&reply.body);
    assert_eq!((width, height, channels), (4 + 2 * 44, 4 + 2 * 44, 3));
    // Images are in the middle of their places.
    let (gap, at) = ([48, 64, 96], |x: usize, y: usize| &data[(92 * y + x) * 3..][..3]);
    assert!(at(0, 0) == gap && at(24, 4) == gap && at(24, 24) != gap && at(68, 68) != gap);
    let reply = viewer.ok("sheet.html?count=3&side=40");
    assert_eq!(reply.kind(), "application/octet-stream");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"sheet.html\"");
    let page = reply.text();
    assert_eq!(page.matches("<img ").count(), 3);
    assert_eq!(page.matches("src=\"data:image/jpeg;base64,").count(), 3);
    assert!(page.contains("<figcaption>0 cat/0.png</figcaption>"), "{page}");
    viewer.fails(400, "sheet.png?side=8");
}

#[test]
fn the_sheet_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "wds");
    let out = folder.path().join("sheet.png");
    let mut options = fdconvert::SheetOptions::default();
    (options.count, options.side) = (7, 36);
    fdconvert::sheet(&path, &out, &options, fdconvert::Context::default()).unwrap();
    let viewer = Viewer::of(&path);
    assert!(viewer.ok("sheet.png?count=7&side=36").body == fs::read(out).unwrap());
}

#[test]
fn what_cannot_be_read_is_a_cross_on_the_sheet() {
    let image = || Value::Image(fixtures::png(32, 32, 1));
    let samples = ["a", "b"].map(|key| sample(key, vec![image()]));
    let mut memory = Memory::new(vec![("image", Kind::Image)], samples.into());
    memory.damaged = vec![1];
    let (width, height, _, data) = png(&Viewer::of_samples(memory).ok("sheet.png?side=32").body);
    assert_eq!((width, height), (4 + 2 * 36, 4 + 36));
    let at = |x: usize, y: usize| &data[(76 * y + x) * 3..][..3];
    let (cross, gap) = ([200, 48, 48], [48, 64, 96]);
    assert_eq!([at(40, 4), at(71, 4), at(40, 35), at(71, 35), at(50, 14)], [cross; 5]);
    assert!(at(50, 20) == gap && at(4, 4) != cross);
}
