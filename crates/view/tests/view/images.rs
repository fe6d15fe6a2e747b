//! Stored and smaller images, masks, and batches.
use crate::common::{Memory, Viewer, packed, photos, png, sample};
use fdconvert::{Codec, Encoded, Kind, Pack, PackOptions, Pixels, Value};
use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_testkit::fixtures;
use serde_json::json;
use std::fs;

/// Returns a JPEG that is worth making smaller.
fn large_jpeg(width: u32, height: u32) -> Encoded {
    let pixels = fixtures::pixels(width, height, 3, 1);
    Encoder::new().encode("large", &pixels, Codec::Jpeg, &JpegOptions::default(), None).unwrap()
}

#[test]
fn stored_bytes_come_unchanged_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    for index in 0..12 {
        let key = viewer.json(&format!("api/sample/{index}"))["key"].as_str().unwrap().to_owned();
        let reply = viewer.ok(&format!("image/{index}"));
        let file = fs::read(folder.path().join("photos").join(&key)).unwrap();
        assert!(reply.body == file && reply.kind() == "image/png", "{key}");
        let tag = &reply.headers["etag"];
        let again =
            viewer.ask("GET", &format!("image/{index}"), &format!("If-None-Match: {tag}\r\n"));
        assert_eq!((again.status, again.body.len(), &again.headers["etag"]), (304, 0, tag));
        let other = viewer.ask("GET", &format!("image/{index}"), "If-None-Match: \"0\"\r\n");
        assert_eq!(other.status, 200);
    }
    let tags = [0, 1].map(|index| viewer.ok(&format!("image/{index}")).headers["etag"].clone());
    assert_ne!(tags[0], tags[1]);
    assert!(viewer.fails(404, "image/12").contains("there is no sample 12"));
    assert!(viewer.fails(404, "image/x").contains("named by their number"));
    assert!(viewer.fails(404, "image/0/nothing").contains("no such field"));
    let label = viewer.json("api/dataset")["label"].as_u64().unwrap();
    assert!(viewer.fails(404, &format!("image/0/{label}")).contains("holds no images"));
}

#[test]
fn what_browsers_do_not_show_becomes_a_png() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "beton"));
    let row = viewer.json("api/samples?count=1")["samples"][0].clone();
    assert_eq!(row["codec"], "raw");
    let reply = viewer.ok("image/0");
    let (width, height, channels, data) = png(&reply.body);
    assert_eq!((json!(width), json!(height), channels), (row["width"].clone(), json!(30), 3));
    let key = row["key"].as_str().unwrap();
    let file = fs::read(folder.path().join("photos").join(key)).unwrap();
    assert!(png(&file).3 == data);
    let tag = format!("If-None-Match: {}\r\n", reply.headers["etag"]);
    assert_eq!(viewer.ask("GET", "image/0", &tag).status, 304);
    assert!(reply.headers["etag"].ends_with("-png\""));
}

#[test]
fn large_images_are_made_smaller_where_that_spares_much() {
    let large = large_jpeg(1200, 900);
    assert!(large.bytes.len() > 64 << 10);
    let small = fixtures::png(200, 100, 2);
    let with_alpha = Encoder::new()
        .encode(
            "alpha",
            &fixtures::pixels(1100, 1100, 4, 3),
            Codec::Png,
            &JpegOptions::default(),
            None,
        )
        .unwrap();
    let images = [large.clone(), small.clone(), with_alpha];
    let samples = images
        .into_iter()
        .enumerate()
        .map(|(n, it)| sample(&n.to_string(), vec![Value::Image(it)]));
    let viewer = Viewer::of_samples(Memory::new(vec![("image", Kind::Image)], samples.collect()));

    let reply = viewer.ok("image/0?side=256");
    assert_eq!(reply.kind(), "image/jpeg");
    let header = fdconvert_core::probe::probe(&reply.body).unwrap();
    assert_eq!((header.width, header.height), (256, 192));
    let tag = format!("If-None-Match: {}\r\n", reply.headers["etag"]);
    assert_eq!(viewer.ask("GET", "image/0?side=256", &tag).status, 304);
    assert_eq!(viewer.ask("GET", "image/0?side=128", &tag).status, 200);
    // The second time from the cache.
    assert!(viewer.ok("image/0?side=256").body == reply.body);
    // At half its size or more it is sent as stored, as is a small one.
    assert!(viewer.ok("image/0?side=600").body == large.bytes);
    assert!(viewer.ok("image/1?side=16").body == small.bytes);
    let alpha = viewer.ok("image/2?side=100");
    assert_eq!((alpha.kind(), png(&alpha.body).0), ("image/png", 100));
    for wrong in ["side=0", "side=15", "side=5000", "side=-1", "side=x"] {
        viewer.fails(400, &format!("image/0?{wrong}"));
    }
}

