//! Definitions on which host and kernels must agree, number by number.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use fdconvert_gpu::Kernel;
use fdconvert_gpu_emul::{
    divided_255, layout_in_cpp, layout_in_rust, threads_in_cpp, to_bf16, to_f16,
};
use half::{bf16, f16};

#[test]
fn structures_are_the_same_in_rust_and_cpp() {
    assert_eq!(layout_in_cpp(), layout_in_rust());
}

#[test]
fn blocks_have_as_many_threads_as_the_host_starts() {
    assert_eq!(threads_in_cpp(), Kernel::ALL.map(Kernel::n_threads));
}

#[test]
fn numbers_are_rounded_as_ieee_says() {
    // Every sign and exponent, and the mantissas around each rounding of either format.
    let mut compared = 0;
    for upper in 0..=u16::MAX {
        for lower in [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]
        {
            let value = f32::from_bits(u32::from(upper) << 16 | lower);
            if value.is_nan() {
                continue;
            }
            assert_eq!(to_f16(value), f16::from_f32(value).to_bits(), "{value:e}");
            assert_eq!(to_bf16(value), bf16::from_f32(value).to_bits(), "{value:e}");
            compared += 1;
        }
    }
    println!("{compared} numbers compared");
}

#[test]
fn quotients_are_rounded_as_ieee_says() {
    for divisor in 1..=u8::MAX {
        assert_eq!(divided_255(divisor), Some(255.0 / f64::from(divisor)), "{divisor}");
    }
    assert_eq!(divided_255(0), None);
}
