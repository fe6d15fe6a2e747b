//! Shards as other programs see them, resumed runs, and shards of other programs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]
use crate::wds::Wds;
use fdconvert_core::*;
use fdconvert_testkit::{compare, fixtures};
use std::{fs, io::Read as _, path::Path, process::Command};

const FINGERPRINT: [u8; 16] = [7; 16];

fn wds(options: &[(&str, &str)]) -> Box<dyn Format> {
    let values = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Wds::default().with_options(&OptionValues(values.collect())).unwrap()
}

fn schema() -> Schema {
    let class_names: [String; 2] = ["cat", "dög"].map(str::to_owned);
    let array = ArraySpec { dtype: DType::F32, shape: vec![2], torch: false };
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", class_names.into()),
        FieldSpec::new("score", Kind::Float),
        FieldSpec::new("caption", Kind::Text),
        FieldSpec::new("box", Kind::Array(array)),
    ])
    .unwrap()
}

fn samples(n: usize) -> Vec<Sample<Encoded>> {
    let images: Vec<_> = fixtures::images().into_iter().map(|(_, image)| image).collect();
    let pngs: Vec<_> = images.into_iter().filter(|image| image.codec == Codec::Png).collect();
    fixtures::samples(&schema(), &pngs, n, 3)
}

struct Run<'a> {
    format: &'a dyn Format,
    out: &'a Path,
    fingerprint: [u8; 16],
    overwrite: bool,
}

impl Run<'_> {
    fn with<T>(&self, shard: &Shard, call: impl FnOnce(&Create<'_>) -> T) -> T {
        let common = common();
        call(&Create {
            out: self.out,
            schema: &schema(),
            shard,
            common: &common,
            provenance: &Provenance::default(),
            fingerprint: self.fingerprint,
            stamp: self.fingerprint,
            overwrite: self.overwrite,
            entry_points: false,
            is_open: false,
        })
    }

    fn write(&self, shard: &Shard, samples: &[Sample<Encoded>]) -> Result<ShardSummary> {
        let mut writer = self.with(shard, |request| self.format.create(request))?;
        samples.iter().try_for_each(|sample| writer.write(sample))?;
        writer.finish()
    }

    fn finished(&self, shard: &Shard) -> Result<Option<ShardSummary>> {
        self.with(shard, |request| self.format.finished(request))
    }

    fn complete(&self, shards: &[(Shard, ShardSummary)]) -> Result<Vec<std::path::PathBuf>> {
        self.format.complete(&Complete {
            out: self.out,
            schema: &schema(),
            shards,
            common: &common(),
            provenance: &Provenance::default(),
            fingerprint: self.fingerprint,
        })
    }
}

fn common() -> Common {
    Common { codec: Some(Codec::Png), extension: Some("png".into()), ..Common::default() }
}

fn run<'a>(format: &'a dyn Format, out: &'a Path) -> Run<'a> {
    Run { format, out, fingerprint: FINGERPRINT, overwrite: false }
}

fn shard(number: usize, of: usize, split: &str) -> Shard {
    Shard { number, of, samples: 0..4, split: split.into() }
}

/// Two shards of `train` and one of `val`, completed.
fn dataset(format: &dyn Format, out: &Path) -> Vec<Sample<Encoded>> {
    let all = samples(12);
    let shards = [shard(0, 3, "train"), shard(1, 3, "train"), shard(0, 3, "val")];
    let run = run(format, out);
    let written = shards.into_iter().zip(all.chunks(4)).map(|(shard, samples)| {
        let summary = run.write(&shard, samples).unwrap();
        (shard, summary)
    });
    run.complete(&written.collect::<Vec<_>>()).unwrap();
    all
}

fn assert_holds(reader: &dyn Reader, expected: &[Sample<Encoded>]) {
    let found: Vec<_> = (0..reader.len()).map(|i| reader.get(i).unwrap()).collect();
    assert_eq!(found, expected);
}

#[test]
fn pythons_tarfile_reads_plain_ustar() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let all = dataset(&Wds::default(), &out);
    let script = r#"
