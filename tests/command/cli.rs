//! The command as a person or a script uses it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, expect, fails, fdconvert, kodak_classes, ok, text};
use serde_json::Value;
use std::{ffi::OsStr, fs, io::Read, process::Stdio};

#[test]
fn short_help_is_short_and_every_command_explains_itself() {
    let help = ok(&[&"-h"]);
    assert!(help.starts_with("Packs image datasets for fast training.\n\nUsage: "), "{help}");
    assert!(help.lines().count() <= 36, "{help}");
    assert!(ok(&[&"pack", &"-h"]).lines().count() <= 45);
    for command in ["pack", "unpack", "inspect", "verify", "diff"] {
        assert!(help.contains(command), "{help}");
        let long = ok(&[&command, &"--help"]);
        assert!(long.len() > 300, "{long}");
    }
    let pack = ok(&[&"pack", &"--help"]);
    for word in ["--page-size", "--compat", "beton", "fdconvert pack imagenet/train"] {
        assert!(pack.contains(word), "{word} is missing in\n{pack}");
    }
    for command in ["pack", "plan", "bench", "inspect", "completions"] {
        let help = ok(&[&command, &"--help"]);
        let (examples, options) = (help.find("\nExample"), help.find("\nOptions:"));
        assert!(examples.is_some() && examples < options, "{help}");
    }
}

#[test]
fn options_of_stores_are_in_the_help_of_what_opens_something() {
    for command in ["pack", "inspect", "merge", "bench", "clean"] {
        assert!(ok(&[&command, &"--help"]).contains("--store-option"), "{command}");
    }
    let idle: [&[&dyn AsRef<OsStr>]; 6] = [
        &[&"completions", &"--help"],
        &[&"man", &"--help"],
        &[&"sample", &"--help"],
        &[&"fractal", &"recipes", &"--help"],
        &[&"fractal", &"render", &"--help"],
        &[&"gpu", &"probe", &"--help"],
    ];
    for words in idle {
        let help = ok(words);
        assert!(!help.contains("store-option"), "{help}");
    }
    // A script may pass them to every command.
    ok(&[&"man", &"pack", &"--store-option", &"region=eu-west-1"]);
    assert!(!ok(&[&"man", &"sample"]).contains("store"));
}

#[test]
fn completions_and_manual_are_generated() {
    assert!(ok(&[&"completions", &"bash"]).contains("--page-size"));
    assert!(ok(&[&"man"]).contains(".TH"));
    let page = ok(&[&"man", &"pack"]);
    assert!(page.contains(".TH fdconvert-pack") && page.contains("page\\-size"), "{page}");
    assert!(ok(&[&"man", &"fractal", &"search"]).contains(".TH fdconvert-fractal-search"));
    assert!(fails(&[&"man", &"nothing"]).contains("pack"));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    ok(&[&"man", &"--all", &pages]);
    let names = common::names(&pages);
    for name in ["fdconvert.1", "fdconvert-verify.1", "fdconvert-gpu-probe.1"] {
        assert!(names.iter().any(|page| page == name), "{names:?}");
    }
    assert!(fails(&[&"man", &"--all", &pages]).contains("fdconvert.1"));
    ok(&[&"man", &"--all", &pages, &"--overwrite"]);
}

