//! Files of fdconvert against files of FFCV 1.0.2: byte for byte, for any number of threads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::common::{self, ok, sha256_file};
use fdconvert_testkit::fixtures;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Packs with 1, 2 and 4 threads and compares with FFCV's file.
fn check(source: &Path, labels: Option<&Path>, options: &[&str], sha256: &str) {
    let folder = tempfile::tempdir().unwrap();
    for threads in ["1", "2", "4"] {
        let out = folder.path().join(format!("{threads}.beton"));
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        let rest = ["--compat", "ffcv", "--page-size", "2MiB", "--threads", threads];
        args.extend(rest.iter().chain(options).map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        if let Some(labels) = &labels {
            args.push(&"--labels");
            args.push(labels);
        }
        ok(&args);
        assert_eq!(sha256_file(&out), sha256, "{options:?} with {threads} threads");
    }
}

/// FFCV's file was made with the index of each file as its label: returns a table of them.
fn kodak_labels() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("labels.csv");
    let mut table = "path,label\n".to_owned();
    for (n, path) in common::sorted(&fixtures::kodak()).iter().enumerate() {
        table += &format!("{},{n}\n", path.file_name().unwrap().to_str().unwrap());
    }
    fs::write(&labels, table).unwrap();
    (folder, labels)
}

fn kodak(options: &[&str], sha256: &str) {
    let (_folder, labels) = kodak_labels();
    check(&fixtures::kodak(), Some(&labels), options, sha256);
}

/// FFCV's file of JPEGs of quality 90, at most 256 pixels.
#[cfg(feature = "turbo")]
const FFCV_KODAK: &str = "a84030c471c507faf47710217af41af3e2f20b2873c21f6774575ff4df5999e2";

#[test]
#[cfg(feature = "turbo")]
fn kodak_jpg_q90_r256() {
    let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
    kodak(&options, FFCV_KODAK);
}

// No JPEG is involved, so that this also holds for the build in pure Rust.
#[test]
fn kodak_raw_r64() {
    let options = ["--encode", "raw", "--max-side", "64"];
    kodak(&options, "c7c77ab5c2042e607e185c9aa6e1a850cbaf8adf15545aab4c6dd41e058a623e");
}

/// JPEGs as sources, compared with files of an independent writer, which writes FFCV's own bytes of
/// the Kodak photos.
#[test]
#[cfg(feature = "turbo")]
fn photos_as_the_independent_writer_has_them() {
    let table = fixtures::table("ffcv.csv");
    assert_eq!(table.len(), 3);
    for row in table {
        let [encode, max_side, sha256] = &row[..] else { panic!("{row:?}") };
        let mut options = vec!["--encode", encode, "--no-exif-rotation"];
        if encode == "jpeg" {
            options.extend(["--jpeg-quality", "90"]);
        }
        if max_side != "0" {
            options.extend(["--max-side", max_side]);
        }
        check(&fixtures::photos(), None, &options, sha256);
    }
}

