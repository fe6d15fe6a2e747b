//! MNIST and CIFAR.
use super::{packed, packed_with, refused, write};
use crate::common::fdconvert;
use fdconvert_core::{Encoded, Value};
use std::{fs, io::Write, path::Path};

fn idx(n: u32, height: u32, width: u32, first: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 3];
    [n, height, width].iter().for_each(|it| bytes.extend(it.to_be_bytes()));
    bytes.extend((0..n * height * width).map(|at| (at as u8).wrapping_mul(7).wrapping_add(first)));
    bytes
}

fn idx_labels(labels: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 1];
    bytes.extend((labels.len() as u32).to_be_bytes());
    bytes.extend(labels);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // By another program than the one that reads it.
    let mut child = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Decodes an image with the command's own decoder: size, channels and pixels.
fn pixels(value: &Value<Encoded>) -> (u32, u32, Vec<u8>) {
    let Value::Image(image) = value else { panic!("{value:?}") };
    let limits = fdconvert_core::Limits::DEFAULT;
    let decoded = fdconvert_codec::Decoder::new().decode("k", image, &limits).unwrap();
    (decoded.pixels.width, decoded.pixels.height, decoded.pixels.data)
}

fn mnist(root: &Path) {
    write(root, "train-images-idx3-ubyte", idx(3, 4, 5, 1));
    write(root, "train-labels-idx1-ubyte", idx_labels(&[7, 0, 9]));
    write(root, "t10k-images-idx3-ubyte.gz", gzip(&idx(1, 4, 5, 9)));
    write(root, "t10k-labels-idx1-ubyte.gz", gzip(&idx_labels(&[4])));
}

#[test]
fn mnist_has_gray_pixels_and_labels() {
    let folder = tempfile::tempdir().unwrap();
    for below in ["", "raw", "MNIST/raw"] {
        let root = folder.path().join(format!("m{}", below.len()));
        mnist(&root.join(below));
        let found = packed_with(&root, &["--encode", "png"]);
        let above = if below.is_empty() { String::new() } else { format!("{below}/") };
        found.says(&[&format!("read as mnist, by {above}train-images-idx3-ubyte")]);
        assert_eq!(found.splits(), [("train", 3), ("test", 1)]);
        assert_eq!(found.keys(), ["train/00000", "train/00001", "train/00002", "test/00000"]);
        assert_eq!(found.ints(1), [7, 0, 9, 4]);
        let all = idx(3, 4, 5, 1);
        for at in 0..3 {
            let expected = &all[16 + at * 20..16 + (at + 1) * 20];
            let shown = pixels(found.value(found.keys()[at], 0));
            assert_eq!(shown, (5, 4, expected.to_vec()));
        }
    }
}

#[test]
fn what_mnist_claims_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, bytes: Vec<u8>, part: &str| {
        let root = folder.path().join("m");
        let _ = fs::remove_dir_all(&root);
        mnist(&root);
        write(&root, name, bytes);
        let said = refused(&root, &[]);
        assert!(said.contains(name) && said.contains(part), "{part}: {said}");
    };
    let images = "train-images-idx3-ubyte";
    let mut cut = idx(3, 4, 5, 1);
    cut.pop();
    check(images, cut, "is it cut?");
    check(images, idx(0, 0, 5, 0), "5x0");
    let mut huge = idx(1, 4, 5, 0);
    huge[4..16].fill(255);
    check(images, huge, "4294967295x4294967295");
    check(images, vec![0, 0, 8], "not a file of images");
    check(images, vec![0, 0, 8, 3, 0], "it ends inside its header");
    check("train-labels-idx1-ubyte", idx_labels(&[1, 2]), "2 labels");
    check("t10k-images-idx3-ubyte.gz", vec![31, 139, 8, 0], "not gzip");
    check("t10k-images-idx3-ubyte.gz", gzip(&idx(1, 5, 5, 0)), "another size");
    let bomb = gzip(&vec![0; 70 << 20]);
    check("t10k-images-idx3-ubyte.gz", bomb, "decompressed size");
}

fn record(labels: &[u8], seed: u8) -> Vec<u8> {
    let mut record = labels.to_vec();
    record.extend((0..3072_u32).map(|at| (at as u8).wrapping_mul(3).wrapping_add(seed)));
    record
}