#[test]
fn wrong_requests_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let cases: &[(&[&str], &str)] = &[
        (&["--encode", "gif"], "--encode"),
        (&["--encode", "mix:2"], "--encode"),
        (&["--encode", "png", "--jpeg-quality", "5"], "--jpeg-quality"),
        (&["--jpeg-quality", "0"], "jpeg-quality"),
        (&["--page-size", "3MiB"], "power of two"),
        (&["--page-size", "1MiB"], "page-size"),
        (&["--page-size", "lots"], "size"),
        (&["--alpha", "pink"], "--alpha"),
        (&["--threads", "0"], "--threads"),
        (&["--format", "zip"], "beton"),
        (&["--max-side", "0"], "max-side"),
        (&["--max-side", "500px"], "not a whole number"),
        (&["--format", "wds", "--shards-multiple-of", "32"], "--shards-multiple-of: 32 shards"),
        (&["--max-side", "5", "--short-side", "5"], "short-side"),
        (&["--labels", "/nonexistent.csv"], "nonexistent.csv"),
        // They have no effect here.
        (&["--filter", "lanczos3"], "--filter: it is for smaller images"),
        (&["--seed", "7"], "--seed: it is for what is drawn"),
        (&["--max-failures", "3"], "to leave bad samples out: --on-error skip"),
        (&["--encode", "keep", "--jpeg-quality", "80"], "--jpeg-quality: it is for JPEGs"),
        (&["--encode", "raw", "--subsampling", "444"], "--subsampling: it is for JPEGs"),
        (&["--restart-rows", "2"], "--restart-rows: it is for JPEGs"),
        (&["--smart-ratio", "3"], "--smart-ratio: it is for `encode=smart`"),
        (&["--by", "benefit"], "--by: it is for mixed sets (`ratio`)"),
        (&["--max-bmp-size", "1MiB"], "--max-bmp-size: it is for mixed sets"),
    ];
    for (options, word) in cases {
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
        args.extend(options.iter().map(|arg| arg as &dyn AsRef<OsStr>));
        let message = fails(&args);
        assert!(message.contains(word), "{options:?}: {message}");
        assert_eq!(common::names(folder.path()), ["kodak"], "{options:?}");
    }
    let message = fails(&[&"pack", &folder.path().join("nowhere"), &out]);
    assert!(message.contains("nowhere") && message.contains("No such file"), "{message}");
    let message = fails(&[&"pack", &source, &folder.path().join("out.what")]);
    assert!(message.contains("--format"), "{message}");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(fails(&[&"pack", &empty, &out]).contains("no image"));
    let message = fails(&[&"inspect", &source.join("even/PhotoCD_PCD0992_01.png")]);
    assert!(message.contains("is one image; give its folder"), "{message}");
}

#[test]
fn options_without_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let [packed, plan, out] = ["x.beton", "x.fdplan", "out"].map(|name| folder.path().join(name));
    ok(&[&"pack", &source, &packed, &"--no-split-folders", &"--follow-links"]);
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"beton"]);
    let cases: &[(&[&dyn AsRef<OsStr>], &str)] = &[
        (&[&"pack", &packed, &out, &"--format=wds", &"--follow-links"], "--follow-links: it is"),
        (
            &[&"plan", &packed, &"-o", &out, &"--format=wds", &"--no-split-folders"],
            "is about folders",
        ),
        (&[&"plan", &source, &"-o", &out, &"--format=wds", &"--seed=1"], "--seed: it is for"),
        (&[&"pack", &"--plan", &plan, &out, &"--max-side=9"], "give max-side to `fdconvert plan`"),
        (&[&"pack", &"--plan", &plan, &out, &"--max-failures=1"], "out: --on-error skip"),
        (&[&"verify", &packed, &"--max-pixels=9"], "--max-pixels: it goes with --deep"),
        (&[&"stats", &packed, &"--max-pixels=9"], "--max-pixels: it goes with --pixels"),
        (&[&"bench", &packed, &"--cache-policy=liquid"], "--cache-policy: it goes with --cache"),
    ];
    for (args, word) in cases {
        let message = fails(args);
        assert!(message.contains(word), "{word}: {message}");
        assert!(!out.exists(), "{word}");
    }
}

#[test]
fn pictures_and_pages_that_are_there_already_are_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let [sheet, page] = ["x.png", "x.html"].map(|name| folder.path().join(name));
    assert!(ok(&[&"sheet", &source, &sheet]).contains("wrote"));
    assert!(ok(&[&"sheet", &source, &sheet]).contains("was already complete"));
    assert!(fails(&[&"sheet", &source, &sheet, &"--side", &"64"]).contains("exists"));
    ok(&[&"stats", &source, &"--html", &page]);
    ok(&[&"stats", &source, &"--html", &page]);
    assert!(fails(&[&"stats", &source, &"--html", &page, &"--pixels"]).contains("exists"));
    assert!(fails(&[&"stats", &source, &"--html", &sheet]).contains("exists"));
}

