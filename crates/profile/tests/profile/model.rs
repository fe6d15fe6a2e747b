//! The closed form against a sweep, and edge cases.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_profile::{
    Binding, Cost, GAIN, Machine, Model, SLACK, Verdict,
    research::{fixed_point, paper_search},
    sweep,
};
use proptest::prelude::*;

fn cost(bytes_per_image: f64, cpu_seconds_per_image: f64) -> Cost {
    Cost { bytes_per_image, cpu_seconds_per_image }
}

fn machine(read_bytes_per_s: f64, effective_cores: f64, cache_bytes: f64) -> Machine {
    Machine { read_bytes_per_s, effective_cores, cache_bytes, consumer_images_per_s: None }
}

/// Photographs as PNG and BMP, 1000 of them.
fn photos(machine: Machine) -> Model {
    Model::new(cost(600e3, 10e-3), cost(1200e3, 0.5e-3), machine, 1000).unwrap()
}

/// Any costs: the raw form may be smaller, slower, both, or free.
fn any_cost() -> impl Strategy<Value = Cost> {
    let bytes = prop_oneof![1 => Just(0.0), 20 => 2.0..7.0f64].prop_map(power);
    let seconds = prop_oneof![1 => Just(0.0), 20 => -6.0..-1.0f64].prop_map(power);
    (bytes, seconds).prop_map(|(bytes, seconds)| cost(bytes, seconds))
}

fn any_model() -> impl Strategy<Value = Model> {
    let cache = prop_oneof![Just(None), (-2.0..0.5f64).prop_map(Some)];
    // From a thousandth of the machine's capacity to ten times as much.
    let consumer = prop_oneof![Just(None), (-3.0..1.0f64).prop_map(Some)];
    let costs = (any_cost(), any_cost());
    (costs, 6.0..10.5f64, 0.5..128.0f64, cache, consumer, 1..10_000_000_u64).prop_map(
        |((encoded, raw), bandwidth, cores, cache, consumer, n_images)| {
            // From a hundredth of the larger form to three times as much.
            let largest = encoded.bytes_per_image.max(raw.bytes_per_image) * n_images as f64;
            let cache = cache.map_or(0.0, |log| largest * power(log));
            let model = |machine| Model::new(encoded, raw, machine, n_images).unwrap();
            let machine = machine(power(bandwidth), cores, cache);
            let free = model(machine);
            let best = free.solve().optimum.throughput.images_per_s();
            let consumer_images_per_s =
                consumer.filter(|_| best.is_finite()).map(|log| best * power(log));
            model(Machine { consumer_images_per_s, ..machine })
        },
    )
}

/// Costs with larger and faster raw images, which the search of the paper requires.
fn trading_model() -> impl Strategy<Value = Model> {
    any_model().prop_filter_map("the forms are equal", |model| {
        let (a, b) = (model.encoded(), model.raw());
        let (a_bytes, b_bytes) = (a.bytes_per_image, b.bytes_per_image);
        let (a_cpu, b_cpu) = (a.cpu_seconds_per_image, b.cpu_seconds_per_image);
        let encoded = cost(a_bytes.min(b_bytes), a_cpu.max(b_cpu));
        let raw = cost(a_bytes.max(b_bytes), a_cpu.min(b_cpu));
        let machine = Machine { consumer_images_per_s: None, ..model.machine() };
        let model = Model::new(encoded, raw, machine, model.n_images()).unwrap();
        model.trades().then_some(model)
    })
}

fn power(log: f64) -> f64 {
    if log == 0.0 { 0.0 } else { 10.0_f64.powf(log) }
}

/// Equal except for rounding, including infinities.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

