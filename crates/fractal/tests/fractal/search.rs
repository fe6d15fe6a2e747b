//! The search finds FractalDB's categories, bit for bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_core::Error;
use fdconvert_fractal::{Category, Search, Shape, System};
use fdconvert_testkit::{compare::sha256, fixtures};
use xxhash_rust::xxh3::xxh3_128;

/// Hash of the concatenated files of the first 20 categories.
const FIRST_20: u128 = 0x1c13_920b_2163_492d_075d_1f30_01b5_2b27;

/// Hash of the concatenated files of the first 1000 categories.
const FIRST_1000: u128 = 0xe625_677f_6250_65cd_b6c7_b5aa_7546_4a3b;

fn text(system: &System) -> String {
    Category { name: String::new(), shape: Shape::Ifs(system.clone()) }.to_csv()
}

fn hash(systems: &[System]) -> u128 {
    xxh3_128(systems.iter().map(text).collect::<String>().as_bytes())
}

/// Compares with the hashes of published files of these numbers and returns their count.
fn compare_with_published(systems: &[System]) -> usize {
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    let mut compared = 0;
    for row in fixtures::table("fractaldb/published.csv") {
        let Some(system) = systems.get(row[0].parse::<usize>().unwrap()) else { continue };
        let text = text(system);
        assert_eq!(sha256(text.as_bytes()), row[1], "category {}", row[0]);
        std::fs::write(file.path(), text).unwrap();
        assert_eq!(Category::read(file.path()).unwrap().shape, Shape::Ifs(system.clone()));
        compared += 1;
    }
    compared
}

#[test]
fn the_first_twenty_by_looking_at_every_candidate() {
    let mut search = Search::new(Search::PUBLISHED_SEED, Search::PUBLISHED_RATE).unwrap();
    search.run_in_full(20, &mut |_| true).unwrap();
    assert_eq!((search.found().len(), search.tried()), (20, 653));
    assert_eq!(hash(search.found()), FIRST_20, "{:#x}", hash(search.found()));
    assert_eq!(compare_with_published(search.found()), 6);
}

#[test]
fn a_thousand_by_their_numbers() {
    let mut search = Search::new(1, 0.2).unwrap();
    let mut seen = 0;
    search
        .run(1000, &mut |n_found| {
            assert!(n_found >= seen);
            seen = n_found;
            true
        })
        .unwrap();
    assert_eq!((search.found().len(), search.tried()), (1000, 42_655));
    assert_eq!(hash(search.found()), FIRST_1000, "{:#x}", hash(search.found()));
    assert_eq!(compare_with_published(search.found()), 20);
}

#[test]
#[ignore = "a minute; tries all 42,655 candidates"]
fn the_published_thousand() {
    let mut search = Search::new(1, 0.2).unwrap();
    search.run_in_full(1000, &mut |_| true).unwrap();
    assert_eq!(search.tried(), 42_655);
    assert_eq!(hash(search.found()), FIRST_1000);
}

#[test]
fn a_search_continues_where_it_stopped() {
    let mut whole = Search::new(1, 0.2).unwrap();
    whole.run(12, &mut |_| true).unwrap();
    let mut parts = Search::new(1, 0.2).unwrap();
    for classes in [1, 2, 7, 7, 12] {
        // Both paths leave the stream at the same place.
        if classes % 2 == 0 {
            parts.run(classes, &mut |_| true).unwrap();
        } else {
            parts.run_in_full(classes, &mut |_| true).unwrap();
        }
        assert_eq!(parts.found().len(), classes);
    }
    assert_eq!((parts.found(), parts.tried()), (whole.found(), whole.tried()));
}

#[test]
fn other_seeds_and_rates_find_other_categories() {
    let found = |seed, rate| {
        let mut search = Search::new(seed, rate).unwrap();
        search.run(3, &mut |_| true).unwrap();
        (search.found().to_vec(), search.tried())
    };
    assert_ne!(found(2, 0.2).0, found(1, 0.2).0);
    let (all, tried) = found(1, 0.0);
    assert_eq!((all.len(), tried), (3, 3), "every candidate fills a share of 0");
    assert!(found(1, 0.1).1 < found(1, 0.2).1);
}

#[test]
fn impossible_rates_and_stops_are_said() {
    for rate in [-0.1, 0.5, f64::NAN] {
        assert!(matches!(Search::new(1, rate), Err(Error::Usage { .. })), "{rate}");
    }
    let mut search = Search::new(1, 0.2).unwrap();
    assert!(matches!(search.run(1000, &mut |n| n < 5), Err(Error::Cancelled)));
    assert!(search.found().len() < 1000);
}
