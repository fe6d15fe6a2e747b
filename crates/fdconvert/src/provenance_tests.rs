use super::*;
use crate::{Context, Pack, pack::Prepared};
use fdconvert_pipeline::recorded_params;
use fdconvert_testkit::fixtures;
use serde_json::{Map, json};
use std::{fs, path::Path};

/// Writes sources on which every option has an effect.
fn sources(root: &Path) {
    let png = |seed| fixtures::png(64, 48, seed).bytes;
    for (name, seed) in [("cats/1", 1), ("cats/2", 2), ("dogs/3", 3), ("dogs/4", 3), ("dogs/5", 5)]
    {
        for folder in ["plain", "masks", "listed", "divided/train", "divided/val"] {
            let file = root.join(folder).join(name).with_extension("png");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, png(seed)).unwrap();
        }
        fs::write(root.join("plain").join(name).with_extension("txt"), name).unwrap();
    }
    fs::write(root.join("elsewhere.png"), png(9)).unwrap();
    std::os::unix::fs::symlink(root.join("elsewhere.png"), root.join("plain/dogs/9.png")).unwrap();
    let rows = "file,tag,red,big\ncats/1.png,a,0,1\ncats/2.png,b,1,1\ndogs/3.png,a,1,0\n";
    fs::write(root.join("labels.csv"), rows).unwrap();
    fs::write(root.join("listed/metadata.csv"), "file_name,tag\ncats/1.png,a\n").unwrap();
    let boxes = "file,xmin,ymin,xmax,ymax,class\ncats/1.png,1,2,30,40,cat\n";
    fs::write(root.join("boxes.csv"), boxes).unwrap();
    fs::write(root.join("keys.txt"), "cats/1.png\ndogs/3.png\n").unwrap();
    fs::write(root.join("classes.txt"), "dogs\ncats\n").unwrap();
}

/// Returns the record of a run, and its fingerprint.
fn made(root: &Path, options: &Map<String, Value>) -> (BTreeMap<String, String>, [u8; 16]) {
    let mut options = options.clone();
    let source = options.remove("source").map_or("plain".to_owned(), |it| text(&it));
    let options: PackOptions = serde_json::from_value(Value::Object(options)).unwrap();
    let pack = Pack::new([root.join(source)], root.join("out")).options(options);
    let Prepared::Samples(samples) = pack.prepare(Context::default()).unwrap() else { panic!() };
    let job = samples.job();
    let recorded = recorded_params(&job.policy, &*job.format, job.jpeg_index, &job.params);
    (recorded, job.fingerprint().unwrap())
}

/// Returns each option with another value than its default, and the options that it requires.
fn examples(root: &Path) -> Vec<(&'static str, Value, Value)> {
    let path = |name: &str| json!(root.join(name));
    let (wds, png) = (json!({}), json!({"encode": "png"}));
    let jpeg = json!({"encode": "jpeg"});
    let mixed = json!({"format": "mixed", "ratio": 0.5});
    let table = json!({"labels": path("labels.csv")});
    let boxes = json!({"labels": path("boxes.csv")});
    vec![
        ("format", json!("mds"), wds.clone()),
        ("format_options", json!({"sidecars": "fdx"}), wds.clone()),
        ("labels", path("labels.csv"), wds.clone()),
        ("layout", json!("folder"), json!({"source": "listed"})),
        ("boxes", json!("stored"), table.clone()),
        ("label_columns", json!(["red", "big"]), table),
        ("map_labels", json!("cat=pet"), boxes.clone()),
        ("min_box", json!(8), boxes.clone()),
        ("drop_crowd", json!(true), boxes),
        ("classes", path("classes.txt"), wds.clone()),
        ("pair", json!([format!("mask={}", root.join("masks").display())]), wds.clone()),
        ("beside", json!(["txt"]), wds.clone()),
        ("drop_fields", json!(["label"]), wds.clone()),
        ("follow_links", json!(true), wds.clone()),
        ("seed", json!(7), json!({"shuffle": true})),
        ("prefix", json!("left"), wds.clone()),
        ("keys", path("keys.txt"), wds.clone()),
        ("where", json!("index > 0"), wds.clone()),
        ("dedup", json!("exact"), wds.clone()),
        ("sample", json!(0.5), wds.clone()),
        ("per", json!("class"), json!({"sample": 0.5})),
        ("shuffle", json!(true), wds.clone()),
        ("split", json!(["train=0.5", "val=0.5"]), wds.clone()),
        ("no_split_folders", json!(true), json!({"source": "divided"})),
        ("shard_count", json!(2), wds.clone()),
        ("shard_size", json!("8kB"), wds.clone()),
        ("shards", json!(2), wds.clone()),
        ("shards_multiple_of", json!(3), wds.clone()),
        ("encode", json!("png"), wds.clone()),
        ("jpeg_quality", json!(80), jpeg.clone()),
        ("subsampling", json!("444"), jpeg.clone()),
        ("optimize_huffman", json!(true), jpeg.clone()),
        ("baseline", json!(true), wds.clone()),
        ("restart_rows", json!(1), jpeg),
        ("smart_ratio", json!(5.0), json!({"format": "beton", "encode": "smart"})),
        ("jpeg_index", json!("off"), wds.clone()),
        ("ratio", json!(0.3), json!({"format": "mixed"})),
        ("by", json!("benefit"), mixed.clone()),
        ("max_bmp_size", json!("1MiB"), mixed),
        ("max_side", json!(32), wds.clone()),
        ("short_side", json!(32), wds.clone()),
        ("filter", json!("lanczos3"), json!({"max_side": 32})),
        ("alpha", json!("refuse"), wds.clone()),
        ("gray_to_rgb", json!(true), wds.clone()),
        ("no_exif_rotation", json!(true), wds.clone()),
        ("strip_metadata", json!(["exif"]), wds.clone()),
        ("strict", json!(true), wds.clone()),
        ("check", json!("pixels"), png),
        ("max_pixels", json!(1_000_000), wds.clone()),
        ("max_file_bytes", json!("1MiB"), wds.clone()),
        ("max_decompressed", json!("1GiB"), wds),
    ]
}

#[test]
fn what_shapes_bytes_is_recorded_and_tells_runs_apart() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    sources(root);
    let examples = examples(root);
    let known = serde_json::from_value::<PackOptions>(json!({"?": 0})).unwrap_err().to_string();
    let (_, known) = known.split_once("expected one of").unwrap();
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let shown: Vec<&str> = examples.iter().map(|(name, ..)| *name).collect();
    assert_eq!(shown, known, "an option has no example here");
    for (name, value, base) in examples {
        let mut options = Map::from_iter([("format".to_owned(), json!("wds"))]);
        options.extend(base.as_object().unwrap().clone());
        let without = made(root, &options);
        options.insert(name.to_owned(), value);
        let with = made(root, &options);
        let is_recorded = !OF_SAMPLES.contains(&name) && !LIMITS.contains(&name);
        assert_eq!(without.0 != with.0, is_recorded, "{name}: {:?}", with.0);
        assert_eq!(without.1 != with.1, !LIMITS.contains(&name), "{name}");
    }
}
