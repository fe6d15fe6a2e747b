//! MixUp and CutMix: batches equal those of a loader without mixing, mixed according to
//! `Batch::blend` by a slow and obvious copy of the loader's in-place code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, list, options};
use fdconvert_core::Value;
use fdconvert_loader::{
    Batch, Blend, Column, DType, Failures, Label, Last, Layout, Loader, Mix, OnError, Options,
    Output, Transform, TransformList, World, parts::Area,
};
use half::{bf16, f16};
use std::sync::Arc;

const BOTH: Mix =
    Mix { mixup: 0.8, cutmix: 1.0, mix_prob: 0.9, switch_prob: 0.5, num_classes: None };

/// Returns transforms to rows with different sides, so that they cannot be confused.
fn shown(dtype: DType, layout: Layout) -> Vec<Transform> {
    let size = [13, 19];
    let mut transforms = vec![Transform::resize(20), Transform::CenterCrop { size }];
    if dtype == DType::F32 {
        transforms.push(Transform::normalize_imagenet());
    }
    transforms.extend([Transform::ToDtype { dtype }, Transform::ToLayout { layout }]);
    transforms
}

/// Returns the transform that mixes in this way.
fn mixer(mix: Mix) -> Transform {
    let Mix { mixup, cutmix, mix_prob, switch_prob, num_classes } = mix;
    let both = [
        Transform::MixUp { alpha: mixup, num_classes },
        Transform::CutMix { alpha: cutmix, num_classes },
    ];
    let mixer = match both {
        [mixup_only, _] if cutmix == 0.0 => mixup_only,
        [_, cutmix_only] if mixup == 0.0 => cutmix_only,
        both => {
            let p = Some(vec![1.0 - switch_prob, switch_prob]);
            Transform::RandomChoice { transforms: both.to_vec(), p }
        }
    };
    Transform::RandomApply { transforms: vec![mixer], p: mix_prob }
}

fn mixing_to(batch: u32, mix: Mix, dtype: DType, layout: Layout) -> Options {
    let mut transforms = shown(dtype, layout);
    transforms.push(mixer(mix));
    options(batch, 16).transform(list(transforms)).seed(3)
}

fn mixing(batch: u32, mix: Mix) -> Options {
    mixing_to(batch, mix, DType::U8, Layout::Nhwc)
}

/// Returns the numbers of the images, row after row.
fn numbers(batch: &Batch) -> Vec<f32> {
    let images = batch.images();
    match batch.shape().dtype {
        DType::U8 => images.iter().map(|byte| f32::from(*byte)).collect(),
        DType::F16 => {
            images.as_chunks().0.iter().map(|it| f16::from_ne_bytes(*it).into()).collect()
        }
        DType::Bf16 => {
            images.as_chunks().0.iter().map(|it| bf16::from_ne_bytes(*it).into()).collect()
        }
        DType::U16 | DType::I16 => Vec::new(),
        DType::F32 => images.as_chunks().0.iter().map(|it| f32::from_ne_bytes(*it)).collect(),
    }
}

fn soft_labels(batch: &Batch) -> Vec<Vec<f32>> {
    let Some(Column::Array { spec, bytes }) = batch.label_column() else { panic!() };
    assert_eq!(spec.dtype, fdconvert_core::DType::F32);
    assert_eq!(spec.shape[0], batch.len() as u64);
    assert_eq!(spec.byte_len(), Some(bytes.len() as u64));
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
    numbers.chunks(spec.shape[1] as usize).map(<[f32]>::to_vec).collect()
}

/// Returns the partner of each row: the valid row before it.
fn partners(valid: &[bool]) -> Vec<Option<usize>> {
    let rows: Vec<usize> = (0..valid.len()).filter(|row| valid[*row]).collect();
    let before = |row: usize| {
        let at = rows.iter().position(|it| *it == row)?;
        (rows.len() > 1).then(|| rows[(at + rows.len() - 1) % rows.len()])
    };
    (0..valid.len()).map(before).collect()
}

/// Returns the column and line of a number in an image.
fn place(output: &Output, number: usize) -> (u32, u32) {
    let pixel = match output.layout {
        Layout::Nhwc => number / 3,
        Layout::Nchw => number % (output.size.0 * output.size.1) as usize,
    } as u32;
    (pixel % output.size.0, pixel / output.size.0)
}

