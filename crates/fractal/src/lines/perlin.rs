//! Noise along a line, as `pnoise1` of the Python package `noise` 1.2.2 computes it.
//!
//! Ken Perlin, "Improving Noise", SIGGRAPH 2002, in one dimension: every integer has a slope, and
//! between two integers their two straight lines are blended. For half of the integers the package
//! has a slope of -1, where the paper has the negative of a slope of 1 to 8: kept, because the
//! originals use it.

/// Returns the noise at `x`, in 32-bit arithmetic, one octave. It repeats every 256 (the package
/// says 1024, which its table of 256 reduces to the same).
#[inline]
pub(super) fn noise(x: f32) -> f32 {
    // Truncated, then rounded down: a call of `floor` costs more than the rest.
    let truncated = x as i32;
    let cell = if (truncated as f32) > x { truncated.wrapping_sub(1) } else { truncated };
    let x = x - cell as f32;
    let fade = x * x * x * (x * (x * 6.0 - 15.0) + 10.0);
    let left = slope(cell) * x;
    let right = slope(cell.wrapping_add(1)) * (x - 1.0);
    (left + fade * (right - left)) * 0.4
}

#[inline]
fn slope(cell: i32) -> f32 {
    SLOPES[usize::from(cell as u8)]
}

const SLOPES: [f32; 256] = {
    let mut slopes = [0.0; 256];
    let mut i = 0;
    while i < slopes.len() {
        let hash = PERMUTATION[i];
        slopes[i] = if hash & 8 != 0 { -1.0 } else { (hash & 7) as f32 + 1.0 };
        i += 1;
    }
    slopes
};

/// The permutation of Perlin's reference implementation.
#[rustfmt::skip]
const PERMUTATION: [u8; 256] = [
    151, 160, 137, 91, 90, 15, 131, 13, 201, 95, 96, 53, 194, 233, 7, 225, 140, 36, 103, 30, 69,
    142, 8, 99, 37, 240, 21, 10, 23, 190, 6, 148, 247, 120, 234, 75, 0, 26, 197, 62, 94, 252, 219,
    203, 117, 35, 11, 32, 57, 177, 33, 88, 237, 149, 56, 87, 174, 20, 125, 136, 171, 168, 68, 175,
    74, 165, 71, 134, 139, 48, 27, 166, 77, 146, 158, 231, 83, 111, 229, 122, 60, 211, 133, 230,
    220, 105, 92, 41, 55, 46, 245, 40, 244, 102, 143, 54, 65, 25, 63, 161, 1, 216, 80, 73, 209, 76,
    132, 187, 208, 89, 18, 169, 200, 196, 135, 130, 116, 188, 159, 86, 164, 100, 109, 198, 173, 186,
    3, 64, 52, 217, 226, 250, 124, 123, 5, 202, 38, 147, 118, 126, 255, 82, 85, 212, 207, 206, 59,
    227, 47, 16, 58, 17, 182, 189, 28, 42, 223, 183, 170, 213, 119, 248, 152, 2, 44, 154, 163, 70,
    221, 153, 101, 155, 167, 43, 172, 9, 129, 22, 39, 253, 19, 98, 108, 110, 79, 113, 224, 232, 178,
    185, 112, 104, 218, 246, 97, 228, 251, 34, 242, 193, 238, 210, 144, 12, 191, 179, 162, 241, 81,
    51, 145, 235, 249, 14, 239, 107, 49, 192, 214, 31, 181, 199, 106, 157, 184, 84, 204, 176, 115,
    121, 50, 45, 127, 4, 150, 254, 138, 236, 205, 93, 222, 114, 67, 29, 24, 72, 243, 141, 128, 195,
    78, 66, 215, 61, 156, 180,
];

#[cfg(test)]
mod tests {
    use super::noise;
    use sha2::{Digest, Sha256};

    /// Values of `noise.pnoise1` of the package, version 1.2.2.
    const TABLE: [(f32, u32); 14] = [
        (0.0, 0x0000_0000),
        (0.5, 0x3f33_3333),
        (1.25, 0x3df7_3333),
        (2.75, 0x3d70_0000),
        (100.1, 0x3da8_bef8),
        (255.5, 0xbe99_999a),
        (256.5, 0x3f33_3333),
        (511.9, 0xbe9a_8e8d),
        (1023.5, 0xbe99_999a),
        (1024.25, 0x3f2f_a667),
        (4321.125, 0x3e80_d267),
        (9999.75, 0x3e1b_6667),
        (-0.25, 0xbf0f_d99a),
        (-1000.5, 0xbe4c_cccd),
    ];

    #[test]
    fn values_are_those_of_the_package() {
        for (x, bits) in TABLE {
            assert_eq!(noise(x).to_bits(), bits, "{x}: {}", noise(x));
        }
    }

    #[test]
    fn hundreds_of_thousands_are_too() {
        let mut hash = Sha256::new();
        for i in 0..300_000_u32 {
            hash.update(noise((i as f32 - 30_000.0) * 0.037).to_le_bytes());
        }
        assert_eq!(format!("{:x}", hash.finalize()), MANY);
    }

    /// SHA-256 of the package's results for these arguments, little-endian.
    const MANY: &str = "0b86871de771f6935be7e8de9d450a7afc8cfea50bbf1cc089550b9a452581ab";

    #[test]
    fn whatever_is_no_place_is_survived() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0, 1e-45] {
            let _ = noise(x);
        }
    }
}