import sys, tarfile
raw = open(sys.argv[1], "rb").read()
assert raw.endswith(bytes(1024)) and len(raw) % 512 == 0
with tarfile.open(sys.argv[1], "r:") as tar:
    for m in tar:
        assert m.isreg() and not m.pax_headers, m
        assert (m.mode, m.uid, m.gid, m.mtime, m.uname, m.gname) == (0o444, 0, 0, 0, "", ""), m.get_info()
        head = raw[m.offset:m.offset + 512]
        assert head[257:265] == b"ustar\x0000", head[257:265]
        assert m.offset_data == m.offset + 512
        again = tarfile.TarInfo(m.name)
        again.size, again.mode = m.size, 0o444
        ours, theirs = bytearray(head), bytearray(again.tobuf(tarfile.USTAR_FORMAT))
        # Device numbers and the checksum over them may be blank.
        for block in (ours, theirs):
            block[148:156] = bytes(8)
            block[329:345] = bytes(16)
        assert ours == theirs, m.name
        print(m.name, m.size)
"#;
    let tar = out.join("train-000000.tar");
    let output = match Command::new("python3").arg("-c").arg(script).arg(&tar).output() {
        Ok(output) => output,
        Err(cause) => {
            eprintln!("skipped: python3: {cause}");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let names: Vec<_> = listed.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let fields = ["png", "cls", "score.json", "caption.txt", "box.npy"];
    let expected: Vec<String> = all[..4]
        .iter()
        .flat_map(|sample| {
            let key = sample.key.strip_suffix(".png").unwrap();
            let key = key.replace('ö', "%C3%B6");
            fields.map(|field| format!("{key}.{field}"))
        })
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn shards_are_one_dataset_with_and_without_their_index() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let format = Wds::default();
    let all = dataset(&format, &out);
    let reader = format.open(&out).unwrap();
    assert_eq!(reader.schema(), &schema());
    assert_holds(&*reader, &all);
    assert_eq!(reader.verify_layout().len(), 0);
    assert_eq!(reader.codec_hint(11).unwrap(), Some(Codec::Png));
    let Value::Image(image) = &all[5].values[0] else { panic!() };
    assert_eq!(reader.bytes(5, Amount::Known).unwrap(), Some(image.bytes.len() as u64));

    // From the manifest alone; then from the index of one shard; then from names.
    fs::remove_file(out.join("train-000001.fdx")).unwrap();
    let reader = format.open(&out).unwrap();
    assert_holds(&*reader, &all);
    let problems = reader.verify_layout();
    assert!(problems.iter().any(|error| error.to_string().contains("train-000001.fdx is missing")));
    assert!(!reader.has_checksums());
    // A manifest of a version without checksum.
    let path = out.join("fdconvert.json");
    let sealed = fs::read_to_string(&path).unwrap();
    let (_, members) = sealed.split_once("\",\n").unwrap();
    fs::write(&path, format!("{{\n{members}")).unwrap();
    assert_holds(&*format.open(&out).unwrap(), &all);
    fs::write(&path, sealed.replace("train-000000.tar", "train-000009.tar")).unwrap();
    assert!(format.open(&out).err().unwrap().to_string().contains("checksum"));
    fs::remove_file(out.join("fdconvert.json")).unwrap();
    assert_holds(&*format.open(&out).unwrap(), &all);
    for stem in ["train-000000", "val-000000"] {
        fs::remove_file(out.join(format!("{stem}.fdx"))).unwrap();
    }
    let reader = format.open(&out).unwrap();
    let kinds: Vec<_> =
        reader.schema().fields.iter().map(|f| (f.name.as_str(), f.kind.name())).collect();
    assert_eq!(
        kinds,
        [
            ("image", "image"),
            ("label", "int"),
            ("score", "json"),
            ("caption", "text"),
            ("box", "array")
        ]
    );
    let sample = reader.get(11).unwrap();
    assert_eq!((&sample.key, &sample.values[..2]), (&all[11].key, &all[11].values[..2]));
    assert_eq!(format.open(&out.join("val-000000.tar")).unwrap().len(), 4);
}

#[test]
fn a_stale_index_is_left_alone_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let all = dataset(&Wds::default(), &out);
    let tar = out.join("train-000000.tar");
    let longer = [fs::read(&tar).unwrap(), vec![0; 512]].concat();
    fs::write(&tar, longer).unwrap();
    let reader = Wds::default().open(&out).unwrap();
    assert_holds(&*reader, &all);
    let problems = reader.verify_layout();
    assert!(problems.iter().any(|error| error.to_string().contains("stale")), "{problems:?}");
}