fn is_inside(area: Area, (x, y): (u32, u32)) -> bool {
    (area.x..area.x + area.width).contains(&x) && (area.y..area.y + area.height).contains(&y)
}

/// Compares a mixed batch with the same loader's batch without mixing.
fn check(mixed: &Batch, plain: &Batch, output: &Output) {
    assert_eq!((mixed.samples(), mixed.valid()), (plain.samples(), plain.valid()));
    assert_eq!((mixed.shape(), mixed.state()), (plain.shape(), plain.state()));
    let (found, before) = (numbers(mixed), numbers(plain));
    let labels = plain.labels().unwrap();
    let soft = soft_labels(mixed);
    let row_len = found.len() / mixed.len().max(1);
    for (row, partner) in partners(plain.valid()).into_iter().enumerate() {
        let (own, other) = (row * row_len, partner.unwrap_or(row) * row_len);
        let share = match mixed.blend() {
            Blend::MixUp { lambda } | Blend::CutMix { lambda, .. } if partner.is_some() => lambda,
            _ => 1.0,
        };
        let (own_share, other_share) = (share as f32, (1.0 - share) as f32);
        for at in 0..row_len {
            let (own, other) = (before[own + at], before[other + at]);
            let expected = match mixed.blend() {
                Blend::CutMix { area, .. } if partner.is_some() => {
                    if is_inside(area, place(output, at)) { other } else { own }
                }
                Blend::MixUp { lambda } if partner.is_some() => {
                    let exact = f64::from(own) * lambda + f64::from(other) * (1.0 - lambda);
                    let sum = other * other_share + own * own_share;
                    match output.dtype {
                        DType::U8 => {
                            let found = f64::from(found[row * row_len + at]);
                            assert!((found - exact).abs() < 0.5001, "{found} of {exact}");
                            found as f32
                        }
                        DType::F16 => f16::from_f32(sum).into(),
                        DType::Bf16 => bf16::from_f32(sum).into(),
                        DType::F32 | DType::U16 | DType::I16 => sum,
                    }
                }
                _ => own,
            };
            assert_eq!(found[row * row_len + at], expected, "{at} of row {row}");
        }
        let mut expected = vec![0.0; soft[row].len()];
        let is_filled = plain.valid()[row] || before[own..][..row_len].iter().any(|it| *it != 0.0);
        if let Some(partner) = partner {
            expected[labels[partner] as usize] = other_share;
            expected[labels[row] as usize] += own_share;
        } else if is_filled {
            expected[labels[row] as usize] = 1.0;
        }
        assert_eq!(soft[row], expected, "label of row {row}");
    }
}

/// Compares all batches of the next epoch; returns the numbers of those without mixing, with MixUp
/// and with CutMix.
fn compare(mixed: &mut Loader, plain: &mut Loader) -> [usize; 3] {
    let output = plain.options().views[0].transform.output().unwrap();
    let mut counts = [0; 3];
    while let Some(batch) = mixed.next_batch() {
        let (batch, plain) = (batch.unwrap(), plain.next_batch().unwrap().unwrap());
        check(&batch, &plain, &output);
        counts[match batch.blend() {
            Blend::None => 0,
            Blend::MixUp { .. } => 1,
            Blend::CutMix { .. } => 2,
        }] += 1;
    }
    assert!(plain.next_batch().is_none());
    counts
}

fn compared(reader: &Arc<Memory>, options: &Options) -> [usize; 3] {
    let Output { dtype, layout, .. } = options.views[0].transform.output().unwrap();
    let plain = options.clone().transform(list(shown(dtype, layout)));
    let (mut mixed, mut plain) =
        (common::loader(reader, options.clone()), common::loader(reader, plain));
    let counts = (0..3).map(|_| compare(&mut mixed, &mut plain));
    counts.fold([0; 3], |sum, counts| std::array::from_fn(|way| sum[way] + counts[way]))
}

