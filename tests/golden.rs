//! Files of fdconvert against files of FFCV 1.0.2: byte for byte, for any number of threads.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod common;

use common::{ok, sha256_file};
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

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

fn kodak(options: &[&str], sha256: &str) {
    let folder = tempfile::tempdir().unwrap();
    // FFCV's file was made with the index of each file as its label.
    let labels = folder.path().join("labels.csv");
    let mut table = "path,label\n".to_owned();
    for (n, path) in common::sorted(&fixtures::kodak()).iter().enumerate() {
        table += &format!("{},{n}\n", path.file_name().unwrap().to_str().unwrap());
    }
    fs::write(&labels, table).unwrap();
    check(&fixtures::kodak(), Some(&labels), options, sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn kodak_jpg_q90_r256() {
    let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
    kodak(&options, "a84030c471c507faf47710217af41af3e2f20b2873c21f6774575ff4df5999e2");
}

// No JPEG is involved, so this holds for the build in Rust alone too.
#[test]
fn kodak_raw_r64() {
    let options = ["--encode", "raw", "--max-side", "64"];
    kodak(&options, "c7c77ab5c2042e607e185c9aa6e1a850cbaf8adf15545aab4c6dd41e058a623e");
}

/// The sources of one of FFCV's files in class folders, and the sha256 of that file.
#[cfg(feature = "turbo")]
fn imagenet(name: &str) -> Option<(tempfile::TempDir, String)> {
    let shared = fixtures::shared()?;
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
    Some((folder, entry["file_sha256"].as_str().unwrap().to_owned()))
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_jpg_q90_r256() {
    let Some((folder, sha256)) = imagenet("jpg_q90_r256.beton") else { return };
    assert!(sha256.starts_with("acff8d24b193e1c9"));
    let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
    check(folder.path(), None, &options, &sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_jpg_q90_noresize() {
    let Some((folder, sha256)) = imagenet("jpg_q90_noresize.beton") else { return };
    check(folder.path(), None, &["--encode", "jpeg", "--jpeg-quality", "90"], &sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_smart_none_r128_is_raw() {
    let Some((folder, sha256)) = imagenet("smart_none_r128.beton") else { return };
    assert!(sha256.starts_with("4b8e0944"));
    check(folder.path(), None, &["--encode", "raw", "--max-side", "128"], &sha256);
}

/// What FFCV would not have written must not be asked for in its name.
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

/// Every file of FFCV opens, and its images decode to the pixels that an accurate decoder gives.
#[test]
#[cfg(feature = "turbo")]
fn ffcv_files_open_and_decode_to_the_pixels_of_their_manifest() {
    use fdconvert_codec::Decoder;
    use fdconvert_core::{Codec, Limits, Value};
    let Some(shared) = fixtures::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tar = std::process::Command::new("tar")
        .arg("-xJf")
        .arg(shared.join("data/golden-beton/golden.tar.xz"))
        .arg("-C")
        .arg(folder.path())
        .status();
    if !tar.is_ok_and(|status| status.success()) {
        println!("skipped: tar with xz is needed to unpack the files");
        return;
    }
    let root = folder.path().join("golden");
    let manifest = fs::read(root.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let (mut n_files, mut n_jpegs, mut n_raw) = (0, 0, 0);
    let mut decoder = Decoder::new();
    for (name, entry) in manifest.as_object().unwrap() {
        let path = root.join(name);
        if !path.exists() {
            continue;
        }
        n_files += 1;
        let reader = fdconvert_reader::open(&path).unwrap();
        let samples = entry["samples"].as_array().unwrap();
        assert_eq!(reader.len(), samples.len() as u64, "{name}");
        for (index, expected) in (0..).zip(samples) {
            let sample = reader.get(index).unwrap();
            for (field, value) in reader.schema().fields.iter().zip(&sample.values) {
                let expected = &expected[&field.name];
                match value {
                    Value::Image(image) => {
                        let sha256 = fdconvert_testkit::compare::sha256(&image.bytes);
                        assert_eq!(sha256, expected["sha256"], "{name} {index}");
                        let limits = Limits::default();
                        let pixels = decoder.decode("x", image, &limits).unwrap().pixels;
                        let found = fdconvert_testkit::compare::sha256(&pixels.data);
                        let (wanted, count) = match image.codec {
                            Codec::Jpeg => (&expected["pixels_islow_sha256"], &mut n_jpegs),
                            _ => (&expected["pixels_sha256"], &mut n_raw),
                        };
                        assert_eq!(found, wanted.as_str().unwrap(), "{name} {index}");
                        *count += 1;
                    }
                    Value::Int(int) => assert_eq!(expected.as_i64(), Some(*int)),
                    Value::Float(float) => assert_eq!(expected.as_f64(), Some(*float)),
                    _ => {}
                }
            }
        }
    }
    println!("{n_files} files, {n_jpegs} JPEGs and {n_raw} raw images");
    assert!(n_files >= 12 && n_jpegs > 200 && n_raw > 80);
}