fn images_per_s(model: &Model, share: f64) -> f64 {
    model.throughput(share).images_per_s()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn closed_form_is_the_optimum_of_a_fine_sweep(model in any_model()) {
        let solution = model.solve();
        let best = solution.optimum.throughput.images_per_s();
        let swept = sweep(&model, 2000);
        let most = swept.iter().map(|c| c.throughput.images_per_s()).fold(0.0, f64::max);
        prop_assert!(best >= most || close(best, most), "{best} < {most}: {solution:?}");
        // Between two steps nothing is much better, as seconds per image are convex and the best
        // step is next to the best share.
        let nearest = (solution.optimum.share * 2000.0).round() / 2000.0;
        let steps = [nearest - 0.0005, nearest, nearest + 0.0005].map(|share| share.clamp(0.0, 1.0));
        let around = steps.map(|share| images_per_s(&model, share)).into_iter().fold(0.0, f64::max);
        prop_assert!(close(around, most), "{around} {most}: {solution:?}");

        let cheapest = solution.cheapest;
        let kept = cheapest.throughput.images_per_s();
        prop_assert!(kept >= best * (1.0 - SLACK) * (1.0 - 1e-6) || kept == best);
        for choice in &swept {
            let fast = choice.throughput.images_per_s() >= best * (1.0 - SLACK) * (1.0 + 1e-6);
            let smaller = choice.dataset_bytes < cheapest.dataset_bytes * (1.0 - 1e-6);
            prop_assert!(!(fast && smaller), "{choice:?} beats {cheapest:?}");
        }
        prop_assert_eq!(solution.verdict == Verdict::Gain, solution.gain >= GAIN);
        if solution.verdict == Verdict::NoGain {
            prop_assert_eq!(solution.chosen, solution.encoded_only);
        } else {
            prop_assert_eq!(solution.chosen, solution.cheapest);
        }
    }

    #[test]
    fn throughput_is_what_the_formulas_say(model in any_model(), share in 0.0..=1.0f64) {
        let Machine { read_bytes_per_s, effective_cores, .. } = model.machine();
        let (encoded, raw) = (model.encoded(), model.raw());
        let bytes = (1.0 - share) * encoded.bytes_per_image + share * raw.bytes_per_image;
        let seconds =
            (1.0 - share) * encoded.cpu_seconds_per_image + share * raw.cpu_seconds_per_image;
        let cached = model.cached(share);
        prop_assert!((0.0..=1.0).contains(&cached));
        let throughput = model.throughput(share);
        prop_assert!(close(throughput.decoding, effective_cores / seconds));
        // Near a full cache the difference of two nearly equal numbers is noise.
        if cached < 0.999_999 {
            let missed = (1.0 - cached) * bytes;
            let loading = read_bytes_per_s / missed;
            prop_assert!((throughput.loading - loading).abs() <= 1e-4 * loading);
        }
        if cached == 1.0 {
            prop_assert!(throughput.loading.is_infinite() || throughput.loading > 1e12);
        }
    }

    #[test]
    fn paper_search_is_within_a_tenth(model in trading_model()) {
        let search = paper_search(|share| Ok(model.throughput(share))).unwrap();
        prop_assert!(search.measured.len() <= 5, "{search:?}");
        let most = sweep(&model, 10).iter().map(|c| c.throughput.images_per_s()).fold(0.0, f64::max);
        prop_assert_eq!(images_per_s(&model, search.share), most);
        let optimum = model.solve().optimum.share;
        prop_assert!((search.share - optimum).abs() <= 0.1 + 1e-9, "{search:?} {optimum}");
    }

    #[test]
    fn iteration_settles_where_the_closed_form_is(model in trading_model()) {
        if let Some(share) = fixed_point(&model, 200) {
            let (iterated, best) =
                (images_per_s(&model, share), model.solve().optimum.throughput.images_per_s());
            prop_assert!(close(iterated, best), "{iterated} at {share}, {best}");
        } else {
            prop_assert!(model.machine().cache_bytes > 0.0, "without a cache one step is enough");
        }
    }
}