#[test]
fn rows_are_mixed_with_the_ones_before_them_in_every_form() {
    let reader = Memory::new(50);
    for dtype in [DType::U8, DType::F16, DType::Bf16, DType::F32] {
        for layout in [Layout::Nhwc, Layout::Nchw] {
            let options = mixing_to(7, BOTH, dtype, layout);
            let counts = compared(&reader, &options);
            assert_eq!(counts.iter().sum::<usize>(), 24);
            assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        }
    }
    let only = |mix| compared(&reader, &mixing(5, Mix { mix_prob: 1.0, ..mix }));
    assert_eq!(only(Mix { cutmix: 0.0, ..BOTH }), [0, 30, 0]);
    assert_eq!(only(Mix { mixup: 0.0, ..BOTH }), [0, 0, 30]);
    assert_eq!(only(Mix { switch_prob: 0.0, ..BOTH }), [0, 30, 0]);
    assert_eq!(only(Mix { switch_prob: 1.0, ..BOTH }), [0, 0, 30]);
    assert_eq!(compared(&reader, &mixing(5, Mix { mix_prob: 0.0, ..BOTH })), [30, 0, 0]);
}

#[test]
fn rows_that_are_not_valid_neither_give_nor_take() {
    let always = Mix { mix_prob: 1.0, ..BOTH };
    // 22 samples in batches of 6: a last batch of four rows, and one of a single row.
    for (n_samples, broken) in [(22, vec![0, 3, 4, 11, 21]), (19, vec![7])] {
        let reader = Memory::new(n_samples).broken(&broken);
        for last in [Last::Pad, Last::Short, Last::Drop] {
            for policy in [OnError::Skip, OnError::Substitute] {
                let failures = Failures { on_error: policy, ..Failures::default() };
                compared(&reader, &mixing(6, always).last(last).failures(failures));
            }
        }
    }
    // All but one row of a batch, and all of them.
    for broken in [0..5, 0..6] {
        let reader = Memory::new(6).broken(&broken.collect::<Vec<_>>());
        let failures = Failures { on_error: OnError::Skip, ..Failures::default() };
        compared(&reader, &mixing(6, always).failures(failures));
    }
    // A rank without rows in the last batch.
    let world = World { rank: 3, size: 4 };
    let options = mixing(4, always).world(world).last(Last::Short);
    let batches: Vec<_> = common::loader(&Memory::new(18), options).map(Result::unwrap).collect();
    assert_eq!((batches.len(), batches[1].len()), (2, 0));
    assert_eq!(soft_labels(&batches[1]).len(), 0);
}

fn bytes(loader: &mut Loader) -> Vec<(Vec<u8>, Vec<Vec<f32>>)> {
    let of = |batch: Batch| (batch.images().to_vec(), soft_labels(&batch));
    loader.map(|batch| of(batch.unwrap())).collect()
}

#[test]
fn threads_and_resumes_change_nothing() {
    let reader = Memory::new(61);
    let with = |threads, fetch_threads, prefetch| {
        let options =
            mixing(7, BOTH).threads(threads).fetch_threads(fetch_threads).prefetch(prefetch);
        common::loader(&reader, options)
    };
    let mut first = with(1, 0, 3);
    let (expected, second) = (bytes(&mut first), bytes(&mut first));
    assert_eq!(expected.len(), 9);
    assert_ne!(expected, second);
    for (threads, fetch_threads, prefetch) in [(2, 0, 1), (4, 0, 3), (4, 3, 8)] {
        let mut loader = with(threads, fetch_threads, prefetch);
        assert_eq!(bytes(&mut loader), expected);
        assert_eq!(bytes(&mut loader), second);
    }
    for n_batches in [1, 4, 8] {
        let mut begun = with(2, 0, 3);
        for _ in 0..n_batches {
            begun.next_batch().unwrap().unwrap();
        }
        let mut resumed = with(3, 0, 2);
        resumed.restore(&begun.state()).unwrap();
        assert_eq!(bytes(&mut resumed), expected[n_batches..]);
    }
    // Kept images are mixed in the batches, not in the cache.
    let cached = mixing(7, BOTH).cache_bytes(1 << 20);
    assert!(compared(&reader, &cached).iter().all(|count| *count > 0));
}

