use super::super::{
    geometry::scale_for,
    list::{DrawKey, Stage, Transform, TransformList, fuse},
    output::{DType, Layout, Output, Tables},
    painter::Painter,
};
use super::*;

const KEY: DrawKey = DrawKey { seed: 1, epoch: 0, sample: 5, occurrence: 0, view: 0 };
const SIZE: (u32, u32) = (24, 20);
const OUTPUT: Output =
    Output { size: SIZE, dtype: DType::U8, layout: Layout::Nhwc, channels: 3, normalise: None };

fn random() -> Transform {
    Transform::RandomResizedCrop { size: [SIZE.1, SIZE.0], scale: [0.1, 0.6], ratio: [0.75, 1.33] }
}

fn cut_out() -> Transform {
    Transform::CenterCrop { size: [SIZE.1, SIZE.0] }
}

fn resample(list: Vec<Transform>, source: (u32, u32), key: DrawKey) -> Resample {
    let changes = TransformList::new(list).unwrap().draw(source, key).unwrap();
    match &fuse(changes, source)[..] {
        [Stage::Resample(resample)] => *resample,
        other => panic!("{other:?}"),
    }
}

/// Smooth, so that a shift shows, and with some noise, so that every pixel counts.
fn picture(width: u32, height: u32, channels: u32) -> Vec<u8> {
    let level = |x: u32, y: u32, channel: u32| {
        (x * 150 / width + y * 70 / height + channel * 9 + (x * 7 + y * 13 + x * y) % 11) as u8
    };
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| (0..channels).map(move |channel| level(x, y, channel))).collect()
}

fn cut(pixels: &[u8], width: u32, area: Area, channels: u32) -> Vec<u8> {
    let rows = area.y..area.y + area.height;
    rows.flat_map(|y| {
        let from = ((y * width + area.x) * channels) as usize;
        pixels[from..from + (area.width * channels) as usize].to_vec()
    })
    .collect()
}

fn region(pixels: &[u8], area: Area, channels: u8) -> Region<'_> {
    Region { pixels, area, channels, denominator: 1 }
}

fn whole(width: u32, height: u32) -> Area {
    Area { x: 0, y: 0, width, height }
}

fn row(output: Output, region: &Region<'_>, resample: &Resample) -> Result<Vec<u8>, String> {
    let mut row = vec![0x55; output.n_bytes()];
    let form = (&output, &Tables::new(&output));
    Painter::default().row(region, &mut [Stage::Resample(*resample)], form, &mut row)?;
    Ok(row)
}

#[test]
fn more_decoded_pixels_change_nothing() {
    let (width, height) = (90, 70);
    let pixels = picture(width, height, 3);
    for list in [
        vec![random(), Transform::random_horizontal_flip()],
        vec![Transform::resize(28), cut_out()],
        vec![Transform::resize(21), cut_out()],
        vec![Transform::squeeze([SIZE.1, SIZE.0])],
    ] {
        for sample in 0..20 {
            let key = DrawKey { sample, ..KEY };
            let geometry = resample(list.clone(), (width, height), key);
            let all = row(OUTPUT, &region(&pixels, whole(width, height), 3), &geometry).unwrap();
            let least = cut(&pixels, width, geometry.needed, 3);
            let least = row(OUTPUT, &region(&least, geometry.needed, 3), &geometry).unwrap();
            assert_eq!(all, least, "{geometry:?}");
        }
    }
}