#[test]
fn masks_are_coloured_and_nothing_is_transparent() {
    let labels = Pixels { width: 3, height: 1, channels: 1, data: vec![0, 1, 7] };
    let mask =
        Encoder::new().encode("m", &labels, Codec::Png, &JpegOptions::default(), None).unwrap();
    let objects = br#"{"size":[4,3],"bbox":[[0,0,2,2],[1,1,1,1]],"category":[2,5],
        "category_name":["kite","<script>"],
        "segmentation":[{"size":[3,4],"counts":[3,3,6]},[[0,0,1,1,2,2]]]}"#;
    let values = vec![
        Value::Image(fixtures::png(8, 6, 1)),
        Value::Image(mask),
        Value::Json(objects.to_vec().into()),
    ];
    let fields = vec![("image", Kind::Image), ("mask", Kind::Image), ("objects", Kind::Json)];
    let viewer = Viewer::of_samples(Memory::new(fields, vec![sample("a", values)]));
    let (width, height, channels, data) = png(&viewer.ok("mask/0/mask").body);
    assert_eq!((width, height, channels), (3, 1, 4));
    assert_eq!((&data[..4], data[7], data[11]), (&[0; 4][..], 255, 255));
    assert_ne!(data[4..7], data[8..11]);
    assert!(viewer.ok("mask/0/1").body == viewer.ok("mask/0/mask").body);

    let document = viewer.json("api/sample/0");
    let objects = &document["objects"];
    assert_eq!(objects["size"], json!([8.0, 6.0]));
    // A tile of the grid draws the boxes alone.
    let mut boxes = objects.clone();
    for item in boxes["items"].as_array_mut().unwrap() {
        (item["mask"], item["polygons"]) = (json!(null), json!([]));
    }
    assert_eq!(
        (viewer.json("api/boxes/0"), &viewer.json("api/dataset")["objects"]),
        (boxes, &json!(2))
    );
    let items = objects["items"].as_array().unwrap();
    assert_eq!(items[0]["box"], json!([0.0, 0.0, 4.0, 4.0]));
    assert_eq!((&items[1]["name"], &items[1]["mask"]), (&json!("<script>"), &json!(null)));
    assert_eq!(items[1]["polygons"], json!([[0.0, 0.0, 2.0, 2.0, 4.0, 4.0]]));
    // The second of four columns.
    let (width, height, _, data) = png(&viewer.ok(items[0]["mask"].as_str().unwrap()).body);
    let alpha: Vec<_> = data.chunks(4).map(|pixel| pixel[3]).collect();
    assert_eq!((width, height), (4, 3));
    assert_eq!(alpha, [0, 255, 0, 0].repeat(3));
    assert!(viewer.fails(404, "mask/0/objects?object=1").contains("no mask of run lengths"));
    viewer.fails(400, "mask/0/objects");
    // Colours are not labels.
    let said = viewer.fails(422, "mask/0/image");
    assert!(said.contains("channel"), "{said}");
}

/// Tables often have lists of objects, under any name, with classes that are texts.
#[test]
fn a_list_of_objects_is_found_and_its_classes_are_shown() {
    let objects = br#"[{"bbox":[0,0,2,2],"label":"kite"},{"bbox":[1,1,1,1],"label":null}]"#;
    let values = vec![
        Value::Image(fixtures::png(8, 6, 1)),
        Value::Json(b"[[1, 2]]".to_vec().into()),
        Value::Json(objects.to_vec().into()),
    ];
    let fields = vec![("image", Kind::Image), ("pairs", Kind::Json), ("digits", Kind::Json)];
    let viewer = Viewer::of_samples(Memory::new(fields, vec![sample("a", values)]));
    let document = viewer.json("api/sample/0");
    let items = document["objects"]["items"].as_array().unwrap();
    assert_eq!(items[0]["box"], json!([0.0, 0.0, 2.0, 2.0]));
    assert_eq!((&items[0]["class"], &items[0]["name"]), (&json!(null), &json!("kite")));
    assert_eq!(items[1]["name"], json!(null));
}

