//! The exact sampler against images of the original renderer, and its fast paths against the
//! plain one.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use fdconvert_core::Pixels;
use fdconvert_fractal::{
    Bitmap, Draw, ExactLevel, ExactSampler, ExactScratch, Flip, Frame, MersenneTwister, NO_WEIGHTS,
    Search, System, Weights, weights,
};
use fdconvert_testkit::fixtures;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// Seed of Python's `random` for the recorded patches.
const PYTHON_SEED: u32 = 7;

/// Categories of the published `csv_rate0.2_category1000`, as in its files.
const CATEGORY_0: &str = "\
1.724223243171234543e-01,-7.311756060787280020e-01,-2.966728035091932281e-01,-2.777660563660040438e-01,6.115739281576646480e-01,-2.019335022650967648e-01,1.414134307013419356e-01
-8.583735610481224576e-02,-8.433762024767534893e-01,-1.914439158840750554e-01,6.115559153715470764e-01,4.009955062511278978e-01,4.643911401924800675e-01,1.142538778724129234e-01
-9.665240573106153033e-01,8.803925216502284101e-02,7.654360019967436646e-01,5.156383970885065615e-01,8.147617620237412872e-02,7.518914152263203032e-01,3.021257278333024376e-01
-6.303750398147720535e-01,3.247544574309448873e-01,-7.013752411711078327e-01,-8.967908458619968659e-01,-5.346410910546133266e-01,7.107352504421564632e-01,4.235195585540745822e-01
-5.797108324242954414e-01,-2.311754517786339669e-01,4.521610635677510981e-01,2.406766531975532697e-01,-1.300896372526509914e-01,8.479989530155638278e-01,1.868740503886824611e-02
";
const CATEGORY_2: &str = "\
5.837848063254049702e-01,5.710404955054340093e-01,7.431312327013381847e-01,-5.511572939835394092e-01,-6.844673029160008859e-02,6.882748449569975335e-02,6.392281307787082145e-01
6.977003265133947529e-01,-5.440939903470098926e-02,-2.932283806845803475e-02,-6.012640439817884541e-01,3.581232498435951150e-01,-3.860114230278139935e-01,3.607718692212917855e-01
";
const CATEGORY_120: &str = "\
-7.885083391950855614e-01,5.905799908078084304e-01,2.788147930212172554e-01,6.461159664679745340e-01,-3.260451686122278758e-01,5.978735553197902508e-01,5.574147170993851708e-01
-2.278783946443654340e-01,8.883753924101931432e-01,6.453952012718444653e-01,-1.671777887250012196e-01,-7.925285554786178910e-01,-8.590925457489162476e-02,4.425852829006148292e-01
";
const CATEGORY_500: &str = "\
-8.807816122393192781e-01,-2.655039551109108498e-01,4.751868369068292797e-01,-2.362148965867274519e-01,-2.891771647590213323e-01,2.724918906832867194e-01,1.688233618024134741e-01
-9.709949685183445478e-01,-9.259218636165664762e-01,1.596582105806265695e-01,9.411483204098851640e-01,-3.142364658000280642e-01,-6.494906909317292865e-01,3.869392238720644750e-01
2.644879258014594114e-01,-4.735394858478685354e-01,6.836160265117705581e-01,7.794146170620399605e-01,8.340235077686257714e-01,-2.361649159617644766e-01,2.676506183827928043e-01
5.468936497829548493e-01,-4.037100335400365392e-01,6.594451347078833514e-02,5.905434159428271101e-01,-5.868548585905750681e-01,-1.567711496294019735e-01,1.765867959427292744e-01
";

fn system(csv: &str) -> System {
    let (mut maps, mut probabilities) = (Vec::new(), Vec::new());
    for line in csv.lines() {
        let row: Vec<f64> = line.split(',').map(|value| value.trim().parse().unwrap()).collect();
        let [map @ .., probability] = <[f64; 7]>::try_from(row).unwrap();
        maps.push(map);
        probabilities.push(probability);
    }
    System::new(maps, probabilities).unwrap()
}

fn frame(size: u32, points: u32) -> Frame {
    Frame::new(size, Frame::DEFAULT_PAD, points).unwrap()
}

