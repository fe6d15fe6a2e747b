//! A dataset of shards written concurrently, in parts, by many threads, and killed on the way:
//! always the same bytes.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, expect, fails, fdconvert, kodak_classes, ok};
use fdconvert_testkit::compare::tree;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// Twelve images six times over, in six classes.
fn source(root: &Path) -> PathBuf {
    let folder = root.join("source");
    for class in 0..6 {
        let class = folder.join(format!("c{class}"));
        fs::create_dir_all(&class).unwrap();
        for path in common::sorted(&fdconvert_testkit::fixtures::kodak()) {
            fs::copy(&path, class.join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

const RECIPE: [&str; 10] = [
    "--format",
    "wds",
    "--jpeg-quality",
    "80",
    "--max-side",
    "300",
    "--shard-count",
    "9",
    "--shuffle",
    "--seed=5",
];

/// Returns all files of the dataset except the copy of the plan, which only parts leave.
fn files(out: &Path) -> Vec<(String, Vec<u8>)> {
    let files = tree(out).into_iter().map(|(name, bytes)| (common::text(&name), bytes));
    files.filter(|(name, _)| !name.ends_with(".fdplan")).collect()
}

fn plan(root: &Path, source: &Path) -> PathBuf {
    let plan = root.join("p.fdplan");
    let output = fdconvert().arg("plan").arg(source).arg("-o").arg(&plan).args(RECIPE).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    plan
}

#[test]
fn any_number_of_parts_and_threads_gives_the_same_files() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let whole = root.path().join("whole");
    let output = fdconvert().arg("pack").args([&source, &whole]).args(RECIPE).output().unwrap();
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    let expected = files(&whole);
    assert_eq!(expected.iter().filter(|(name, _)| name.ends_with(".tar")).count(), 8);

    let plan = plan(root.path(), &source);
    for (parts, threads) in [(1, "1"), (2, "2"), (7, "1"), (7, "2")] {
        let out = root.path().join(format!("parts{parts}-{threads}"));
        // Last part first: the order must not matter.
        for part in (1..=parts).rev() {
            let part = format!("{part}/{parts}");
            ok(&[&"pack", &"--plan", &plan, &"--part", &part, &out, &"--threads", &threads]);
        }
        ok(&[&"merge", &out]);
        let found = files(&out);
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&found), names(&expected));
        assert!(found == expected, "{parts} parts, {threads} threads");
        // A repetition gives the same, for parts and for the merge.
        ok(&[&"pack", &"--plan", &plan, &"--part", &"1/1", &out]);
        ok(&[&"merge", &out]);
        assert!(files(&out) == expected);
        ok(&[&"verify", &out, &"--deep"]);
    }
}

#[test]
fn killed_three_times_and_resumed_it_gives_the_same_files() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let whole = root.path().join("whole");
    let output = fdconvert().arg("pack").args([&source, &whole]).args(RECIPE).output().unwrap();
    assert!(output.status.success());
    let out = root.path().join("killed");
    for threads in ["1", "2", "1"] {
        let mut child = fdconvert()
            .arg("pack")
            .args([&source, &out])
            .args(RECIPE)
            .args(["--threads", threads])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Each run finishes some more shards.
        std::thread::sleep(Duration::from_millis(60));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!out.join("fdconvert.json").exists(), "the run was over before it was killed");
    }
    let output = fdconvert().arg("pack").args([&source, &out]).args(RECIPE).output().unwrap();
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    assert!(files(&out) == files(&whole));
}

#[test]
fn merge_names_what_is_missing_and_writes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let plan = plan(root.path(), &source);
    let out = root.path().join("out");
    ok(&[&"pack", &"--plan", &plan, &"--part", &"1/2", &out]);
    let message = fails(&[&"merge", &out]);
    assert!(message.contains("train-000001"), "{message}");
    assert!(!out.join("fdconvert.json").exists());
    ok(&[&"pack", &"--plan", &plan, &"--part", &"2/2", &out]);
    assert!(ok(&[&"merge", &out]).contains("12 samples in 2 shards"));

    // Another plan is refused here.
    let other = root.path().join("other.fdplan");
    ok(&[&"plan", &source, &"-o", &other, &"--format", &"wds", &"--shard-count", &"5"]);
    assert!(fails(&[&"pack", &"--plan", &other, &"--part", &"1/1", &out]).contains("plan"));
    // A part of an indivisible plan.
    let single = root.path().join("single.fdplan");
    ok(&[&"plan", &source, &"-o", &single, &"--format", &"beton"]);
    let beton = root.path().join("x.beton");
    assert!(fails(&[&"pack", &"--plan", &single, &"--part", &"1/2", &beton]).contains("--part"));
    ok(&[&"pack", &"--plan", &single, &beton]);
    assert!(expect(0, &[&"verify", &beton]).contains("12 samples"));
}