#[test]
fn training_that_takes_no_more_needs_no_more_bmps() {
    let free = photos(machine(500e6, 4.0, 0.0)).solve();
    let of = |rate| {
        let machine = Machine { consumer_images_per_s: Some(rate), ..machine(500e6, 4.0, 0.0) };
        photos(machine).solve()
    };
    // 4 cores decode 400 PNGs a second, and the best mixture reaches 590.
    let slow = of(300.0);
    assert_eq!((slow.verdict, slow.chosen.share), (Verdict::NoGain, 0.0));
    assert_eq!(slow.chosen.throughput.binding(), Binding::Consumer);
    let busy = slow.chosen.throughput.busy();
    assert_eq!((busy.consumer, busy.processors), (1.0, 0.75));
    assert!((busy.disk - 300.0 * 600e3 / 500e6).abs() < 1e-9, "{busy:?}");

    let middle = of(500.0);
    assert_eq!(middle.verdict, Verdict::Gain);
    assert!(middle.chosen.share > 0.0 && middle.chosen.share < free.chosen.share, "{middle:?}");
    assert!(middle.chosen.throughput.images_per_s() >= 500.0 * (1.0 - SLACK) - 1e-6);

    let fast = of(1e6);
    assert_eq!(fast.chosen.share, free.chosen.share);
    assert_eq!(
        fast.optimum.throughput.busy().consumer,
        free.optimum.throughput.images_per_s() / 1e6
    );
}

#[test]
fn crossing_is_where_both_take_equally_long() {
    let model = photos(machine(500e6, 4.0, 0.0));
    let solution = model.solve();
    // 500e6 * 10e-3 - 4 * 600e3 over 4 * 600e3 + 500e6 * 9.5e-3.
    assert!((solution.optimum.share - 2.6e6 / 7.15e6).abs() < 1e-12);
    assert_eq!(solution.optimum.throughput.binding(), Binding::Both);
    assert_eq!(solution.encoded_only.throughput.binding(), Binding::Decoding);
    assert_eq!(solution.raw_only.throughput.binding(), Binding::Loading);
    assert!((solution.gain - 611.11 / 400.0).abs() < 1e-4, "{}", solution.gain);
    assert!(solution.cheapest.share < solution.optimum.share);
    assert_eq!(solution.encoded_only.dataset_bytes, 600e6);
    assert_eq!(solution.raw_only.dataset_bytes, 1200e6);
    assert_eq!(fixed_point(&model, 3).map(|x| close(x, solution.optimum.share)), Some(true));
}

#[test]
fn slow_disk_keeps_everything_encoded_and_fast_one_nothing() {
    let slow = photos(machine(10e6, 4.0, 0.0)).solve();
    assert_eq!((slow.optimum.share, slow.verdict), (0.0, Verdict::NoGain));
    assert_eq!(slow.gain, 1.0);
    let fast = photos(machine(1e12, 4.0, 0.0)).solve();
    assert_eq!((fast.optimum.share, fast.verdict), (1.0, Verdict::Gain));
    assert!((0.99..1.0).contains(&fast.chosen.share), "{:?}", fast.chosen);
}

#[test]
fn small_gain_is_none() {
    // Reading reaches its limit just after decoding does: the crossing is near 0.
    let model = photos(machine(246e6, 4.0, 0.0)).solve();
    assert!(model.optimum.share > 0.0 && model.gain > 1.0 && model.gain < GAIN);
    assert_eq!((model.verdict, model.chosen.share), (Verdict::NoGain, 0.0));
}

#[test]
fn dominated_forms_are_never_used() {
    let machine = machine(500e6, 4.0, 0.0);
    let larger_and_slower = Model::new(cost(1e5, 1e-3), cost(2e5, 2e-3), machine, 10).unwrap();
    assert_eq!(larger_and_slower.solve().optimum.share, 0.0);
    assert_eq!(fixed_point(&larger_and_slower, 3), None);
    let smaller_and_faster = Model::new(cost(2e5, 2e-3), cost(1e5, 1e-3), machine, 10).unwrap();
    assert_eq!(smaller_and_faster.solve().chosen.share, 1.0);
    assert!(!smaller_and_faster.trades() && !larger_and_slower.trades());
    let same = Model::new(cost(2e5, 2e-3), cost(2e5, 2e-3), machine, 10).unwrap().solve();
    assert_eq!((same.optimum.share, same.verdict), (0.0, Verdict::NoGain));
}