fn hash(pixels: &Pixels) -> String {
    Sha256::digest(&pixels.data).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Draws the original's image by every available path; all must agree.
fn render(sampler: &ExactSampler, system: &System, draw: Draw) -> Pixels {
    let image = sampler.render(system, draw, &mut MersenneTwister::python(PYTHON_SEED));
    match draw {
        Draw::PointGray => {
            for level in ExactLevel::available() {
                let coverage = coverage(sampler, level, system, &[NO_WEIGHTS]);
                assert_eq!(turned(&coverage[0]).to_gray(127), image, "{level:?}");
            }
        }
        Draw::PointColor => {
            assert_eq!(sampler.owners(system).point_color(Flip::Flip0), image);
        }
        _ => (),
    }
    image
}

fn coverage(
    sampler: &ExactSampler,
    level: ExactLevel,
    system: &System,
    weights: &[Weights],
) -> Vec<Bitmap> {
    let mut out = Vec::new();
    let sampler = sampler.clone().with_level(level);
    sampler.coverage(system, weights, &mut out, &mut ExactScratch::default());
    out
}

fn turned(bitmap: &Bitmap) -> Bitmap {
    let mut turned = bitmap.clone();
    bitmap.flip_into(Flip::Flip0, &mut turned);
    turned
}

/// Checks every level, with all weights at once, against the plain path.
fn check_levels(sampler: &ExactSampler, system: &System, weights: &[Weights]) {
    let mut masks = MersenneTwister::python(PYTHON_SEED);
    let plain: Vec<Pixels> = weights
        .iter()
        .map(|weights| sampler.render(&system.weighted(weights), Draw::PointGray, &mut masks))
        .collect();
    for level in ExactLevel::available() {
        let coverage = coverage(sampler, level, system, weights);
        assert_eq!(coverage.len(), plain.len());
        for (row, (bitmap, plain)) in coverage.iter().zip(&plain).enumerate() {
            assert!(turned(bitmap).to_gray(127) == *plain, "{level:?}, row {row} of {system:?}");
        }
    }
}

#[test]
fn images_of_the_original() {
    let cases = [
        (
            CATEGORY_2,
            None,
            Draw::PointGray,
            "2b3c8ce965eff132248968457e11df49ccbd783cabb223b06e13371b6640844d",
        ),
        (
            CATEGORY_120,
            Some(0),
            Draw::PointGray,
            "a9da181795e24fb04412a8cb20927165d155c7e341438946312adb3f065dd9a7",
        ),
        // Overflows: infinities, then NaN.
        (
            CATEGORY_120,
            Some(4),
            Draw::PointGray,
            "2f75c06dc8bc7c7a18a8ac013d0337bc5f49b37ac018ae1a6fbcc6713994f6ba",
        ),
        (
            CATEGORY_0,
            None,
            Draw::PointColor,
            "a707d90c7088734cb3d5b6e21fb1c283648fe7d0be9270c1957ff84ccb6abb15",
        ),
        (
            CATEGORY_500,
            None,
            Draw::PatchColor,
            "fe26f36f8538c6366b946de755ea0c0c1007c50f90a02745be1710ba836e107b",
        ),
    ];
    let sampler = ExactSampler::new(frame(256, 100_000));
    for (csv, row, draw, recorded) in cases {
        let weights = row.map_or(NO_WEIGHTS, |row: usize| weights(0.4)[row]);
        let image = render(&sampler, &system(csv).weighted(&weights), draw);
        assert_eq!(hash(&image), recorded, "{draw:?}, row {row:?} of\n{csv}");
    }
}

/// Compares all recorded images of the original, of categories that the search finds.
#[test]
fn recorded_images_of_the_original() {
    let mut search = Search::new(Search::PUBLISHED_SEED, Search::PUBLISHED_RATE).unwrap();
    search.run(1000, &mut |_| true).unwrap();
    let images = fixtures::table("fractaldb/originals.csv");
    assert_eq!(images.len(), 64);
    for image in images {
        let number = |at: usize| image[at].parse::<u32>().unwrap();
        let system = &search.found()[number(0) as usize];
        let row = (!image[1].is_empty()).then(|| number(1) as usize);
        let system = system.weighted(&row.map_or(NO_WEIGHTS, |row| weights(0.4)[row]));
        let sampler = ExactSampler::new(frame(number(3), number(2)));
        let draw = Draw::from_name(&image[4]).unwrap();
        assert_eq!(hash(&render(&sampler, &system, draw)), image[5], "{image:?}");
    }
}

#[test]
fn levels_agree_on_all_weights_of_categories() {
    for csv in [CATEGORY_0, CATEGORY_2, CATEGORY_120, CATEGORY_500] {
        for (size, points) in [(362, 20_000), (64, 5_000), (127, 5_001)] {
            check_levels(&ExactSampler::new(frame(size, points)), &system(csv), &weights(0.4));
        }
    }
}

/// Any number of rows, with buffers left over from other calls.
#[test]
fn any_number_of_rows() {
    let sampler = ExactSampler::new(frame(50, 3_000));
    let (small, mut out, mut scratch) =
        (ExactSampler::new(frame(13, 128)), Vec::new(), ExactScratch::default());
    let system = system(CATEGORY_120);
    let rows: Vec<Weights> = weights(0.4).into_iter().chain(weights(0.1)).collect();
    for level in ExactLevel::available() {
        let (sampler, small) = (sampler.clone().with_level(level), small.clone().with_level(level));
        for n_rows in (0..=rows.len()).rev() {
            sampler.coverage(&system, &rows[..n_rows], &mut out, &mut scratch);
            assert_eq!(out.len(), n_rows);
            for (weights, bitmap) in rows.iter().zip(&out) {
                let owners = sampler.owners(&system.weighted(weights));
                assert!(owners.coverage() == *bitmap, "{level:?}, {n_rows} rows");
            }
            small.coverage(&system, &rows[..n_rows], &mut out, &mut scratch);
            assert!(out.iter().all(|bitmap| bitmap.width() == 13), "{level:?}, {n_rows} rows");
        }
    }
}

/// Points on the borders of pixels, where a reciprocal and a division differ.
#[test]
fn points_between_pixels() {
    let halves = [0.0, 0.5].map(|e| [0.0, 0.5].map(|f| [0.5, 0.0, 0.0, 0.5, e, f]));
    let thirds = [0.0, 2.0 / 3.0].map(|e| [1.0 / 3.0, 0.0, 0.0, 1.0 / 3.0, e, 0.1 * e]);
    let rotation = [0.0, -1.0, 1.0, 0.0, 1.0, 0.0];
    let systems = [
        System::new(halves.concat(), vec![0.25; 4]),
        System::new(thirds.to_vec(), vec![0.5; 2]),
        System::new(vec![rotation, [1.0, 0.0, 0.0, 1.0, 1.0, 3.0]], vec![0.99, 0.01]),
        System::new(vec![[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]], vec![1.0]),
    ];
    for system in systems {
        let system = system.unwrap();
        for size in [13, 64, 76, 140] {
            check_levels(&ExactSampler::new(frame(size, 4_096)), &system, &weights(0.1));
        }
    }
}

/// Magnitudes near both ends of the range of doubles.
#[test]
fn points_of_any_magnitude() {
    let csv = system(CATEGORY_2);
    for exponent in [-1074, -1050, -1025, -1000, -300, 300, 1000, 1021, 1022, 1023] {
        // In two steps, since the factor itself may be subnormal.
        let half = 2.0_f64.powi(exponent / 2);
        let scale = |value: f64| value * half * 2.0_f64.powi(exponent - exponent / 2);
        let maps = csv.maps().iter().map(|&[a, b, c, d, e, f]| [a, b, c, d, scale(e), scale(f)]);
        let system = System::new(maps.collect(), csv.probabilities().to_vec()).unwrap();
        let sampler = ExactSampler::new(Frame::new(99, 4, 3_000).unwrap());
        check_levels(&sampler, &system, &weights(0.2));
        let sampler = ExactSampler::new(Frame::new(9, 4, 300).unwrap());
        check_levels(&sampler, &system, &weights(0.2));
    }
}

#[test]
fn patches_are_coverage_and_coin() {
    for csv in [CATEGORY_0, CATEGORY_2, CATEGORY_120, CATEGORY_500] {
        for (size, points) in [(256, 50_000), (65, 2_000), (13, 128)] {
            let sampler = ExactSampler::new(frame(size, points));
            for weights in [NO_WEIGHTS, weights(0.4)[4]] {
                let system = system(csv).weighted(&weights);
                let masks = || MersenneTwister::python(PYTHON_SEED);
                let coin = coin(&sampler.points(&system), size, masks());
                let owners = sampler.owners(&system);
                let image = sampler.render(&system, Draw::PatchColor, &mut masks());
                assert!(owners.patch_color(&coin, Flip::Flip0) == image, "{size}\n{csv}");
                let gray = sampler.render(&system, Draw::PatchGray, &mut masks());
                assert!(turned(&coin).to_gray(127) == gray, "{size}\n{csv}");
            }
        }
    }
}

/// Returns for each pixel the bit of the last patch that covers it.
fn coin(points: &[(u16, u16)], size: u32, mut masks: MersenneTwister) -> Bitmap {
    let mut lit = vec![false; (size * size) as usize];
    for &(x, y) in points {
        let mask = masks.patch_mask();
        for cell in 0..9 {
            let (x, y) = (u32::from(x) + 1 + cell % 3, u32::from(y) + 1 + cell / 3);
            if x < size && y < size {
                lit[(y * size + x) as usize] = mask >> (8 - cell) & 1 == 1;
            }
        }
    }
    let mut coin = Bitmap::new(size, size);
    for pixel in (0..size * size).filter(|&pixel| lit[pixel as usize]) {
        coin.set(pixel % size, pixel / size);
    }
    coin
}

#[test]
fn flips_turn_the_colours() {
    let sampler = ExactSampler::new(frame(65, 2_000));
    let owners = sampler.owners(&system(CATEGORY_0));
    let pixel = |image: &Pixels, x: usize, y: usize| image.data[3 * (65 * y + x)..][..3].to_vec();
    let upright = owners.point_color(Flip::Flip1);
    for flip in Flip::ALL {
        let image = owners.point_color(flip);
        for (x, y) in (0..65).flat_map(|y| (0..65).map(move |x| (x, y))) {
            let from_x = if flip.left_right() { 64 - x } else { x };
            let from_y = if flip.top_bottom() { 64 - y } else { y };
            assert_eq!(pixel(&image, x, y), pixel(&upright, from_x, from_y), "{flip:?}");
        }
    }
}

/// Mostly usual values, and some that categories should not have.
fn value() -> impl Strategy<Value = f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1e-320,
        1e-300,
        1e300,
        -1e300,
        1e150,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    prop_oneof![12 => -1.0..1.0, 2 => -3.0..3.0, 1 => prop::sample::select(special.to_vec())]
}