/// Returns the sources of one of FFCV's files in class folders, and the sha256 of that file.
#[cfg(feature = "turbo")]
fn imagenet(name: &str) -> (tempfile::TempDir, String) {
    let shared = fixtures::shared();
    let manifest = fs::read(shared.join("data/golden-beton/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entry = &manifest[name];
    let folder = tempfile::tempdir().unwrap();
    for sample in entry["samples"].as_array().unwrap() {
        let file = sample["image"]["source"].as_str().unwrap();
        let class = file.split('_').next().unwrap();
        fs::create_dir_all(folder.path().join(class)).unwrap();
        let from = shared.join("data/images").join(class).join(file);
        fs::copy(from, folder.path().join(class).join(file)).unwrap();
    }
    (folder, entry["file_sha256"].as_str().unwrap().to_owned())
}

#[cfg(feature = "turbo")]
fdconvert_testkit::needs_shared! {
    fn imagenet_jpg_q90_r256() {
        let (folder, sha256) = imagenet("jpg_q90_r256.beton");
        assert!(sha256.starts_with("acff8d24b193e1c9"));
        let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
        check(folder.path(), None, &options, &sha256);
    }

    fn imagenet_jpg_q90_noresize() {
        let (folder, sha256) = imagenet("jpg_q90_noresize.beton");
        check(folder.path(), None, &["--encode", "jpeg", "--jpeg-quality", "90"], &sha256);
    }

    fn imagenet_smart_none_r128_is_raw() {
        let (folder, sha256) = imagenet("smart_none_r128.beton");
        assert!(sha256.starts_with("4b8e0944"));
        check(folder.path(), None, &["--encode", "raw", "--max-side", "128"], &sha256);
    }
}

/// FFCV's name must not stand for features that it lacks.
#[test]
fn compat_refuses_what_ffcv_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    for options in [
        vec![],
        vec!["--encode", "smart"],
        vec!["--encode", "jpeg", "--filter", "lanczos3"],
        vec!["--encode", "jpeg", "--short-side", "64"],
        vec!["--encode", "jpeg", "--subsampling", "444"],
        vec!["--encode", "jpeg", "--optimize-huffman"],
    ] {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack"];
        let kodak = fixtures::kodak();
        args.push(&kodak);
        args.push(&out);
        args.extend([&"--compat" as &dyn AsRef<_>, &"ffcv"]);
        args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let message = common::fails(&args);
        assert!(message.contains("--compat ffcv"), "{message}");
        assert!(!out.exists());
    }
}

/// The file with FFCV's bytes decodes to the pixels that Pillow gave for FFCV's file.
#[test]
#[cfg(feature = "turbo")]
fn what_ffcv_writes_decodes_to_the_pixels_that_pillow_sees() {
    use fdconvert_core::{Limits, Value};
    let (folder, labels) = kodak_labels();
    let out = folder.path().join("x.beton");
    let encode = ["--compat", "ffcv", "--encode", "jpeg", "--max-side", "256"];
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack"];
    let source = fixtures::kodak();
    args.extend([&source as &dyn AsRef<_>, &out, &"--labels", &labels, &"--page-size", &"2MiB"]);
    args.extend(encode.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
    ok(&args);
    assert_eq!(sha256_file(&out), FFCV_KODAK);
    let reader = fdconvert_reader::open(&out).unwrap();
    let table = fixtures::table("ffcv_kodak.csv");
    assert_eq!(reader.len(), table.len() as u64);
    let mut decoder = fdconvert_codec::Decoder::new();
    for (index, row) in (0..).zip(table) {
        let sample = reader.get(index).unwrap();
        let Value::Image(image) = &sample.values[0] else { panic!("no image") };
        assert_eq!(sample.values[1], Value::Int(index as i64));
        let pixels = decoder.decode("x", image, &Limits::default()).unwrap().pixels;
        let found = fdconvert_testkit::compare::sha256(&pixels.data);
        let size = (pixels.width.to_string(), pixels.height.to_string());
        assert_eq!((size, found), ((row[0].clone(), row[1].clone()), row[2].clone()), "{index}");
    }
}

#[cfg(feature = "turbo")]
fdconvert_testkit::needs_shared! {
    fn ffcv_files_open_and_decode_to_the_pixels_of_their_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let archive = fixtures::shared().join("data/golden-beton/golden.tar.xz");
        let mut tar = std::process::Command::new("tar");
        let tar = tar.arg("-xJf").arg(archive).arg("-C").arg(folder.path()).status();
        assert!(tar.unwrap().success(), "tar with xz is needed to unpack the files");
        check_manifest(&folder.path().join("golden"));
    }
}

/// Every file of FFCV opens, and its images decode to the pixels of an accurate decoder.
#[cfg(feature = "turbo")]
fn check_manifest(root: &Path) {
    let manifest = fs::read(root.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let (mut n_files, mut n_images) = (0, 0);
    for (name, entry) in manifest.as_object().unwrap() {
        let path = root.join(name);
        if path.exists() {
            n_files += 1;
            n_images += check_file(&path, entry["samples"].as_array().unwrap());
        }
    }
    println!("{n_files} files, {n_images} images");
    assert!(n_files >= 12 && n_images > 280);
}

/// Compares all values of a file with the manifest; returns the number of images.
#[cfg(feature = "turbo")]
fn check_file(path: &Path, samples: &[serde_json::Value]) -> usize {
    use fdconvert_core::Value;
    let reader = fdconvert_reader::open(path).unwrap();
    assert_eq!(reader.len(), samples.len() as u64, "{}", path.display());
    let mut n_images = 0;
    for (index, expected) in (0..).zip(samples) {
        let sample = reader.get(index).unwrap();
        for (field, value) in reader.schema().fields.iter().zip(&sample.values) {
            let expected = &expected[&field.name];
            match value {
                Value::Image(image) => {
                    check_image(image, expected, &format!("{} {index}", path.display()));
                    n_images += 1;
                }
                Value::Int(int) => assert_eq!(expected.as_i64(), Some(*int)),
                Value::Float(float) => assert_eq!(expected.as_f64(), Some(*float)),
                _ => {}
            }
        }
    }
    n_images
}

#[cfg(feature = "turbo")]
fn check_image(image: &fdconvert_core::Encoded, expected: &serde_json::Value, what: &str) {
    use fdconvert_testkit::compare::sha256;
    assert_eq!(sha256(&image.bytes), expected["sha256"], "{what}");
    let limits = fdconvert_core::Limits::default();
    let pixels = fdconvert_codec::Decoder::new().decode("x", image, &limits).unwrap().pixels;
    let wanted = match image.codec {
        fdconvert_core::Codec::Jpeg => &expected["pixels_islow_sha256"],
        _ => &expected["pixels_sha256"],
    };
    assert_eq!(sha256(&pixels.data), wanted.as_str().unwrap(), "{what}");
}