#[test]
fn ranks_draw_alike() {
    let reader = Memory::new(64);
    let blends = |rank| {
        let options = mixing(4, BOTH).world(World { rank, size: 2 });
        let loader = common::loader(&reader, options);
        loader.map(|batch| batch.unwrap().blend()).collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..8).map(|step| BOTH.draw(3, 0, step, (19, 13))).collect();
    assert_eq!((blends(0), blends(1)), (expected.clone(), expected));
}

/// Returns the shares drawn for `n_steps` with a single method.
fn shares(alpha: f64, n_steps: u64) -> Vec<f64> {
    let mix = Mix { mixup: alpha, ..Mix::default() };
    let share = |step| match mix.draw(1, 2, step, (8, 8)) {
        Blend::MixUp { lambda } => lambda,
        other => panic!("{other:?}"),
    };
    (0..n_steps).map(share).collect()
}

#[test]
fn shares_have_the_beta_distribution() {
    const N: u64 = 200_000;
    for alpha in [0.05, 0.2, 0.5, 0.8, 1.0, 1.7, 4.0, 50.0, 1e6] {
        let shares = shares(alpha, N);
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        let moment = |power| {
            shares.iter().map(|share| f64::powi(share - 0.5, power)).sum::<f64>() / N as f64
        };
        let variance = 1.0 / (4.0 * (2.0 * alpha + 1.0));
        let fourth = variance * variance * (3.0 - 6.0 / (2.0 * alpha + 3.0));
        let eighth_root = variance.sqrt();
        // Five standard deviations of each mean.
        let n = (N as f64).sqrt();
        assert!(moment(1).abs() < 5.0 * eighth_root / n, "{alpha}: {}", moment(1));
        assert!(moment(3).abs() < 5.0 * 4.0 * eighth_root.powi(3) / n, "{alpha}: {}", moment(3));
        let spread = (fourth - variance * variance).sqrt();
        assert!((moment(2) - variance).abs() < 5.0 * spread / n, "{alpha}: {}", moment(2));
        assert!((moment(4) - fourth).abs() < 5.0 * 10.0 * fourth / n, "{alpha}: {}", moment(4));
    }
    // Two with known distribution functions: the uniform one and the arcsine.
    let uniform = |share: f64| share;
    let arcsine = |share: f64| share.sqrt().asin() * std::f64::consts::FRAC_2_PI;
    let known: [(f64, &dyn Fn(f64) -> f64); 2] = [(1.0, &uniform), (0.5, &arcsine)];
    for (alpha, function) in known {
        let mut shares = shares(alpha, N);
        shares.sort_by(f64::total_cmp);
        let distance = |(at, share): (usize, &f64)| (function(*share) - at as f64 / N as f64).abs();
        let most = shares.iter().enumerate().map(distance).fold(0.0, f64::max);
        // One in a million differs more.
        assert!(most < 2.7 / (N as f64).sqrt(), "{alpha}: {most}");
    }
    // So small that its power overflows: one of the two values, never anything else.
    assert!(shares(1e-9, 1000).iter().all(|share| *share == 0.0 || *share == 1.0));
}

#[test]
fn probabilities_are_those_that_were_asked_for() {
    let mix = Mix { mix_prob: 0.7, switch_prob: 0.25, ..BOTH };
    let mut counts = [0_u32; 3];
    for step in 0..100_000 {
        counts[match mix.draw(5, 0, step, (32, 32)) {
            Blend::None => 0,
            Blend::MixUp { .. } => 1,
            Blend::CutMix { .. } => 2,
        }] += 1;
    }
    // Five standard deviations.
    let expected = [30_000_u32, 52_500, 17_500];
    assert!(counts.iter().zip(expected).all(|(n, expected)| n.abs_diff(expected) < 800));
}