#[test]
fn an_existing_output_is_refused_unless_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    fs::write(&out, "precious").unwrap();
    let message = fails(&[&"pack", &source, &out]);
    assert!(message.contains("--overwrite"), "{message}");
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    ok(&[&"pack", &source, &out, &"--overwrite"]);
    ok(&[&"verify", &out]);
    // Unpacking never writes into a folder that is not empty.
    assert!(fails(&[&"unpack", &out, &source]).contains("kodak"));
}

#[test]
fn json_documents_have_the_keys_that_are_promised() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let back = folder.path().join("back");
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let documents = [
        parse(ok(&[&"pack", &source, &out, &"--json", &"--dry-run"])),
        parse(ok(&[&"pack", &source, &out, &"--json"])),
        parse(ok(&[&"inspect", &out, &"--json", &"--samples", &"2"])),
        parse(ok(&[&"verify", &out, &"--json", &"--deep"])),
        parse(ok(&[&"unpack", &out, &back, &"--json"])),
        parse(ok(&[&"sample", &folder.path().join("photos"), &"--json"])),
    ];
    let contract = include_str!("../../docs/json.md");
    for document in documents {
        let name = document["document"].as_str().unwrap();
        assert_eq!(document["version"], 1);
        let row = contract.lines().find(|line| line.contains(name)).unwrap();
        for key in document.as_object().unwrap().keys() {
            if key != "document" && key != "version" {
                assert!(row.contains(&format!("`{key}`")), "{name}: {key} is not documented");
            }
        }
    }
}

#[test]
fn inspect_tells_how_a_dataset_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--jpeg-quality", &"77", &"--max-side", &"300"]);
    let text = ok(&[&"inspect", &out, &"--samples", &"1"]);
    for word in ["12 samples", "77", "300", "fdconvert 0.", "even, odd", "300x200", "8.00 MiB"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

#[test]
fn labels_from_a_table_become_fields() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let table = folder.path().join("t.csv");
    fs::write(
        &table,
        "path,label,score,caption\n\
         odd/PhotoCD_PCD0992_03.png,zebra,0.5,\"stripes, many\"\n\
         even/PhotoCD_PCD0992_01.png,apple,2,round\n",
    )
    .unwrap();
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--labels", &table, &"--jpeg-quality", &"50"]);
    let text = ok(&[&"inspect", &out, &"--samples", &"2", &"--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let first = &document["first"][0];
    assert_eq!(first["label"], 1);
    assert_eq!(first["score"], 0.5);
    assert_eq!(first["caption"], "stripes, many");
    assert_eq!(document["first"][1]["label"], 0);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--jpeg-quality", &"50"]);
    let mut child = fdconvert()
        .args(["inspect", "--samples", "12", "--json"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{message}");
    assert!(message.is_empty(), "{message}");
}

#[test]
fn quiet_is_quiet_and_nothing_but_results_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let output = common::run(&[&"pack", &source, &out, &"-q"]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{}", text(&output.stderr));
    // Standard error is not a terminal here, so that there is no progress on it either.
    let output = common::run(&[&"pack", &source, &out, &"--overwrite"]);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert_eq!(expect(0, &[&"verify", &out, &"-q"]), "");
}

/// Names that clear the screen, set the window's title, fake a line, and reverse the order of
/// letters.
const HOSTILE: [&str; 3] =
    ["cat\u{1b}[2J\u{1b}]0;x\u{7}", "dog\nx.beton: all sound\n", "eel\u{202e}gpj\u{9b}1m\u{2066}"];

#[test]
fn names_from_outside_cannot_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let photo = fs::read(common::sorted(&fdconvert_testkit::fixtures::kodak())[0].clone()).unwrap();
    let source = folder.path().join(HOSTILE[0]);
    for name in HOSTILE {
        fs::create_dir_all(source.join(name)).unwrap();
        fs::write(source.join(name).join(format!("{name}.png")), &photo).unwrap();
        fs::write(source.join(name).join(format!("broken{name}.png")), &photo[..999]).unwrap();
    }
    let out = folder.path().join(format!("{}.beton", HOSTILE[1]));
    let nowhere = folder.path().join(HOSTILE[2]);
    let runs: [(i32, &[&dyn AsRef<OsStr>]); 10] = [
        (2, &[&"pack", &source, &out]),
        (0, &[&"pack", &source, &out, &"--dry-run"]),
        (1, &[&"pack", &source, &out, &"--on-error", &"skip", &"--max-side", &"64"]),
        (0, &[&"inspect", &out, &"--samples", &"9"]),
        (0, &[&"verify", &out]),
        (1, &[&"verify", &source, &"--deep"]),
        (0, &[&"bench", &out, &"--rounds", &"1", &"--seconds", &"0.01", &"--batch-size", &"1"]),
        (2, &[&"inspect", &nowhere]),
        (2, &[&"inspect", &out, &nowhere]),
        (2, &[&"pack", &source, &folder.path().join("x"), &"--format", &HOSTILE[0]]),
    ];
    for (status, args) in runs {
        let output = common::run(args);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        let steers = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}".contains(c);
        assert!(!said.contains(steers), "{said:?}");
        assert!(!said.lines().any(|line| line.starts_with("x.beton")), "{said:?}");
    }
    // JSON has its own escapes, and gives names unchanged.
    let document: Value = serde_json::from_str(&ok(&[&"inspect", &out, &"--json"])).unwrap();
    for name in HOSTILE {
        assert_eq!(document["stats"]["classes"][name], 1, "{document}");
    }
}

#[test]
fn inspect_counts_classes_codecs_and_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    ok(&[&"sample", &photos]);
    assert!(fails(&[&"sample", &photos]).contains("exists"));
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &photos, &out]);
    for dataset in [&photos, &out] {
        let text = ok(&[&"inspect", dataset]);
        for line in [
            "images            12 jpg",
            "image bytes       9.78 KiB to 18.86 KiB, median 11.90 KiB, 150.99 KiB in all",
            "width             170 to 256, median 256",
            "class             closeup: 4 samples",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        let document: Value = serde_json::from_str(&ok(&[&"inspect", dataset, &"--json"])).unwrap();
        assert_eq!(document["stats"]["classes"]["scene"], 4);
        assert_eq!(document["stats"]["codecs"]["jpg"], 12);
        assert_eq!(document["stats"]["height"]["min"], 170);
        assert_eq!(document["stats"]["bytes"]["total"], 154_611);
    }
    assert!(ok(&[&"verify", &out]).contains("x.beton: 12 samples in"));
}