#[test]
fn a_batch_is_that_of_the_loader() {
    let folder = tempfile::tempdir().unwrap();
    let (photos, out) = (photos(folder.path()), folder.path().join("photos.beton"));
    Pack::new([&photos], &out).options(PackOptions::default()).run().unwrap();
    let viewer = Viewer::of(&out);
    let cut = json!({"RandomResizedCrop": {"size": [24, 32]}});
    let with = |more: &[serde_json::Value]| {
        let list: Vec<_> = [std::slice::from_ref(&cut), more].concat();
        // What a query needs escaped.
        json!(list).to_string().replace('%', "%25").replace('"', "%22")
    };
    let list = with(&[json!({"RandomHorizontalFlip": {}}), json!({"AutoAugment": {}})]);
    let asked = format!("rows=5&views=2&seed=3&transform={list}");
    let batch = viewer.json(&format!("api/batch?{asked}"));
    let rows = batch["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &batch["views"], &batch["steps"]), (5, &json!(2), &json!(3)));
    assert_eq!((&batch["width"], &batch["height"]), (&json!(32), &json!(24)));
    assert_eq!(batch["transform"][1], json!({"RandomHorizontalFlip": {"p": 0.5}}));
    for row in rows {
        let sample = viewer.json(&format!("api/sample/{}", row["sample"]));
        assert_eq!(row["key"], sample["key"]);
        assert!(row["label"].is_i64() && row["failed"].is_null());
    }
    let picture = viewer.ok(&format!("batch.png?{asked}")).body;
    let (width, height, channels, pixels) = png(&picture);
    assert_eq!((width, height, channels), (32, 24 * 5 * 2, 3));
    let views: Vec<_> = pixels.chunks(32 * 24 * 3).collect();
    assert!(views.chunks(2).all(|row| row[0] != row[1]), "two draws of an image");
    let last = viewer.json(&format!("api/batch?{asked}&step=2"));
    assert_eq!(last["rows"].as_array().unwrap().len(), 2);
    // The form of rows is not shown.
    let as_floats =
        with(&[json!({"Normalize": {"mean": [0.5, 0.5, 0.5], "std": [0.2, 0.2, 0.2]}})]);
    let [floats, bytes] = [as_floats, with(&[])]
        .map(|list| viewer.ok(&format!("batch.png?rows=2&transform={list}")).body);
    assert!(floats == bytes);
    assert_eq!(png(&viewer.ok("batch.png?rows=2").body).0, 224);
    let other = viewer.ok(&format!("batch.png?{asked}&epoch=1")).body;
    assert!(picture == viewer.ok(&format!("batch.png?{asked}")).body && picture != other);
    for (wrong, part) in [
        ("step=3&rows=5", "an epoch has 3 steps"),
        ("transform=x", "no list of transforms: expected value at line 1"),
        ("transform=[{%22Crop%22:{}}]", "unknown variant `Crop`, expected one of `Resize`"),
        ("transform=[{%22RandomInvert%22:{%22p%22:2}}]", "RandomInvert: p=2 is not a probability"),
        ("transform=[{%22RandomInvert%22:{}}]", "rows have one size"),
        ("transform=[{%22CenterCrop%22:{%22size%22:[9,600]}}]", "600 x 9, and at most 512"),
        ("rows=65", "is not within 1 to 64"),
        ("rows=9&views=8", "are 72 images, and at most 64"),
    ] {
        let said = viewer.fails(400, &format!("api/batch?{wrong}"));
        assert!(said.contains(part), "{wrong}: {said}");
    }
}

#[test]
fn objects_of_a_batch_follow_its_images() {
    let objects = br#"{"size":[8,6],"bbox":[[0,0,2,3],[4,0,4,6]],"category":[2,5],
        "category_name":["kite","<script>"],
        "segmentation":[{"size":[6,8],"counts":[0,6,42]},[[4,0,8,0,8,6]]]}"#;
    let values =
        |json: &[u8]| vec![Value::Image(fixtures::png(8, 6, 1)), Value::Json(json.to_vec().into())];
    let samples = vec![sample("a", values(objects)), sample("b", values(br#"{"bbox":[]}"#))];
    let fields = || vec![("image", Kind::Image), ("objects", Kind::Json)];
    let viewer = Viewer::of_samples(Memory::new(fields(), samples));
    let list = "transform=[{%22RandomHorizontalFlip%22:{%22p%22:1}},\
                {%22CenterCrop%22:{%22size%22:[6,4]}}]";
    let batch = viewer.json(&format!("api/batch?rows=2&views=2&{list}"));
    let rows = batch["rows"].as_array().unwrap();
    let at = rows.iter().position(|row| row["key"] == "a").unwrap();
    assert_eq!(rows[1 - at]["objects"], json!([[], []]));
    // Of the flipped image the middle: half of the second box, and nothing of the first.
    let shown = &rows[at]["objects"][1];
    assert_eq!(shown, &rows[at]["objects"][0]);
    assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown[0]["box"], json!([0.0, 0.0, 2.0, 6.0]));
    assert_eq!((&shown[0]["class"], &shown[0]["name"]), (&json!(5), &json!("<script>")));
    assert_eq!(shown[0]["polygons"], json!([[2.0, 0.0, -2.0, 0.0, -2.0, 6.0]]));
    assert_eq!(batch["masks"], false);
    assert!(
        viewer.fails(404, &format!("batch-masks.png?rows=2&views=2&{list}")).contains("no masks")
    );

    // All of the flipped image: the mask of the first column is in the last one.
    let list = "transform=[{%22RandomHorizontalFlip%22:{%22p%22:1}},\
                {%22CenterCrop%22:{%22size%22:[6,8]}}]";
    let batch = viewer.json(&format!("api/batch?rows=2&{list}"));
    let at = batch["rows"].as_array().unwrap().iter().position(|row| row["key"] == "a").unwrap();
    assert_eq!(
        (&batch["masks"], &batch["rows"][at]["objects"][0][0]["name"]),
        (&json!(true), &json!("kite"))
    );
    let (width, height, channels, data) =
        png(&viewer.ok(&format!("batch-masks.png?rows=2&{list}")).body);
    assert_eq!((width, height, channels), (8, 12, 4));
    let alpha: Vec<_> = data.chunks(4).map(|pixel| pixel[3]).collect();
    let images: Vec<_> = alpha.chunks(48).collect();
    assert_eq!(images[at], [0, 0, 0, 0, 0, 0, 0, 255].repeat(6));
    assert_eq!(images[1 - at], [0; 48]);

    // They cannot follow a mixture of copies, which is shown without them, as is a dataset without.
    let mixed = viewer.json(
        "api/batch?rows=1&transform=[{%22AugMix%22:{}},{%22CenterCrop%22:{%22size%22:[6,8]}}]",
    );
    assert!(mixed["rows"][0]["objects"].is_null() && mixed["rows"][0]["failed"].is_null());
    let plain = vec![sample("a", vec![Value::Image(fixtures::png(8, 6, 1))])];
    let viewer = Viewer::of_samples(Memory::new(vec![("image", Kind::Image)], plain));
    assert!(viewer.json("api/batch?rows=1")["rows"][0]["objects"].is_null());
    assert!(viewer.fails(404, "api/boxes/0").contains("no field of objects"));
    let broken = Memory::new(fields(), vec![sample("a", values(br#"{"bbox":[[1]]}"#))]);
    assert_eq!(Viewer::of_samples(broken).get("api/boxes/0").status, 422);
}

#[test]
fn label_images_of_a_batch_follow_its_images() {
    // Labels 1 and 7 in the left half, nothing in the right one.
    let labels = |width: u32| {
        let row = (0..width).map(|x| [1, 7, 0, 0][(x * 4 / width) as usize]);
        let data = row.collect::<Vec<u8>>().repeat(6);
        let pixels = Pixels { width, height: 6, channels: 1, data };
        Encoder::new().encode("m", &pixels, Codec::Png, &JpegOptions::default(), None).unwrap()
    };
    let shown = |width: u32| {
        let values = vec![Value::Image(fixtures::png(8, 6, 1)), Value::Image(labels(width))];
        let fields = vec![("image", Kind::Image), ("classes", Kind::Image)];
        Viewer::of_samples(Memory::new(fields, vec![sample("a", values)]))
    };
    let list = "transform=[{%22RandomHorizontalFlip%22:{%22p%22:1}},\
                {%22CenterCrop%22:{%22size%22:[6,6]}}]";
    let viewer = shown(8);
    assert_eq!(viewer.json(&format!("api/batch?rows=1&views=2&{list}"))["masks"], true);
    let found = png(&viewer.ok(&format!("batch-masks.png?rows=1&views=2&{list}")).body);
    // In the colours of the sample's page, from the right and without a column on either side.
    let (.., stored) = png(&viewer.ok("mask/0/classes").body);
    let color = |column: usize| &stored[column * 4..][..4];
    let row = [color(6), color(5), color(4), color(3), color(2), color(1)].concat();
    assert_eq!(row.chunks(4).map(|it| it[3]).collect::<Vec<_>>(), [0, 0, 0, 255, 255, 255]);
    assert_eq!(found, (6, 6 * 2, 4, row.repeat(6 * 2)));

    // No image can take along a mask of another size, nor a mixed one any mask.
    let other = shown(4).json(&format!("api/batch?rows=1&{list}"));
    let mixed =
        viewer.json(&format!("api/batch?rows=1&{}", list.replace("=[", "=[{%22AugMix%22:{}},")));
    for batch in [other, mixed] {
        assert_eq!((&batch["masks"], &batch["rows"][0]["failed"]), (&json!(false), &json!(null)));
    }
}