#[test]
fn a_run_continues_where_another_one_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (out, format) = (folder.path().join("d"), Wds::default());
    let (all, first, second) = (samples(8), shard(0, 2, "train"), shard(1, 2, "train"));
    let run = run(&format, &out);
    assert_eq!(run.finished(&first).unwrap(), None);
    let summary = run.write(&first, &all[..4]).unwrap();
    assert_eq!(run.finished(&first).unwrap(), Some(summary.clone()));
    assert_eq!(run.finished(&second).unwrap(), None);
    // Killed between the shard and its record.
    let done = run.write(&second, &all[4..]).unwrap();
    let record = out.join(".fdconvert/train-000001.json");
    fs::rename(&record, out.join(".fdconvert/train-000001.json.partial")).unwrap();
    assert_eq!(run.finished(&second).unwrap(), None);
    assert!(
        run.complete(&[(first.clone(), summary.clone()), (second.clone(), done.clone())]).is_err()
    );

    let other = Run { fingerprint: [8; 16], ..run };
    assert!(matches!(other.finished(&first), Err(Error::Usage { .. })));
    assert!(matches!(other.write(&second, &all[4..]), Err(Error::Usage { .. })));
    let run = Run { fingerprint: FINGERPRINT, ..other };
    assert!(matches!(run.write(&first, &all[..4]), Err(Error::Usage { .. })));
    assert_eq!(run.write(&second, &all[4..]).unwrap(), done);
    let shards = [(first.clone(), summary), (second, done)];
    run.complete(&shards).unwrap();
    let before = compare::tree(&out);
    run.complete(&shards).unwrap();
    assert!(before == compare::tree(&out));
    assert_holds(&*format.open(&out).unwrap(), &all);
    // A shard that does not match its record is written again.
    fs::write(out.join("train-000000.tar"), b"short").unwrap();
    assert_eq!(run.finished(&first).unwrap(), None);
    run.write(&first, &all[..4]).unwrap();
    run.complete(&shards).unwrap();
    assert!(before == compare::tree(&out));
}

#[test]
fn what_others_have_made_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (out, format) = (folder.path().join("d"), Wds::default());
    fs::create_dir(&out).unwrap();
    let tar = out.join("train-000000.tar");
    fs::write(&tar, b"precious").unwrap();
    let all = samples(4);
    let only = shard(0, 1, "train");
    let refused = run(&format, &out).write(&only, &all);
    assert!(matches!(refused, Err(Error::Usage { .. })));
    assert_eq!(fs::read(&tar).unwrap(), b"precious");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    fs::remove_file(&tar).unwrap();
    // A shard of a longer run beside a shorter one.
    fs::write(out.join("train-000001.tar"), b"precious").unwrap();
    let summary = run(&format, &out).write(&only, &all).unwrap();
    let refused = run(&format, &out).complete(&[(only.clone(), summary.clone())]);
    assert!(refused.unwrap_err().to_string().contains("train-000001.tar"));
    fs::remove_file(out.join("train-000001.tar")).unwrap();
    run(&format, &out).complete(&[(only, summary)]).unwrap();
    // A file with the name of a sidecar.
    let with_readme = wds(&[("sidecars", "hf")]);
    let readme = out.join("README.md");
    fs::write(&readme, b"precious").unwrap();
    let only = shard(0, 1, "train");
    let summary = run(&*with_readme, &out).finished(&only).unwrap().unwrap();
    let refused = run(&*with_readme, &out).complete(&[(only, summary)]);
    assert!(matches!(refused, Err(Error::Usage { .. })));
    assert_eq!(fs::read(&readme).unwrap(), b"precious");
    // Another dataset with another split.
    let other = Run { fingerprint: [8; 16], ..run(&format, &out) };
    assert!(matches!(other.write(&shard(0, 1, "val"), &all), Err(Error::Usage { .. })));
}

#[test]
fn every_sidecar_is_listed_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("d");
    let format = wds(&[("sidecars", "fdx,dali,wids,timm,hf,energon,img2dataset")]);
    dataset(&*format, &out);
    assert!(format.open(&out).unwrap().verify_layout().is_empty());
    fs::write(out.join("train-000000.idx"), b"v1.2 0\n").unwrap();
    assert_eq!(format.open(&out).unwrap().verify_layout().len(), 1);
}

pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn shards_of_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let png = fixtures::PNG_RGB;
    let jpg = fixtures::JPEG_420;
    let bytes = tar(&[
        ("__about__/info.json", b"{}"),
        ("README", b"no sample"),
        ("a/1.PNG", png),
        ("a/1.seg.png", png),
        ("a/1.cls", b" 7\n"),
        ("a/2.PNG", jpg),
        ("a/2.seg.png", png),
        ("a/2.extra", b"?"),
        ("100%.PNG", png),
        ("100%.seg.png", b"no image"),
        ("100%.cls", b"x"),
    ]);
    let path = folder.path().join("x.tar");
    fs::write(&path, &bytes).unwrap();
    let check = |path: &Path| {
        assert!(Wds::default().detect(path));
        let reader = Wds::default().open(path).unwrap();
        assert_eq!(reader.len(), 3);
        let names: Vec<_> = reader.schema().fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["image", "seg", "label", "extra"]);
        assert!(reader.get(0).unwrap_err().to_string().contains("`extra`"));
        assert_eq!(reader.facts().ignored.to_string(), "2 files ignored (.json 1, no extension 1)");
        let dropped = ["extra".to_owned()];
        let reader =
            Wds::default().open_with(path, &OpenOptions::default().drop_fields(dropped.to_vec()));
        let reader = reader.unwrap();
        assert_eq!(reader.facts().dropped_fields, dropped);
        let sample = reader.get(0).unwrap();
        assert_eq!((sample.key.as_str(), &sample.values[2]), ("a/1.PNG", &Value::Int(7)));
        let lacking = reader.get(1).unwrap_err();
        assert!(matches!(lacking, Error::Sample { .. }) && lacking.to_string().contains("label"));
        assert_eq!(reader.key(2), "100%.PNG");
        assert!(matches!(reader.get(2), Err(Error::Sample { .. })));
    };
    check(&path);
    use std::io::Write as _;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let packed = folder.path().join("x.tar.gz");
    fs::write(&packed, gzip.finish().unwrap()).unwrap();
    check(&packed);
    let packed = folder.path().join("x.tar.zst");
    fs::write(&packed, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    check(&packed);

    let twice = tar(&[("1.png", png), ("1.png", png)]);
    fs::write(&path, twice).unwrap();
    assert!(matches!(Wds::default().open(&path), Err(Error::Corrupt { .. })));
}

#[test]
fn a_png_among_the_jpegs_of_others_is_of_the_same_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar");
    let (png, jpg) = (fixtures::PNG_RGB, fixtures::JPEG_420);
    let bytes =
        tar(&[("1.jpg", jpg), ("1.txt", b"a"), ("2.PNG", png), ("2.txt", b"b"), ("3.jpg", jpg)]);
    fs::write(&path, bytes).unwrap();
    let reader = Wds::default().open(&path).unwrap();
    assert!(reader.verify_layout().is_empty());
    let codecs: Vec<_> = (0..2)
        .map(|index| match &reader.get(index).unwrap().values[0] {
            Value::Image(image) => image.codec,
            value => panic!("{value:?}"),
        })
        .collect();
    assert_eq!(codecs, [Codec::Jpeg, Codec::Png]);
    assert_eq!(
        (reader.codec_hint(1).unwrap(), reader.key(1).as_str()),
        (Some(Codec::Png), "2.PNG")
    );
    let error = reader.get(2).unwrap_err();
    let said = error.chain();
    assert!(said.contains("as from 1 of 3 in all ("), "{said}");
    assert!(said.contains("to pack without the field: drop_fields=txt"), "{said}");
    assert!(said.contains("to pack without such samples: on_error=skip"), "{said}");
    let lacking = error.to_string();
    assert!(lacking.contains("`caption`") || lacking.contains("`txt`"), "{lacking}");
    assert!(lacking.contains("on_error=skip"), "{lacking}");
}

#[test]
fn what_decompresses_to_more_than_images_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar.zst");
    let open =
        |limit| Wds::default().open_with(&path, &OpenOptions::default().max_decompressed(limit));
    let refused = |limit| match open(limit) {
        Err(error @ Error::Limit { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(|reader| reader.len())),
    };
    fs::write(&path, zstd::encode_all(std::io::repeat(0).take(65 << 20), 1).unwrap()).unwrap();
    let message = refused(None);
    assert!(
        message.contains("to raise it: max_decompressed") && message.contains("x.tar.zst"),
        "{message}"
    );

    let bytes = tar(&[("1.jpg", fixtures::JPEG_420), ("1.cls", b"0")]);
    fs::write(&path, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    assert!(refused(Some(1000)).contains("over the limit of 1000; "));
    assert_eq!(open(Some(bytes.len() as u64)).unwrap().len(), 1);
    // Both together exceed the limit.
    fs::copy(&path, folder.path().join("y.tar.zst")).unwrap();
    let limit = OpenOptions::default().max_decompressed(Some(bytes.len() as u64));
    let both = Wds::default().open_with(folder.path(), &limit);
    assert!(matches!(both, Err(Error::Limit { .. })));
}