#[test]
fn one_is_told_in_the_singular_and_a_reason_names_its_sample_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("s");
    fs::create_dir(&source).unwrap();
    let photo = fs::read(common::sorted(&fdconvert_testkit::fixtures::kodak())[0].clone()).unwrap();
    fs::write(source.join("fine.png"), &photo).unwrap();
    fs::write(source.join("cut.png"), &photo[..photo.len() / 2]).unwrap();
    let out = folder.path().join("x.beton");
    let skipping: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &out, &"--on-error", &"skip"];
    let texts = [
        expect(1, &skipping),
        ok(&[&"inspect", &out]),
        expect(1, &[&"verify", &source, &"--deep"]),
        ok(&[&"plan", &source, &"-o", &folder.path().join("p"), &"--format", &"wds"]),
    ];
    for text in texts {
        for wrong in ["1 samples", "1 bad samples", "1 shards", "1 problems", "1 images"] {
            // A rate of 41 samples/s is fine.
            let words = text.match_indices(wrong).any(|(place, _)| {
                !text[..place].ends_with(|before: char| before.is_ascii_digit() || before == '.')
            });
            assert!(!words, "{wrong} in\n{text}");
        }
        for line in text.lines() {
            assert!(line.matches("cut.png").count() <= 1, "{line}");
        }
    }
}

#[test]
fn a_finished_dataset_is_said_to_be_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (photos, out) = (folder.path().join("photos"), folder.path().join("shards"));
    ok(&[&"sample", &photos]);
    ok(&[&"pack", &photos, &out, &"--format", &"wds"]);
    let again = ok(&[&"pack", &photos, &out, &"--format", &"wds", &"-vv"]);
    assert!(again.contains("already complete") && !again.contains("interrupted"), "{again}");
    assert!(!again.contains("samples/s"), "{again}");
}
