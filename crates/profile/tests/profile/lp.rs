//! The linear program against every mixture on a grid, and against the closed form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_profile::{
    Cost, Machine, Model,
    research::{MAX_FORMATS, Resource, Space, best_mixture, resources},
};
use proptest::prelude::*;
use std::slice::from_ref;

fn seconds(resource: &Resource, shares: &[f64]) -> f64 {
    resource.per_image.iter().zip(shares).map(|(units, share)| units * share).sum::<f64>()
        / resource.capacity
}

fn busiest(resources: &[Resource], shares: &[f64]) -> f64 {
    resources.iter().map(|resource| seconds(resource, shares)).fold(0.0, f64::max)
}

fn mean_bytes(space: &Space, shares: &[f64]) -> f64 {
    space.bytes_per_image.iter().zip(shares).map(|(bytes, share)| bytes * share).sum()
}

/// Returns every way to split `steps` parts among the formats.
fn grid(n_formats: usize, steps: u32) -> Vec<Vec<f64>> {
    fn extend(left: u32, n_left: usize, part: &mut Vec<f64>, steps: u32, all: &mut Vec<Vec<f64>>) {
        if n_left == 1 {
            part.push(f64::from(left) / f64::from(steps));
            all.push(part.clone());
            part.pop();
            return;
        }
        for taken in 0..=left {
            part.push(f64::from(taken) / f64::from(steps));
            extend(left - taken, n_left - 1, part, steps, all);
            part.pop();
        }
    }
    let mut all = Vec::new();
    extend(steps, n_formats, &mut Vec::new(), steps, &mut all);
    all
}

fn any_resources(n_formats: usize) -> impl Strategy<Value = Vec<Resource>> {
    let per_image = prop::collection::vec(0.0..10.0f64, n_formats);
    let resource = (0.1..10.0f64, per_image).prop_map(|(capacity, per_image)| Resource {
        name: "any".into(),
        capacity,
        per_image,
    });
    prop::collection::vec(resource, 1..=3)
}