#[test]
fn what_is_needed_is_all_that_a_resize_before_a_crop_reads() {
    // Compares the crop of the resized image with the rectangle alone.
    let (width, height) = (90, 70);
    let pixels = picture(width, height, 3);
    for (resize, resized) in [(28, (36, 28)), (100, (128, 100))] {
        let all = Output { size: resized, ..OUTPUT };
        let whole_list = vec![Transform::squeeze([resized.1, resized.0])];
        let geometry = resample(whole_list, (width, height), KEY);
        let all = row(all, &region(&pixels, whole(width, height), 3), &geometry).unwrap();
        let at = ((resized.0 - SIZE.0) / 2, (resized.1 - SIZE.1) / 2);
        let area = Area { x: at.0, y: at.1, width: SIZE.0, height: SIZE.1 };
        let expected = cut(&all, resized.0, area, 3);

        let list = vec![Transform::resize(resize), cut_out()];
        let geometry = resample(list, (width, height), KEY);
        let least = cut(&pixels, width, geometry.needed, 3);
        let found = row(OUTPUT, &region(&least, geometry.needed, 3), &geometry).unwrap();
        // The weights come from other fractions, and may round to their neighbours.
        let differ: Vec<_> = found.iter().zip(&expected).filter(|(a, b)| a != b).collect();
        assert!(differ.iter().all(|(a, b)| a.abs_diff(**b) == 1), "{geometry:?}");
        assert!(differ.len() * 50 < found.len(), "{} differ", differ.len());
    }
}

#[test]
fn gray_becomes_three_equal_channels() {
    let gray = picture(50, 40, 1);
    let rgb: Vec<u8> = gray.iter().flat_map(|&level| [level; 3]).collect();
    for p in [0.0, 1.0] {
        let list = vec![random(), Transform::RandomHorizontalFlip { p }];
        let geometry = resample(list, (50, 40), KEY);
        let gray = row(OUTPUT, &region(&gray, whole(50, 40), 1), &geometry).unwrap();
        let rgb = row(OUTPUT, &region(&rgb, whole(50, 40), 3), &geometry).unwrap();
        assert_eq!(gray, rgb);
    }
}

#[test]
fn the_flip_mirrors_the_result() {
    let pixels = picture(50, 40, 3);
    let region = region(&pixels, whole(50, 40), 3);
    let plain = resample(vec![random()], (50, 40), KEY);
    let flipped = Resample { mirrored: true, ..plain };
    let mut expected = row(OUTPUT, &region, &plain).unwrap();
    for row in expected.chunks_exact_mut(SIZE.0 as usize * 3) {
        row.as_chunks_mut::<3>().0.reverse();
    }
    assert_eq!(row(OUTPUT, &region, &flipped).unwrap(), expected);
}

#[test]
fn a_smaller_decode_shows_the_same_part() {
    let (width, height) = (403, 301);
    let pixels = picture(width, height, 3);
    for denominator in [2, 4, 8] {
        // Like a decoder's output: means of squares, the last of a row over fewer pixels.
        let (small_width, small_height) =
            (width.div_ceil(denominator), height.div_ceil(denominator));
        let mut small = Vec::new();
        for y in 0..small_height {
            for x in 0..small_width {
                for channel in 0..3 {
                    let (mut sum, mut n_levels) = (0, 0);
                    for y in (y * denominator..(y + 1) * denominator).take_while(|&y| y < height) {
                        for x in (x * denominator..(x + 1) * denominator).take_while(|&x| x < width)
                        {
                            sum += u32::from(pixels[((y * width + x) * 3 + channel) as usize]);
                            n_levels += 1;
                        }
                    }
                    small.push(((sum + n_levels / 2) / n_levels) as u8);
                }
            }
        }
        for sample in 0..20 {
            let key = DrawKey { sample, ..KEY };
            let geometry = resample(vec![random()], (width, height), key);
            if scale_for(geometry.rect, SIZE) < denominator {
                continue;
            }
            let full = row(OUTPUT, &region(&pixels, whole(width, height), 3), &geometry).unwrap();
            let region = Region {
                pixels: &small,
                area: whole(small_width, small_height),
                channels: 3,
                denominator,
            };
            let scaled = row(OUTPUT, &region, &geometry).unwrap();
            let most = full.iter().zip(&scaled).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(most <= 6, "1/{denominator}: {most}");
        }
    }
}

