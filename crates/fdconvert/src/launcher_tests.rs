//! Environments as launchers set them.
use super::*;

fn find(parts: Option<u64>, environment: &[(&str, &str)]) -> Result<(u64, u64), String> {
    let lookup = |name: &str| {
        let found = environment.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let found = find_part(parts, lookup);
    found.map(|found| (found.part.index, found.part.of)).map_err(|error| error.to_string())
}

fn slurm_array(id: &'static str, range: [&'static str; 3]) -> Vec<(&'static str, &'static str)> {
    let [first, step, count] = range;
    vec![
        ("SLURM_ARRAY_TASK_ID", id),
        ("SLURM_ARRAY_TASK_MIN", first),
        ("SLURM_ARRAY_TASK_STEP", step),
        ("SLURM_ARRAY_TASK_COUNT", count),
        // As in every batch script.
        ("SLURM_PROCID", "0"),
        ("SLURM_NTASKS", "1"),
    ]
}

#[test]
fn every_launcher_numbers_its_processes() {
    assert_eq!(find(None, &[("RANK", "3"), ("WORLD_SIZE", "8")]), Ok((3, 8)));
    let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
    assert_eq!(find(None, &mpi), Ok((1, 2)));
    assert_eq!(find(None, &[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4")]), Ok((2, 4)));
    assert_eq!(find(None, &slurm_array("1", ["1", "1", "16"])), Ok((0, 16)));
    assert_eq!(find(None, &slurm_array("16", ["1", "1", "16"])), Ok((15, 16)));
    assert_eq!(find(None, &slurm_array("0", ["0", "1", "4"])), Ok((0, 4)));
    assert_eq!(find(Some(5), &[("JOB_COMPLETION_INDEX", "4")]), Ok((4, 5)));
    assert_eq!(find(Some(5), &[("AWS_BATCH_JOB_ARRAY_INDEX", "0")]), Ok((0, 5)));
    // A single process has everything.
    assert_eq!(find(None, &[("RANK", "0"), ("WORLD_SIZE", "1")]), Ok((0, 1)));
}

#[test]
fn arrays_in_steps_have_no_gaps_and_lists_are_refused() {
    for (place, id) in ["1", "3", "5", "7", "9"].into_iter().enumerate() {
        assert_eq!(find(None, &slurm_array(id, ["1", "2", "5"])), Ok((place as u64, 5)));
    }
    let listed = find(None, &slurm_array("7", ["1", "1", "3"])).unwrap_err();
    assert!(
        listed.contains("list with gaps")
            && listed.contains("e.g. 1-3; to name the part: part=1/4"),
        "{listed}"
    );
}

#[test]
fn the_nearest_launcher_counts() {
    let mut all = slurm_array("2", ["1", "1", "4"]);
    all.push(("JOB_COMPLETION_INDEX", "1"));
    assert_eq!(find(None, &all), Ok((1, 4)));
    // One process per job of the array: the array number decides.
    all.extend([("RANK", "0"), ("WORLD_SIZE", "1")]);
    assert_eq!(find(None, &all), Ok((1, 4)));
    let torchrun =
        [("RANK", "5"), ("WORLD_SIZE", "6"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")];
    assert_eq!(find(None, &torchrun), Ok((5, 6)));
    // Another program may have set RANK.
    assert_eq!(
        find(None, &[("RANK", "5"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")]),
        Ok((1, 2))
    );
    let tasks: Vec<_> = [
        ("SLURM_ARRAY_TASK_ID", "2"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "4"),
    ]
    .into();
    assert_eq!(find(None, &tasks), Ok((5, 12)));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let nothing = find(None, &[("JOB_COMPLETION_INDEX", " ")]).unwrap_err();
    for launcher in &LAUNCHERS {
        assert!(nothing.contains(launcher.index), "{nothing}");
    }
    let refused = |parts, environment: &[(&str, &str)], wanted: &str| {
        let message = find(parts, environment).unwrap_err();
        assert!(message.contains(wanted), "{message}");
    };
    refused(None, &[("JOB_COMPLETION_INDEX", "1")], "to name their number: parts");
    refused(Some(2), &[("JOB_COMPLETION_INDEX", "2")], "it has to be less");
    refused(Some(3), &[("RANK", "0"), ("WORLD_SIZE", "2")], "not 3");
    refused(None, &[("RANK", "-1"), ("WORLD_SIZE", "2")], "RANK is `-1`");
    refused(None, &[("RANK", "0"), ("WORLD_SIZE", "0")], "it has to be less");
    refused(Some(0), &[("JOB_COMPLETION_INDEX", "0")], "it has to be less");
}