#[test]
fn exchanged_roles_are_the_same_mixture() {
    let machine = machine(500e6, 4.0, 0.0);
    let (png, bmp) = (cost(600e3, 10e-3), cost(1200e3, 0.5e-3));
    let there = Model::new(png, bmp, machine, 1000).unwrap().solve();
    let back = Model::new(bmp, png, machine, 1000).unwrap().solve();
    assert!(close(there.optimum.share, 1.0 - back.optimum.share));
    assert!(close(there.cheapest.share, 1.0 - back.cheapest.share));
}

#[test]
fn cache_larger_than_the_dataset_makes_everything_raw() {
    let model = photos(machine(500e6, 4.0, 2e9));
    let solution = model.solve();
    assert_eq!(solution.optimum.share, 1.0);
    assert_eq!(solution.optimum.throughput.loading, f64::INFINITY);
    assert_eq!(solution.optimum.cached, 1.0);
    assert_eq!(solution.optimum.throughput.binding(), Binding::Decoding);
    // One that holds the encoded form only shifts the crossing.
    let part = photos(machine(500e6, 4.0, 600e6)).solve();
    assert_eq!(part.encoded_only.cached, 1.0);
    assert!((part.optimum.share - 5e6 / 7.15e6).abs() < 1e-12);
}

#[test]
fn free_forms_are_unlimited() {
    let machine = machine(500e6, 4.0, 1e9);
    let model = Model::new(cost(600e3, 10e-3), cost(900e3, 0.0), machine, 1000).unwrap();
    let solution = model.solve();
    assert_eq!((solution.optimum.share, solution.gain), (1.0, f64::INFINITY));
    assert_eq!(solution.optimum.throughput.binding(), Binding::Nothing);
    let nothing = Model::new(cost(0.0, 0.0), cost(1.0, 0.0), machine, 1).unwrap().solve();
    assert_eq!((nothing.optimum.share, nothing.verdict), (0.0, Verdict::NoGain));
}

#[test]
fn paper_search_asks_little_and_looks_at_both_neighbours() {
    // The crossing is at 36 %: bisection alone ends at 30 %, 40 % is slower here.
    let model = photos(machine(500e6, 4.0, 0.0));
    let search = paper_search(|share| Ok(model.throughput(share))).unwrap();
    assert_eq!(search.share, 0.4);
    assert!(search.measured.len() <= 5, "{:?}", search.measured);
    let failed = paper_search(|_| Err(fdconvert_core::Error::Cancelled));
    assert!(matches!(failed, Err(fdconvert_core::Error::Cancelled)));
}

#[test]
fn impossible_inputs_are_refused_by_name() {
    let fine = cost(1.0, 1.0);
    let check = |encoded, raw, machine, n_images, part: &str| {
        let error = Model::new(encoded, raw, machine, n_images).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let good = machine(1.0, 1.0, 0.0);
    check(cost(-1.0, 1.0), fine, good, 1, "bytes per image of the encoded format: -1");
    check(fine, cost(1.0, f64::NAN), good, 1, "decode seconds of the raw format: NaN");
    check(fine, fine, machine(0.0, 1.0, 0.0), 1, "read bandwidth: 0");
    check(fine, fine, machine(1.0, f64::INFINITY, 0.0), 1, "effective cores: inf");
    check(fine, fine, machine(1.0, 1.0, -1.0), 1, "cache bytes: -1");
    check(fine, fine, good, 0, "there are no images");
}
