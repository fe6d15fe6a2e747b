//! What is taken along: keys and sheets.
use crate::common::{Viewer, packed, png};
use fdconvert::{Pack, PackOptions};
use std::fs;

#[test]
fn the_keys_are_a_list_that_packing_takes() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "wds");
    let viewer = Viewer::of(&path);
    viewer.facets("");
    let reply = viewer.ok("keys.txt?class=1&width=-45");
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
    assert_eq!(viewer.ok("keys.txt?class=9").text(), "");
}

#[test]
fn a_sheet_shows_the_first_samples() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    viewer.facets("");
    let reply = viewer.ok("sheet.png?class=2&side=40");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"sheet.png\"");
    // Four images, two by two.
    let (width, height, channels, data) = png(&reply.body);
    assert_eq!((width, height, channels), (4 + 2 * 44, 4 + 2 * 44, 3));
    let gap = [48, 64, 96];
    assert!(data[..3] == gap && data[(92 * 4 + 4) * 3..][..3] != gap);
    let reply = viewer.ok("sheet.html?count=3&side=40");
    assert_eq!(reply.kind(), "application/octet-stream");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"sheet.html\"");
    let page = reply.text();
    assert_eq!(page.matches("<img ").count(), 3);
    assert_eq!(page.matches("src=\"data:image/jpeg;base64,").count(), 3);
    assert!(page.contains("<figcaption>0 cat/0.png</figcaption>"), "{page}");
    viewer.fails(400, "sheet.png?side=8");
}
