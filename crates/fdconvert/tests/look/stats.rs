use super::{decoded, files, jpeg, kodak, png, write};
use fdconvert::{Context, DatasetStats, Pack, PackOptions, StatsOptions, stats};
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

fn of(dataset: &Path, pixels: bool, threads: usize) -> DatasetStats {
    let options = StatsOptions::default().pixels(pixels).threads(threads);
    stats(dataset, &options, Context::default()).unwrap()
}

/// Computes mean and deviation of red, green and blue over all pixels of some images, in two
/// passes.
fn slowly(folder: &Path) -> ([f64; 3], [f64; 3]) {
    let mut levels: [Vec<f64>; 3] = Default::default();
    for file in files(folder) {
        let pixels = decoded(&file);
        for pixel in pixels.data.chunks_exact(pixels.channels.into()) {
            for (channel, levels) in levels.iter_mut().enumerate() {
                let at = if pixels.channels == 1 { 0 } else { channel };
                levels.push(f64::from(pixel[at]) / 255.0);
            }
        }
    }
    let mean = |levels: &Vec<f64>| levels.iter().sum::<f64>() / levels.len() as f64;
    let means: [f64; 3] = std::array::from_fn(|channel| mean(&levels[channel]));
    let deviations = std::array::from_fn(|channel| {
        let squares = levels[channel].iter().map(|it| (it - means[channel]).powi(2)).collect();
        mean(&squares).sqrt()
    });
    (means, deviations)
}

#[test]
fn channels_are_those_of_all_pixels_whatever_the_threads() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("mixed");
    for (number, photo) in kodak().iter().enumerate().take(5) {
        let bytes = if number % 2 == 0 { jpeg(photo, 80) } else { png(photo) };
        let name = if number % 2 == 0 { "jpg" } else { "png" };
        write(&folder, &[(format!("{number}.{name}"), bytes)]);
    }
    // One channel, four channels, and few pixels.
    for name in ["gray.jpg", "rgba.png", "one_pixel_wide.jpg", "palette.png"] {
        fs::copy(fixtures::fixture("bad").join(name), folder.join(name)).unwrap();
    }
    let one = of(&folder, true, 1);
    let found = one.pixels.unwrap();
    let (mean, std) = slowly(&folder);
    for channel in 0..3 {
        assert!((found.mean[channel] - mean[channel]).abs() < 1e-9, "{found:?} {mean:?}");
        assert!((found.std[channel] - std[channel]).abs() < 1e-9, "{found:?} {std:?}");
    }
    assert_eq!((found.images, found.gray, found.unreadable), (9, 1, 0));
    assert!((found.mean[0] - found.mean[2]).abs() > 1e-3, "the channels differ: {found:?}");
    // Equal to the last bit.
    assert_eq!(of(&folder, true, 4).pixels, Some(found));
    assert_eq!(one.duplicates, Some(0));
}

