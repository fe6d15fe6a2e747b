//! The limits of the model of many ranks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_profile::{Cluster, Dealing, EpochTime, moved_share};
use std::f64::consts::PI;

const ALL: [Dealing; 3] = [Dealing::OwnCaches, Dealing::Locality, Dealing::Exchange];

/// ImageNet from storage of 10 GB/s, on ranks that keep a part of it.
const CLUSTER: Cluster = Cluster {
    n_images: 1_281_167,
    bytes_per_image: 110e3,
    cpu_seconds_per_image: 3e-3,
    rows_per_rank: 128,
    cache_bytes: 20e9,
    storage_bytes_per_s: 10e9,
    network_bytes_per_s: 10e9,
    cache_bytes_per_s: 100e9,
    cores: 8.0,
};

fn times(cluster: Cluster, dealing: Dealing) -> Vec<EpochTime> {
    let ranks: Vec<u32> = (0..=8).map(|power| 1 << power).collect();
    cluster.epoch_times(&ranks, &[dealing], 5).unwrap()
}

#[test]
fn one_rank_has_nothing_to_deal() {
    for cache_bytes in [0.0, 20e9, 1e12] {
        let cluster = Cluster { cache_bytes, ..CLUSTER };
        let all = cluster.epoch_times(&[1], &ALL, 1).unwrap();
        for time in &all {
            assert_eq!(time.moved_share, 0.0);
            assert_eq!((time.read_share, time.seconds), (all[0].read_share, all[0].seconds));
        }
    }
}

#[test]
fn storage_that_is_the_bound_is_so_for_any_number_of_ranks() {
    let slow = Cluster { storage_bytes_per_s: 1e9, cache_bytes: 0.0, ..CLUSTER };
    for dealing in ALL {
        for time in times(slow, dealing).into_iter().skip(3) {
            let all = slow.n_images as f64 * slow.bytes_per_image;
            assert!((time.seconds - all / 1e9).abs() < 1e-6 * time.seconds, "{time:?}");
            assert_eq!(time.seconds, time.storage_s);
        }
    }
}

#[test]
fn with_infinite_storage_decoding_scales_with_the_ranks() {
    let fast = Cluster {
        storage_bytes_per_s: f64::INFINITY,
        network_bytes_per_s: f64::INFINITY,
        cache_bytes_per_s: f64::INFINITY,
        ..CLUSTER
    };
    for dealing in ALL {
        let times = times(fast, dealing);
        for time in &times {
            let due = times[0].seconds / f64::from(time.ranks);
            assert!((time.seconds - due).abs() < 1e-9 * due, "{time:?}");
            assert_eq!(time.seconds, time.decode_s);
        }
    }
}

#[test]
fn locality_is_what_makes_caches_count() {
    let [own, locality, exchange] = ALL.map(|dealing| times(CLUSTER, dealing));
    for ((own, locality), exchange) in own.iter().zip(&locality).zip(&exchange) {
        assert!(locality.read_share <= own.read_share + 1e-9, "{own:?} {locality:?}");
        assert!(exchange.read_share <= locality.read_share);
        assert!(exchange.seconds <= locality.seconds && locality.seconds <= own.seconds + 1e-9);
    }
    // 256 ranks: a cache that only has samples by chance has almost none.
    let [own, locality, exchange] = [own, locality, exchange].map(|times| times[8]);
    assert!(own.read_share > 0.99 && locality.read_share < 0.036 && exchange.read_share == 0.0);
    let gain = own.storage_s / locality.storage_s;
    assert!((25.0..30.0).contains(&gain), "{gain}");
}

#[test]
fn moved_rows_follow_the_formula() {
    for (ranks, rows) in [(2, 8), (8, 64), (256, 128), (1024, 32)] {
        let spread = (1.0 - 1.0 / f64::from(ranks)).sqrt();
        let due = spread / (2.0 * PI * f64::from(rows)).sqrt();
        assert!((moved_share(ranks, rows, 1.0) - due).abs() < 1e-6);
        // Rows without an owner even out the shares.
        let shares = [0.0, 0.3, 0.9, 1.0].map(|owned| moved_share(ranks, rows, owned));
        assert!(shares.is_sorted() && shares[0] == 0.0, "{shares:?}");
    }
    assert!(moved_share(256, 128, 0.5) < 1e-6);
    assert_eq!(moved_share(1, 128, 1.0), 0.0);
}

#[test]
fn results_are_documents() {
    let cluster = Cluster { network_bytes_per_s: f64::INFINITY, ..CLUSTER };
    let text = serde_json::to_string(&cluster).unwrap();
    assert_eq!(serde_json::from_str::<Cluster>(&text).unwrap(), cluster);
    let times = cluster.epoch_times(&[1, 256], &ALL, 2).unwrap();
    let order = times.iter().map(|time| (time.dealing, time.ranks));
    assert!(order.eq(ALL.into_iter().flat_map(|dealing| [(dealing, 1), (dealing, 256)])));
    let text = serde_json::to_string(&times).unwrap();
    assert!(text.contains(r#""dealing":"own-caches""#), "{text}");
    assert_eq!(serde_json::from_str::<Vec<EpochTime>>(&text).unwrap(), times);
}

#[test]
fn impossible_clusters_are_refused() {
    for wrong in [
        Cluster { n_images: 0, ..CLUSTER },
        Cluster { rows_per_rank: 0, ..CLUSTER },
        Cluster { cores: 0.0, ..CLUSTER },
        Cluster { storage_bytes_per_s: 0.0, ..CLUSTER },
        Cluster { network_bytes_per_s: f64::NAN, ..CLUSTER },
        Cluster { cache_bytes: -1.0, ..CLUSTER },
    ] {
        assert!(wrong.epoch_times(&[1], &ALL, 0).is_err(), "{wrong:?}");
    }
    assert!(CLUSTER.epoch_times(&[1, 0], &ALL, 0).is_err());
}