#[test]
fn boxes_cover_what_is_not_kept() {
    // From torchvision's CutMix, with the same share and middle.
    for (lambda, middle, size, area, kept) in TORCHVISION {
        let [x, y, width, height] = area;
        let area = Area { x, y, width, height };
        assert_eq!(Blend::cut(lambda, middle, size), Blend::CutMix { area, lambda: kept });
    }
    let mix = Mix { cutmix: 1.0, ..Mix::default() };
    let (mut columns, mut lines) = ([0_u32; 16], [0_u32; 9]);
    for step in 0..20_000 {
        let Blend::CutMix { area, lambda } = mix.draw(1, 0, step, (16, 9)) else { panic!() };
        assert_eq!(lambda, 1.0 - f64::from(area.width * area.height) / 144.0);
        assert!(area.x + area.width <= 16 && area.y + area.height <= 9);
        (area.x..area.x + area.width).for_each(|x| columns[x as usize] += 1);
        (area.y..area.y + area.height).for_each(|y| lines[y as usize] += 1);
    }
    // Every pixel is covered, those at the ends less than those in the middle.
    for (ends, middle) in
        [([columns[0], columns[15]], columns[8]), ([lines[0], lines[8]], lines[4])]
    {
        assert!(ends.iter().all(|end| (2000..middle).contains(end)), "{ends:?}, {middle}");
    }
}

type Cut = (f64, (u64, u64), (u32, u32), [u32; 4], f64);