#[test]
fn sizes_classes_and_copies_are_counted_from_the_index() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("photos");
    for (number, photo) in kodak().iter().enumerate() {
        let class = ["cat", "dog", "fox"][number % 8 % 3];
        write(&folder, &[(format!("{class}/{number:02}.jpg"), jpeg(photo, 90))]);
    }
    write(&folder, &[("fox/again.jpg".into(), jpeg(&kodak()[0], 90))]);
    let out = root.path().join("photos.beton");
    Pack::new([&folder], &out).options(PackOptions::default()).run().unwrap();
    let found = of(&out, false, 2);
    assert_eq!((found.samples, found.duplicates, &found.pixels), (13, Some(1), &None));
    let classes = found.counts.by_frequency();
    assert_eq!(classes, [("cat", 5), ("dog", 4), ("fox", 4)]);
    assert_eq!(found.counts.codecs.get("jpg"), Some(&13));
    let (widths, aspects) = (&found.counts.widths, &found.counts.aspects);
    assert!(widths.iter().zip(&found.counts.heights).all(|(w, h)| w + h > 600));
    assert!(aspects.is_sorted() && aspects.len() == 13);
    assert!(found.counts.densities.iter().all(|it| (0.01..24.0).contains(it)));
    // Files have no checksums; their bytes are only read with their pixels.
    assert_eq!(of(&folder, false, 2).duplicates, None);
    assert_eq!(of(&folder, true, 2).duplicates, Some(1));

    let page = root.path().join("page.html");
    let mut options = StatsOptions::default().html(page.clone()).pixels(true);
    stats(&out, &options, Context::default()).unwrap();
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("<svg").count(), 5, "{html}");
    assert!(html.contains("<td>cat</td><td>5</td>") && html.contains("standard deviation"));
    // Narrow screens break lines in tables, and have larger labels.
    assert!(html.contains("white-space: normal") && html.contains("svg.histogram"), "{html}");
    // An equal command is complete already; another one needs `overwrite`.
    stats(&out, &options, Context::default()).unwrap();
    options.pixels = false;
    assert!(
        stats(&out, &options, Context::default())
            .unwrap_err()
            .to_string()
            .contains("page.html exists")
    );
    assert_eq!(fs::read_to_string(&page).unwrap(), html);
    (options.pixels, options.overwrite) = (true, true);
    stats(&out, &options, Context::default()).unwrap();
    assert_eq!(fs::read_to_string(&page).unwrap(), html);
}

#[test]
fn objects_are_counted_by_category() {
    let root = tempfile::tempdir().unwrap();
    let (folder, table) = (root.path().join("photos"), root.path().join("table.jsonl"));
    let rows = [
        r#"{"bbox":[[0,0,1,1],[0,0,2,2]],"category":[0,0],"category_name":["car","car"]}"#,
        r#"{"bbox":[[0,0,1,1],[0,0,2,2]],"category":[1,0],"category_name":["dog","car"]}"#,
        r#"{"bbox":[[0,0,3,3],[0,0,1,1]],"category":[7,-1]}"#,
        r#"{"bbox":[]}"#,
        r#"{"bbox":[[1]]}"#,
    ];
    let rows = rows.iter().zip(kodak()).enumerate().map(|(number, (row, photo))| {
        write(&folder, &[(format!("{number}.jpg"), jpeg(&photo, 80))]);
        format!(r#"{{"path":"{number}.jpg","objects":{row}}}"#)
    });
    fs::write(&table, rows.collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(of(&folder, false, 2).counts.objects, None);
    let out = root.path().join("o.wds");
    let options = PackOptions::default().format("wds").labels(table);
    Pack::new([&folder], &out).options(options).run().unwrap();
    let found = of(&out, false, 2);
    let objects = found.counts.objects.as_ref().unwrap();
    assert_eq!((objects.n_objects, objects.images, objects.n_unreadable), (6, 3, 1));
    let by = objects.by_frequency().into_iter().map(|(name, n)| (name, n.objects, n.images));
    assert_eq!(by.collect::<Vec<_>>(), [("car", 3, 2), ("7", 1, 1), ("dog", 1, 1)]);
    let document = found.document(&out);
    assert_eq!(document["objects"]["categories"]["car"]["images"], 2);
    assert_eq!(document["objects"]["unreadable"], 1);
}

#[test]
fn damage_is_counted_and_emptiness_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("some");
    write(&folder, &[("a.jpg".into(), jpeg(&kodak()[0], 90))]);
    for name in ["truncated.png", "garbage.jpg"] {
        fs::copy(fixtures::fixture("bad").join(name), folder.join(name)).unwrap();
    }
    let alone = of(&folder, true, 4);
    // One has no header, the other one fewer pixels than it claims.
    let pixels = alone.pixels.unwrap();
    assert_eq!((alone.counts.n_unreadable, pixels.images, pixels.unreadable), (1, 1, 2));

    let nothing = tempfile::tempdir().unwrap();
    let refused = stats(nothing.path(), &StatsOptions::default(), Context::default()).unwrap_err();
    assert!(refused.to_string().contains("no image"), "{refused}");
}