fn any_system() -> impl Strategy<Value = System> {
    let map = prop::array::uniform6(value());
    let probability = prop_oneof![8 => 0.0..0.6, 1 => Just(0.0), 1 => value()];
    let tamed = prop::bool::ANY;
    (prop::collection::vec((map, probability), 1..=8), tamed).prop_map(|(rows, tamed)| {
        let (mut maps, probabilities): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        if tamed {
            // Otherwise hardly any orbit stays finite.
            let tame =
                |value: &mut f64| *value = if value.abs() <= 3.0 { *value * 0.4 } else { 0.1 };
            maps.iter_mut().flatten().for_each(tame);
        }
        System::new(maps, probabilities).unwrap()
    })
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let pad = prop_oneof![Just(4_u32), Just(6), 4..40_u32];
    let inner = prop_oneof![1..4_u32, 1..150_u32];
    let frame = |(pad, inner, points)| Frame::new(2 * pad + inner, pad, points).unwrap();
    (pad, inner, 128..2_000_u32).prop_map(frame)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn levels_agree_on_any_system(
        system in any_system(),
        frame in any_frame(),
        rows in prop::collection::vec(prop::array::uniform6(value()), 0..12),
    ) {
        let sampler = ExactSampler::new(frame);
        let rows: Vec<Weights> = weights(0.4).into_iter().chain(rows).collect();
        check_levels(&sampler, &system, &rows);
        let mut masks = MersenneTwister::python(PYTHON_SEED);
        for draw in Draw::ALL {
            let image = sampler.render(&system, draw, &mut masks);
            prop_assert_eq!(image.channels, if draw.is_color() { 3 } else { 1 });
        }
        let owners = sampler.owners(&system);
        let image = sampler.render(&system, Draw::PointColor, &mut masks);
        prop_assert!(owners.point_color(Flip::Flip0) == image);
        let image = owners.patch_color(&owners.coverage(), Flip::Flip3);
        prop_assert_eq!(image.data.len(), 3 * (frame.size() * frame.size()) as usize);
    }
}