/// A resize without effect is skipped; it would give the same pixels.
#[test]
fn the_identity_is_what_the_resize_gives() {
    let (width, height) = (50, 40);
    let square = resample(vec![cut_out()], (width, height), KEY);
    assert_eq!(square.rect, Area { x: 13, y: 10, width: SIZE.0, height: SIZE.1 }.into());
    let corner = |x, y| Area { x, y, width: SIZE.0, height: SIZE.1 };
    let at = |area: Area| Resample { rect: area.into(), needed: area, ..square };
    let geometries = [square, at(corner(0, 0)), at(corner(26, 20)), at(corner(7, 3))];
    for channels in [1, 3] {
        let pixels = picture(width, height, channels);
        let region = region(&pixels, whole(width, height), channels as u8);
        for geometry in &geometries {
            let plan = Plan::of(&region, geometry).unwrap();
            assert!(plan.changes_nothing(SIZE), "{geometry:?}");
            let mut resized = vec![0; (SIZE.0 * SIZE.1 * channels) as usize];
            let (stretcher, source) = (&mut Stretcher::new(), plan.source(&region));
            match channels {
                1 => stretcher.gray(&source, SIZE, &mut resized).unwrap(),
                _ => stretcher.rgb(&source, SIZE, &mut resized).unwrap(),
            }
            if channels == 1 {
                resized = resized.iter().flat_map(|&level| [level; 3]).collect();
            }
            assert_eq!(row(OUTPUT, &region, geometry).unwrap(), resized, "{geometry:?}");
        }
        let moved = |x, y, width, height| {
            let rect = Rect { x, y, width, height };
            Plan::of(&region, &Resample { rect, ..at(whole(50, 40)) }).unwrap()
        };
        for plan in [
            moved(0.5, 0.0, 24.0, 20.0),
            moved(0.0, 0.25, 24.0, 20.0),
            moved(0.0, 0.0, 25.0, 20.0),
            moved(0.0, 0.0, 24.0, 19.0),
        ] {
            assert!(!plan.changes_nothing(SIZE), "{plan:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let pixels = picture(50, 40, 3);
    let geometry = resample(vec![Transform::squeeze([SIZE.1, SIZE.0])], (50, 40), KEY);
    let good = region(&pixels, whole(50, 40), 3);
    assert!(row(OUTPUT, &good, &geometry).is_ok());
    let fails = |region: Region<'_>, geometry: &Resample| {
        assert!(row(OUTPUT, &region, geometry).is_err(), "{geometry:?}");
    };
    fails(Region { pixels: &pixels[1..], ..good }, &geometry);
    fails(Region { channels: 4, ..good }, &geometry);
    fails(Region { channels: 1, ..good }, &geometry);
    fails(Region { denominator: 3, ..good }, &geometry);
    fails(Region { denominator: 0, ..good }, &geometry);
    fails(Region { area: Area { x: 1, ..good.area }, ..good }, &geometry);
    fails(Region { area: whole(40, 50), ..good }, &geometry);
    fails(Region { area: whole(u32::MAX, u32::MAX), ..good }, &geometry);
    let nothing = Area { width: 0, ..geometry.needed };
    fails(good, &Resample { needed: nothing, ..geometry });
    let far = Area { x: u32::MAX, ..geometry.needed };
    fails(good, &Resample { needed: far, ..geometry });
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        fails(good, &Resample { rect: Rect { width: bad, ..geometry.rect }, ..geometry });
    }
    fails(good, &Resample { rect: Rect { x: 60.0, ..geometry.rect }, ..geometry });
    let short = &mut vec![0; OUTPUT.n_bytes() - 1];
    let form = (&OUTPUT, &Tables::new(&OUTPUT));
    let stages = &mut [Stage::Resample(geometry)];
    assert!(Painter::default().row(&good, stages, form, short).is_err());
    assert!(Painter::default().row(&good, &mut [], form, &mut vec![0; OUTPUT.n_bytes()]).is_err());
}
