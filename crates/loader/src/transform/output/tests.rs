use super::*;

/// The pass, one number at a time.
fn slow(output: &Output, rgb: &[u8], flip: bool) -> Vec<u8> {
    let (width, height) = (output.size.0 as usize, output.size.1 as usize);
    let n_numbers = width * height * 3;
    let mut numbers = vec![Vec::new(); n_numbers];
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let from = if flip { width - 1 - x } else { x };
                let byte = rgb[(y * width + from) * 3 + channel];
                let at = match output.layout {
                    Layout::Nhwc => (y * width + x) * 3 + channel,
                    Layout::Nchw => (channel * height + y) * width + x,
                };
                let float = match output.normalise {
                    Some(Normalise { mean, std }) => {
                        (f32::from(byte) / 255.0 - mean[channel]) / std[channel]
                    }
                    None => f32::from(byte) / 255.0,
                };
                numbers[at] = match output.dtype {
                    DType::U8 | DType::U16 | DType::I16 => vec![byte],
                    DType::F16 => f16::from_f32(float).to_ne_bytes().to_vec(),
                    DType::Bf16 => bf16::from_f32(float).to_ne_bytes().to_vec(),
                    DType::F32 => float.to_ne_bytes().to_vec(),
                };
            }
        }
    }
    numbers.concat()
}

#[test]
fn every_combination_equals_the_slow_way() {
    for size in [(1, 1), (2, 3), (3, 2), (4, 4), (5, 7), (8, 1), (9, 3), (33, 5), (224, 3)] {
        let rgb: Vec<u8> = (0..size.0 * size.1 * 3).map(|i| (i * 89 + i / 256) as u8).collect();
        for dtype in [DType::U8, DType::F16, DType::Bf16, DType::F32] {
            for layout in [Layout::Nhwc, Layout::Nchw] {
                for normalise in [None, Some(Normalise::IMAGENET)] {
                    if dtype == DType::U8 && normalise.is_some() {
                        continue;
                    }
                    let output = Output { size, dtype, layout, channels: 3, normalise };
                    output.check().unwrap();
                    for flip in [false, true] {
                        let mut row = vec![0xee; output.n_bytes()];
                        let tables = Tables::new(&output);
                        tables.write(&rgb, size.0 as usize, layout, flip, &mut row);
                        assert_eq!(row, slow(&output, &rgb, flip), "{output:?} {flip}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_numbers_are_those_of_torchvision() {
    // From `Normalize(...)(ToTensor()(image))` on images of one level, bit for bit.
    let output = Output {
        size: (1, 1),
        dtype: DType::F32,
        layout: Layout::Nhwc,
        channels: 3,
        normalise: Some(Normalise::IMAGENET),
    };
    for (byte, bits) in PINNED {
        let found = [0, 1, 2].map(|channel| output.value(channel, byte).to_bits());
        assert_eq!(found, bits, "{byte}");
    }
}

const PINNED: [(u8, [u32; 3]); 6] = [
    (0, [0xc0078bbd, 0xc0024924, 0xbfe6f809]),
    (1, [0xc006732b, 0xc0012a4f, 0xbfe4bcea]),
    (77, [0xbf4c9ec9, 0xbf300b78, 0xbeecbf39]),
    (128, [0x3d97af32, 0x3e521b48, 0x3eda5d3c]),
    (200, [0x3fa74d4f, 0x3fbb9b9c, 0x3fd737ef]),
    (255, [0x400fee1d, 0x401b6db7, 0x4028f5c3]),
];

#[test]
fn senseless_outputs_are_refused() {
    let good = Output {
        size: (4, 4),
        dtype: DType::F32,
        layout: Layout::Nchw,
        channels: 3,
        normalise: Some(Normalise::IMAGENET),
    };
    assert!(good.check().is_ok());
    assert!(Output { size: (0, 4), ..good }.check().is_err());
    assert!(Output { size: (4, Output::MAX_SIDE + 1), ..good }.check().is_err());
    assert!(Output { dtype: DType::U8, ..good }.check().is_err());
    let with = |mean, std| Output { normalise: Some(Normalise { mean, std }), ..good };
    assert!(with([0.0; 3], [1.0, 0.0, 1.0]).check().is_err());
    assert!(with([0.0, f32::NAN, 0.0], [1.0; 3]).check().is_err());
}
