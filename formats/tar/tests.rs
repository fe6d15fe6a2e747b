//! The walker compared with Python's `tarfile`: the same entries, or a refusal.
use super::{Entry, TarError, entries, groups};
use std::{fs, process::Command};

type Listed = (Vec<u8>, u64, u64);

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    /// Names in hexadecimal, offsets and lengths; `None` if `tarfile` refuses.
    entries: Option<Vec<(String, u64, u64)>>,
    must: String,
}

fn listed(archive: &[u8]) -> Result<Vec<Listed>, TarError> {
    let listed = |entry: Entry<'_>| (entry.name.into_owned(), entry.data, entry.len);
    entries(archive).map(|entry| entry.map(listed)).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

#[test]
fn finds_what_tarfile_finds_or_refuses() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|run| run.status.success()) {
        println!("skipped: no python3 to compare with");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = Command::new("python3")
        .args(["-c", include_str!("tests.py")])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let (mut agreed, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in String::from_utf8(run.stdout).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let archive = fs::read(folder.path().join(format!("{}.tar", case.name))).unwrap();
        let expected = case.entries.map(|entries| {
            let entry = |(name, data, len): (String, u64, u64)| (bytes_of(&name), data, len);
            entries.into_iter().map(entry).collect::<Vec<_>>()
        });
        let found = listed(&archive);
        let agrees = found.as_ref().ok() == expected.as_ref() && expected.is_some();
        match case.must.as_str() {
            "agree" if agrees => agreed += 1,
            "either" if agrees => agreed += 1,
            "refuse" | "either" if found.is_err() => refused += 1,
            must => wrong.push(format!(
                "{} must {must}:\n  tarfile {expected:?}\n  here    {found:?}",
                case.name
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{agreed} archives as tarfile lists them, {refused} refused");
    assert!(agreed > 100 && refused > 100, "{agreed} {refused}");
}

/// Returns a USTAR archive without its end.
fn ustar(files: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, kind, content) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = *kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend(header);
        archive.extend(*content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive
}

#[test]
fn refusals_name_the_entry_and_the_cure() {
    let check = |kind: u8, unsupported: bool, words: &[&str]| {
        let archive = ustar(&[("a.jpg", b'0', b"1"), ("b.jpg", kind, b"")]);
        let error = listed(&archive).unwrap_err();
        assert_eq!((error.offset, error.unsupported), (1024, unsupported), "{error:?}");
        for word in words {
            assert!(error.what.contains(word), "`{word}` is not in: {}", error.what);
        }
        let chain = error.at("x.tar".as_ref()).chain();
        assert!(chain.contains("x.tar") && chain.contains("1024"), "{chain}");
    };
    check(b'1', true, &["`b.jpg`", "hard link", "--hard-dereference"]);
    check(b'2', true, &["`b.jpg`", "symbolic link", "--dereference"]);
    check(b'3', true, &["`b.jpg`", "device"]);
    check(b'6', true, &["`b.jpg`", "named pipe"]);
    check(b'S', true, &["`b.jpg`", "sparse", "--sparse"]);
    check(b'M', true, &["`b.jpg`", "volume"]);
    check(b'Z', true, &["`b.jpg`", "unknown type `Z`"]);
    check(b'x', false, &["no entry after it"]);
}

#[test]
fn entries_that_end_too_late_say_where_and_whose() {
    let archive = ustar(&[("a.jpg", b'0', b"1"), ("b.jpg", b'0', &[7; 1000])]);
    let error = listed(&archive[..2048]).unwrap_err();
    assert_eq!(error.offset, 1536);
    assert!(error.what.contains("`b.jpg`") && error.what.contains("1000 bytes"), "{error:?}");
    assert_eq!(listed(&archive).unwrap().len(), 2);
}

#[test]
fn compressed_archives_are_named() {
    let mut archive = vec![0x1f, 0x8b, 8];
    archive.resize(2000, 7);
    let error = listed(&archive).unwrap_err();
    assert!(error.what.contains("gzip") && error.what.contains("decompress"), "{error:?}");
}

#[test]
fn neighbours_with_one_key_are_a_sample() {
    let archive = ustar(&[
        ("a.jpg", b'0', b"1"),
        ("a.cls", b'0', b"2"),
        ("README", b'0', b"3"),
        ("a.txt", b'0', b"4"),
        ("d/b.jpg", b'0', b"5"),
        ("a.jpg", b'0', b"6"),
    ]);
    let found: Vec<_> = groups(&archive).map(Result::unwrap).collect();
    let keys: Vec<_> = found.iter().map(|group| (&group.key[..], group.entries.len())).collect();
    assert_eq!(keys, [(&b"a"[..], 3), (b"d/b", 1), (b"a", 1)]);
    assert!(groups(&archive[..700]).last().unwrap().is_err());
}

/// `cargo test --release -p fdconvert-formats speed -- --ignored --nocapture`
#[test]
#[ignore = "prints a measurement"]
fn speed_of_the_walk() {
    let archive = ustar(&[("000000001.jpg", b'0', &[7; 4000]), ("000000001.cls", b'0', b"1")]);
    let archive = archive.repeat(20_000);
    for _ in 0..5 {
        let start = std::time::Instant::now();
        let n = std::hint::black_box(entries(&archive)).filter(Result::is_ok).count();
        let spent = start.elapsed();
        println!("{:.1} ns per entry of {n}", spent.as_nanos() as f64 / n as f64);
    }
}

proptest::proptest! {
    #[test]
    fn damaged_bytes_never_panic(
        damage in proptest::collection::vec((0_usize..6000, proptest::num::u8::ANY), 1..20),
        fixed in proptest::bool::ANY,
    ) {
        let record = "30 path=a/long/name/of/x.jpg\n".replace("30", "29");
        let mut archive = ustar(&[
            ("x", b'x', record.as_bytes()),
            ("a.jpg", b'0', b"1"),
            ("././@LongLink", b'L', &[b'n'; 600]),
            ("a.cls", b'0', &[1; 513]),
            ("d/", b'5', b""),
            ("b.jpg", b'7', b"2"),
        ]);
        for (at, byte) in damage {
            if let Some(target) = archive.get_mut(at) {
                *target = byte;
            }
        }
        if fixed {
            repair_checksums(&mut archive);
        }
        for entry in entries(&archive) {
            let Ok(entry) = entry else { break };
            assert!(entry.header + 512 <= entry.data);
            assert!(entry.data + entry.len <= archive.len() as u64);
        }
    }
}

fn repair_checksums(archive: &mut [u8]) {
    for block in archive.chunks_exact_mut(512).filter(|block| &block[257..262] == b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }
}