#[test]
fn cifar_is_planes_of_colours_and_names_of_classes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cifar-10-batches-bin");
    write(&root, "batches.meta.txt", "airplane\nautomobile\nbird\n\n");
    write(&root, "data_batch_1.bin", [record(&[2], 1), record(&[0], 2)].concat());
    write(&root, "data_batch_2.bin", record(&[1], 3));
    write(&root, "test_batch.bin", record(&[2], 4));
    let found = packed_with(&root, &["--encode", "png"]);
    found.says(&["read as cifar, by batches.meta.txt"]);
    assert_eq!(found.splits(), [("train", 3), ("test", 1)]);
    assert_eq!(found.keys(), ["train/00000", "train/00001", "train/00002", "test/00000"]);
    assert_eq!(found.ints(1), [2, 0, 1, 2]);
    assert_eq!(found.classes[1].clone().unwrap(), ["airplane", "automobile", "bird"]);
    let stored = record(&[], 3);
    let expected: Vec<u8> =
        (0..1024).flat_map(|at| [stored[at], stored[at + 1024], stored[at + 2048]]).collect();
    assert_eq!(pixels(found.value("train/00002", 0)), (32, 32, expected));
    write(&root, "test_batch.bin", record(&[3], 4));
    let said = refused(&root, &[]);
    assert!(said.contains("test/00000") && said.contains("its label 3"), "{said}");
    write(&root, "test_batch.bin", &record(&[2], 4)[1..]);
    assert!(refused(&root, &[]).contains("no multiple of the 3073"));
    fs::remove_file(root.join("test_batch.bin")).unwrap();
    let beside = refused(&root, &["--beside", "txt"]);
    assert!(beside.contains("--beside"), "{beside}");

    let root = folder.path().join("cifar-100-binary");
    write(&root, "fine_label_names.txt", "apple\nbee\n");
    write(&root, "coarse_label_names.txt", "fruit\ninsects\nfish\n");
    write(&root, "train.bin", [record(&[2, 0], 1), record(&[1, 1], 1)].concat());
    write(&root, "test.bin", record(&[0, 1], 1));
    let found = packed(&root);
    assert_eq!((found.ints(1), found.ints(2)), (vec![0, 1, 1], vec![2, 1, 0]));
    assert_eq!(found.classes[2].clone().unwrap(), ["fruit", "insects", "fish"]);
}

#[test]
fn pickles_of_cifar_are_refused_with_the_way_to_pack_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cifar-10-batches-py");
    for name in ["data_batch_1", "data_batch_2", "test_batch", "batches.meta"] {
        write(&root, name, "\u{80}");
    }
    for source in [&root, &folder.path().to_path_buf()] {
        let said = refused(source, &[]);
        assert!(
            said.contains("torchvision.datasets.CIFAR10") && said.contains("pickles"),
            "{said}"
        );
    }
}

#[test]
fn pixels_are_planned_resumed_and_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let (root, plan) = (folder.path().join("m"), folder.path().join("m.fdplan"));
    mnist(&root);
    let run = |args: &[&std::ffi::OsStr]| {
        let output = fdconvert().args(args).output().unwrap();
        let said = crate::common::text(&output.stdout) + &crate::common::text(&output.stderr);
        assert!(output.status.success(), "{said}");
    };
    run(&[
        "plan".as_ref(),
        root.as_os_str(),
        "-o".as_ref(),
        plan.as_os_str(),
        "--format".as_ref(),
        "wds".as_ref(),
    ]);
    let (out, back) = (folder.path().join("o.wds"), folder.path().join("back"));
    run(&["pack".as_ref(), "--plan".as_ref(), plan.as_os_str(), out.as_os_str()]);
    run(&["unpack".as_ref(), out.as_os_str(), back.as_os_str()]);
    assert!(back.join("train/00002.png").is_file());
    let beton = folder.path().join("o.beton");
    let mixed = "--no-split-folders".as_ref();
    run(&["pack".as_ref(), root.as_os_str(), beton.as_os_str(), mixed]);
    assert_eq!(fdconvert_reader::open(&beton).unwrap().len(), 4);
}
