//! Annotations of photos that EXIF turns, and of images of another size.
use super::*;

#[test]
fn boxes_of_the_stored_image_are_turned_with_a_photo() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("a.json"));
    let mut n = 0;
    let mut objects = |orientation: u8, size: Option<[u32; 2]>, more: &[&str]| {
        photo(&root, "0.jpg", orientation);
        fs::write(&labels, coco_of("0.jpg", size, [0, 0, 32, 16])).unwrap();
        n += 1;
        let out = folder.path().join(format!("{n}.beton"));
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &root, &out, &"--labels", &labels];
        args.extend(more.iter().map(|it| it as &dyn AsRef<std::ffi::OsStr>));
        let said = ok(&args);
        let object: serde_json::Value = serde_json::from_str(&last_fields(&out)[0].1).unwrap();
        (object, said)
    };
    let stored = Some([75, 50]);
    let (object, said) = objects(6, stored, &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([50, 75]), &json!([[34, 0, 16, 32]])));
    assert_eq!(object["segmentation"], json!([[[50, 0, 50, 32, 34, 32]]]));
    assert_eq!(object["keypoints"], json!([[49, 0, 2, 0, 0, 0]]));
    assert!(said.contains("annotations of 1 photo were of the image as it is stored"), "{said}");
    assert_eq!(objects(8, stored, &[]).0["bbox"], json!([[0, 43, 16, 32]]));
    assert_eq!(objects(5, stored, &["--jpeg-quality", "90"]).0["bbox"], json!([[0, 0, 16, 32]]));
    // Annotations with the upright size, or without a size, refer to the upright image.
    assert_eq!(objects(6, Some([50, 75]), &[]).0["bbox"], json!([[0, 0, 32, 16]]));
    let (object, said) = objects(6, None, &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([50, 75]), &json!([[0, 0, 32, 16]])));
    assert!(!said.contains("photo"), "{said}");
    // If the size is ambiguous, a note says so, and an option decides.
    let (object, said) = objects(3, stored, &[]);
    assert_eq!(object["bbox"], json!([[0, 0, 32, 16]]));
    assert!(
        said.contains("of 1 photo may be of the stored image") && said.contains("--boxes stored"),
        "{said}"
    );
    let (object, said) = objects(3, stored, &["--boxes", "stored"]);
    assert_eq!(object["bbox"], json!([[43, 34, 32, 16]]));
    assert!(!said.contains("may be"), "{said}");
    assert_eq!(objects(6, stored, &["--boxes", "upright"]).0["bbox"], json!([[0, 0, 32, 16]]));
    // A copy of another size of the same shape.
    let (object, said) = objects(1, Some([150, 100]), &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([150, 100]), &json!([[0, 0, 32, 16]])));
    assert!(said.contains("annotations of 1 photo are for another size"), "{said}");
}

#[test]
fn sizes_that_fit_no_frame_are_errors_of_their_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("a.json"));
    photo(&root, "0.jpg", 6);
    let out = folder.path().join("o.beton");
    let check = |size: [u32; 2], part: &str| {
        fs::write(&labels, coco_of("0.jpg", Some(size), [0, 0, 4, 4])).unwrap();
        let said = fails(&[&"pack", &root, &out, &"--labels", &labels]);
        assert!(said.contains("0.jpg") && said.contains(part), "{said}");
    };
    check([100, 60], "100x60 pixels, and the image has 50x75 (75x50 before EXIF turns it)");
    photo(&root, "0.jpg", 1);
    check([50, 75], "50x75 pixels, and the image has 75x50");
    photo(&root, "0.jpg", 6);
    fs::write(&labels, coco_of("0.jpg", Some([75, 50]), [0, 0, 4, 4])).unwrap();
    let said = fails(&[&"pack", &root, &out, &"--labels", &labels, &"--no-exif-rotation"]);
    assert!(said.contains("leave `no_exif_rotation` out"), "{said}");
    let said = fails(&[&"pack", &root, &out, &"--boxes", &"stored"]);
    assert!(said.contains("--boxes") && said.contains("--labels"), "{said}");

    // Label Studio states the stored size for upright annotations; others state none.
    for (size, bbox, cure) in [
        (Some([75, 50]), [4, 55, 10, 15], "--boxes upright"),
        (None, [55, 4, 15, 10], "--boxes stored"),
    ] {
        fs::write(&labels, coco_of("0.jpg", size, bbox)).unwrap();
        let said = fails(&[&"pack", &root, &out, &"--labels", &labels]);
        assert!(said.contains("a box reaches out") && said.contains(cure), "{said}");
    }

    let xml = "<annotation><size><width>9</width><height>5</height></size><object><name>a</name>\
               <bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object>\
               </annotation>";
    write(&folder.path().join("xml"), &[("0.xml", xml)]);
    let said = fails(&[&"pack", &root, &out, &"--labels", &folder.path().join("xml")]);
    assert!(said.contains("9x5 pixels"), "{said}");
}