/// Printed by `tests/mixing.py`.
const TORCHVISION: [Cut; 40] = [
    (0.5300398545638115, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.46906904778216374, (26, 17), (32, 32), [15, 6, 17, 22], 0.634765625),
    (0.9163453718085519, (8, 0), (32, 32), [4, 0, 8, 4], 0.96875),
    (0.21548116922473226, (46, 176), (224, 224), [0, 77, 145, 147], 0.5751953125),
    (1.0, (21, 19), (32, 32), [21, 19, 0, 0], 1.0),
    (0.06602245055107714, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.0, (4, 214), (7, 300), [1, 64, 6, 236], 0.32571428571428573),
    (1.0, (7, 7), (19, 13), [7, 7, 0, 0], 1.0),
    (0.46284975937048245, (9, 0), (19, 13), [3, 0, 12, 4], 0.8056680161943319),
    (1.0, (2, 162), (7, 300), [2, 162, 0, 0], 1.0),
    (0.0, (2, 9), (19, 13), [0, 3, 11, 10], 0.5546558704453441),
    (0.9236068159780504, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.13277698777913516, (0, 86), (7, 300), [0, 0, 3, 225], 0.6785714285714286),
    (0.37299762777421874, (4, 232), (7, 300), [2, 114, 4, 186], 0.6457142857142857),
    (0.6888390461318569, (5, 255), (7, 300), [4, 172, 2, 128], 0.878095238095238),
    (0.5481005301131815, (18, 10), (19, 13), [12, 6, 7, 7], 0.8016194331983806),
    (0.7044695740067031, (87, 166), (224, 224), [27, 106, 120, 118], 0.7177933673469388),
    (0.25069228802550525, (22, 17), (32, 32), [9, 4, 23, 26], 0.416015625),
    (0.8428795872067885, (10, 8), (19, 13), [7, 6, 6, 4], 0.902834008097166),
    (0.4772389328692719, (10, 26), (32, 32), [0, 15, 21, 17], 0.6513671875),
    (0.16002306779062903, (5, 3), (19, 13), [0, 0, 13, 8], 0.5789473684210527),
    (0.22624259565580995, (11, 30), (32, 32), [0, 16, 25, 16], 0.609375),
    (0.6625239969178583, (0, 22), (32, 32), [0, 13, 9, 18], 0.841796875),
    (0.8664012410869779, (0, 151), (7, 300), [0, 97, 1, 108], 0.9485714285714286),
    (0.3516181768366843, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.0, (24, 6), (32, 32), [8, 0, 24, 22], 0.484375),
    (0.8912817803345207, (7, 7), (19, 13), [4, 5, 6, 4], 0.902834008097166),
    (0.3838915449465743, (15, 4), (19, 13), [8, 0, 11, 9], 0.5991902834008097),
    (0.023774922802194953, (1, 150), (7, 300), [0, 2, 4, 296], 0.43619047619047624),
    (0.0, (62, 125), (224, 224), [0, 13, 174, 211], 0.26829559948979587),
    (1.0, (0, 12), (19, 13), [0, 12, 0, 0], 1.0),
    (0.2968221659308372, (8, 2), (32, 32), [0, 0, 21, 15], 0.6923828125),
    (0.5455922871170886, (152, 147), (224, 224), [77, 72, 147, 150], 0.560546875),
    (0.8988971732292219, (6, 33), (7, 300), [5, 0, 2, 80], 0.9238095238095239),
    (0.8362786323072496, (5, 7), (19, 13), [2, 5, 6, 4], 0.902834008097166),
    (0.9729218433107212, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.0, (31, 215), (224, 224), [0, 103, 143, 121], 0.6551538584183674),
    (0.2924929090274416, (38, 46), (224, 224), [0, 0, 132, 140], 0.6316964285714286),
    (1.0, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
    (0.31456961993483035, (0, 0), (1, 1), [0, 0, 0, 0], 1.0),
];

#[test]
fn what_is_drawn_never_changes() {
    let found: Vec<String> =
        (0..6).map(|step| format!("{:?}", BOTH.draw(7, 1, step, (224, 224)))).collect();
    assert_eq!(found, DRAWN);
}

const DRAWN: [&str; 6] = [
    "CutMix { area: Area { x: 23, y: 79, width: 12, height: 12 }, lambda: 0.9971301020408163 }",
    "MixUp { lambda: 0.03028029400031923 }",
    "MixUp { lambda: 0.6038730245990976 }",
    "CutMix { area: Area { x: 25, y: 0, width: 199, height: 169 }, lambda: 0.3297393176020408 }",
    "CutMix { area: Area { x: 154, y: 0, width: 70, height: 93 }, lambda: 0.8702566964285714 }",
    "CutMix { area: Area { x: 88, y: 3, width: 34, height: 34 }, lambda: 0.9769610969387755 }",
];

#[test]
fn labels_that_cannot_be_mixed_are_refused_by_name() {
    let said = |reader: &Arc<Memory>, options: Options| {
        let datasets = fdconvert_loader::Datasets::one(reader.clone()).unwrap();
        Loader::new(datasets, options).err().unwrap().to_string()
    };
    let memory = Memory::new(8);
    for (mix, part) in [
        (Mix { mixup: -0.1, ..BOTH }, "MixUp: alpha=-0.1 is not a parameter"),
        (Mix { cutmix: f64::NAN, ..BOTH }, "CutMix: alpha=NaN is not a parameter"),
        (Mix { mixup: 0.0, cutmix: 0.0, ..BOTH }, "with an alpha of 0 nothing mixes"),
        (Mix { mix_prob: 1.5, ..BOTH }, "1.5 is not a probability"),
        (Mix { switch_prob: -1.0, ..BOTH }, "p must have a number of at least 0"),
        (Mix { num_classes: Some(0), ..BOTH }, "num_classes: there is at least one"),
    ] {
        let found = TransformList::new(vec![mixer(mix)]).unwrap_err().to_string();
        assert!(found.starts_with("transform: ") && found.contains(part), "{found}");
    }
    let found = said(&memory, mixing(4, BOTH).label(Label::None));
    assert!(found.contains("label: MixUp and CutMix need labels"), "{found}");
    let numbers =
        Memory::new(8).with_fields(&[("score", Value::Float(0.5)), ("id", Value::Int(3))]);
    let named = |name: &str, mix| mixing(4, mix).label(Label::Field(name.into()));
    let found = said(&numbers, named("score", BOTH));
    assert!(found.contains("label: `score` is of kind float, and only integers"), "{found}");
    let found = said(&numbers, named("id", BOTH));
    assert!(found.contains("num_classes: the label `id` of memory has no names"), "{found}");

    // A label beyond the classes ends the epoch under any policy for failures.
    let mix = Mix { num_classes: Some(3), ..BOTH };
    let failures = Failures { on_error: OnError::Skip, ..Failures::default() };
    let options = named("id", mix).failures(failures);
    let mut loader = common::loader(&numbers, options);
    let found = loader.next_batch().unwrap().err().unwrap().to_string();
    assert!(found.contains("has the label 3, which is not one of 3 classes"), "{found}");
    let enough = named("id", Mix { num_classes: Some(4), ..BOTH });
    assert_eq!(soft_labels(&common::loader(&numbers, enough).next().unwrap().unwrap())[0].len(), 4);
}