/// The script of the guide, unchanged, under a loop instead of Slurm.
#[test]
fn the_array_script_of_the_guide_works() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    plan(root.path(), &source);
    fs::rename(root.path().join("p.fdplan"), root.path().join("train.fdplan")).unwrap();
    let guide = include_str!("../../docs/guide/cluster.md");
    let script = &guide[guide.find("#!/bin/bash").unwrap()..];
    let script = script.split("```").next().unwrap();
    fs::write(root.path().join("pack.sbatch"), script).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_fdconvert")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for task in 1..=5 {
        let status = Command::new("bash")
            .arg("pack.sbatch")
            .current_dir(root.path())
            .env("PATH", &path)
            .env("SLURM_ARRAY_TASK_ID", task.to_string())
            .env("SLURM_ARRAY_TASK_COUNT", "5")
            .env("SLURM_ARRAY_TASK_MIN", "1")
            .env_remove("RANK")
            .env("SLURM_CPUS_PER_TASK", "2")
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "task {task}");
    }
    ok(&[&"merge", &root.path().join("shards")]);
    ok(&[&"verify", &root.path().join("shards")]);
}

#[test]
fn the_same_plan_again_is_no_error_and_another_one_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let plan = root.path().join("p.fdplan");
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"wds"]);
    let bytes = fs::read(&plan).unwrap();
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"wds"]);
    assert_eq!(fs::read(&plan).unwrap(), bytes);
    let stderr = fails(&[&"plan", &source, &"-o", &plan, &"--format", &"mds"]);
    assert!(stderr.contains("exists"), "{stderr}");
    assert_eq!(fs::read(&plan).unwrap(), bytes);
}

#[test]
fn merging_removes_what_killed_parts_left_of_the_plan_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let (plan, out) = (root.path().join("p.fdplan"), root.path().join("out"));
    ok(&[&"plan", &source, &"-o", &plan, &"--format", &"wds"]);
    ok(&[&"pack", &"--plan", &plan, &"--part", &"1/1", &out]);
    let begun = out.join(".fdconvert/plan.4711.partial");
    fs::write(&begun, &fs::read(&plan).unwrap()[..100]).unwrap();
    let (others, named) = (out.join(".fdconvert/plan.4712.partial"), out.join("plan.mine.partial"));
    fs::write(&others, "of somebody else").unwrap();
    fs::write(&named, "of somebody else").unwrap();
    ok(&[&"merge", &out]);
    assert!(!begun.exists());
    assert!(others.exists() && named.exists());
}

/// Variables that number processes; the tests must not inherit any.
const NUMBERS: [&str; 12] = [
    "RANK",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX",
    "AWS_BATCH_JOB_ARRAY_INDEX",
];

#[test]
fn the_part_is_what_the_launcher_says() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan(root.path(), &kodak_classes(root.path()));
    let part = |out: &Path, environment: &[(&str, String)], parts: Option<&str>| {
        let mut command = fdconvert();
        NUMBERS.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.args(["pack", "--part", "auto", "--plan"]).arg(&plan).arg(out);
        command.args(parts.map(|parts| ["--parts", parts]).into_iter().flatten());
        let output = command.output().unwrap();
        let text = common::text(&output.stdout) + &common::text(&output.stderr);
        (output.status.code(), text)
    };
    type Environment = fn(usize) -> Vec<(&'static str, String)>;
    let launchers: [(Environment, Option<&str>); 6] = [
        (|n| vec![("RANK", n.to_string()), ("WORLD_SIZE", "2".into())], None),
        (
            |n| {
                let rank = ("OMPI_COMM_WORLD_RANK", n.to_string());
                vec![rank, ("OMPI_COMM_WORLD_SIZE", "2".into())]
            },
            None,
        ),
        (|n| vec![("SLURM_PROCID", n.to_string()), ("SLURM_NTASKS", "2".into())], None),
        (
            |n| {
                vec![
                    ("SLURM_ARRAY_TASK_ID", (3 + 4 * n).to_string()),
                    ("SLURM_ARRAY_TASK_MIN", "3".into()),
                    ("SLURM_ARRAY_TASK_STEP", "4".into()),
                    ("SLURM_ARRAY_TASK_COUNT", "2".into()),
                ]
            },
            None,
        ),
        (|n| vec![("JOB_COMPLETION_INDEX", n.to_string())], Some("2")),
        (|n| vec![("AWS_BATCH_JOB_ARRAY_INDEX", n.to_string())], Some("2")),
    ];
    for (number, (environment, parts)) in launchers.into_iter().enumerate() {
        let out = root.path().join(format!("launched-{number}"));
        for process in 0..2 {
            let (status, text) = part(&out, &environment(process), parts);
            assert_eq!(status, Some(0), "{text}");
            let name = environment(process)[0].0;
            assert!(text.contains(&format!("part {}/2, by ", process + 1)), "{text}");
            assert!(text.contains(name), "{text}");
        }
        ok(&[&"merge", &out]);
        ok(&[&"verify", &out]);
    }
    let out = root.path().join("refused");
    let (status, text) = part(&out, &[], None);
    assert!(status == Some(2) && NUMBERS[..2].iter().all(|it| text.contains(it)), "{text}");
    let (status, text) = part(&out, &[("JOB_COMPLETION_INDEX", "0".into())], None);
    assert!(status == Some(2) && text.contains("--parts"), "{text}");
    assert!(!out.exists());
}