fn any_problem() -> impl Strategy<Value = (Vec<Resource>, Option<Space>)> {
    (1..=4_usize).prop_flat_map(|n_formats| {
        let bytes = prop::collection::vec(1.0..10.0f64, n_formats);
        let space = (bytes, 1.0..10.0f64)
            .prop_map(|(bytes_per_image, limit)| Space { bytes_per_image, limit });
        (any_resources(n_formats), prop::option::of(space))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn vertex_is_as_good_as_the_best_of_a_grid((resources, space) in any_problem()) {
        const STEPS: u32 = 24;
        let n_formats = resources[0].per_image.len();
        let fits = |shares: &Vec<f64>| {
            space.as_ref().is_none_or(|space| mean_bytes(space, shares) <= space.limit)
        };
        let least = grid(n_formats, STEPS).into_iter().filter(fits)
            .map(|shares| busiest(&resources, &shares)).fold(f64::INFINITY, f64::min);
        let Ok(mixture) = best_mixture(&resources, space.as_ref()) else {
            prop_assert!(least.is_infinite(), "a mixture on the grid fits");
            return Ok(());
        };
        let z = busiest(&resources, &mixture.shares);
        prop_assert!((mixture.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(mixture.shares.iter().all(|share| *share >= 0.0));
        if let Some(space) = &space {
            prop_assert!(mean_bytes(space, &mixture.shares) <= space.limit * (1.0 + 1e-6));
        }
        prop_assert!(z <= least * (1.0 + 1e-6), "{z} > {least}");
        if space.is_none() {
            // The best mixture is within one step of a point of the grid in every share.
            let steepest = resources.iter()
                .flat_map(|r| r.per_image.iter().map(move |units| units / r.capacity))
                .fold(0.0, f64::max);
            let step = n_formats as f64 / f64::from(STEPS);
            prop_assert!(z >= least - steepest * step, "{z} is too good for {least}");
        }
        let used = mixture.shares.iter().filter(|share| **share > 0.0).count();
        prop_assert!(used <= resources.len() + usize::from(space.is_some()) + 1);
        prop_assert!(!mixture.binding.is_empty() || z == 0.0);
    }

    #[test]
    fn two_formats_are_the_closed_form(
        bytes in (1e3..1e7f64, 1e3..1e7f64),
        seconds in (1e-5..0.1f64, 1e-5..0.1f64),
        bandwidth in 1e6..1e10f64,
        cores in 0.5..64.0f64,
        cache in 0.0..2e10f64,
    ) {
        let encoded = Cost { bytes_per_image: bytes.0, cpu_seconds_per_image: seconds.0 };
        let raw = Cost { bytes_per_image: bytes.1, cpu_seconds_per_image: seconds.1 };
        let machine =
            Machine { read_bytes_per_s: bandwidth, effective_cores: cores, cache_bytes: cache, consumer_images_per_s: None };
        let best = Model::new(encoded, raw, machine, 1000).unwrap().solve().optimum;
        let mixture = best_mixture(&resources(&[encoded, raw], &machine, 1000), None).unwrap();
        let known = best.throughput.images_per_s();
        prop_assert!((mixture.images_per_s - known).abs() <= 1e-6 * known);
        prop_assert!((mixture.shares[1] - best.share).abs() < 1e-6);
    }
}

fn resource(name: &str, capacity: f64, per_image: &[f64]) -> Resource {
    Resource { name: name.into(), capacity, per_image: per_image.to_vec() }
}

#[test]
fn three_formats_on_three_resources() {
    // Encoded, raw, and one that the GPU decodes: each is limited by another resource.
    let resources = [
        resource("disk", 1.0, &[1.0, 4.0, 1.0]),
        resource("CPU", 1.0, &[4.0, 0.0, 0.0]),
        resource("GPU", 1.0, &[0.0, 0.0, 4.0]),
    ];
    let mixture = best_mixture(&resources, None).unwrap();
    // r0 + 4 r1 + r2 = 4 r0 = 4 r2 and r0 + r1 + r2 = 1: 2/5, 1/5, 2/5.
    for (share, expected) in mixture.shares.iter().zip([0.4, 0.2, 0.4]) {
        assert!((share - expected).abs() < 1e-9, "{mixture:?}");
    }
    assert!((mixture.images_per_s - 1.0 / 1.6).abs() < 1e-9);
    assert_eq!(mixture.binding, [0, 1, 2]);

    // Room for a mean of 1.3 bytes: a tenth of the images may be raw.
    let space = Space { bytes_per_image: vec![1.0, 4.0, 1.0], limit: 1.3 };
    let mixture = best_mixture(&resources, Some(&space)).unwrap();
    assert!((mixture.shares[1] - 0.1).abs() < 1e-9, "{mixture:?}");
    assert_eq!(mixture.binding, [1, 2]);
}

#[test]
fn wrong_problems_are_refused() {
    let disk = resource("disk", 1.0, &[1.0, 2.0]);
    let check = |resources: &[Resource], space: Option<&Space>, part: &str| {
        let error = best_mixture(resources, space).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    check(&[], None, "0 formats");
    check(&[resource("disk", 1.0, &[1.0; MAX_FORMATS + 1])], None, "formats");
    check(&[disk.clone(), resource("CPU", 1.0, &[1.0])], None, "CPU: ");
    check(&[resource("CPU", 0.0, &[1.0])], None, "CPU: ");
    let space = |bytes: &[f64], limit| Space { bytes_per_image: bytes.to_vec(), limit };
    check(from_ref(&disk), Some(&space(&[1.0], 1.0)), "space: ");
    check(from_ref(&disk), Some(&space(&[2.0, 3.0], 1.0)), "more than there is room for");
    // No resource is needed.
    let free = best_mixture(&[resource("disk", 1.0, &[0.0, 1.0])], None).unwrap();
    assert_eq!((free.shares, free.images_per_s), (vec![1.0, 0.0], f64::INFINITY));
}
