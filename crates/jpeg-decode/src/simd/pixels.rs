//! From samples to rows of RGB for the operations of any instruction set: horizontal
//! [`crate::upsample`] and [`crate::color`] in one step, so that colour differences are never stored
//! at the resolution of the image.
//!
//! Even and odd columns of pixels are processed separately where upsampling makes one of each from a
//! column of samples; elsewhere two halves of a step are, in the order of the instruction set.

/// Defines `sums`, `whole_row` and `half_row`. The operations of an instruction set have to be in
/// scope; the parameters are its name and its proof.
macro_rules! pixels {
    ($features:literal, $proof:ty) => {
        use crate::{
            color::{BLUE_BY_CB, GREEN_BY_CB, GREEN_BY_CR, RED_BY_CR},
            upsample::Bias,
        };

        /// Writes a row of a component, or 3 parts of a row and 1 of a farther one, to `sums`: the
        /// columns start at the second place, with the outer ones repeated on either side.
        pub(crate) fn sums(
            _: $proof,
            near: &[u8],
            far: Option<&[u8]>,
            n_columns: usize,
            sums: &mut Vec<u16>,
        ) {
            // SAFETY: the proof of the instructions.
            unsafe { sums_of(near, far, n_columns, sums) }
        }

        #[target_feature(enable = $features)]
        fn sums_of(near: &[u8], far: Option<&[u8]>, n_columns: usize, sums: &mut Vec<u16>) {
            // A step of columns reads one before and one after, and may start anywhere.
            let needed = n_columns.next_multiple_of(STEP / 2) + STEP;
            if sums.len() < needed {
                sums.resize(needed, 0);
            }
            let Some(columns) = sums.get_mut(1..=n_columns) else { return };
            match far {
                Some(far) => {
                    for ((sum, near), far) in columns.iter_mut().zip(near).zip(far) {
                        *sum = u16::from(*near) * 3 + u16::from(*far);
                    }
                }
                None => {
                    for (sum, sample) in columns.iter_mut().zip(near) {
                        *sum = u16::from(*sample);
                    }
                }
            }
            sums[0] = sums[1];
            sums[n_columns + 1] = sums[n_columns];
        }

        /// Writes a row of pixels, three bytes each, from samples for each column. The sample rows
        /// extend to the next multiple of 32 columns; `out` may have any length.
        pub(crate) fn whole_row(_: $proof, luma: &[u8], [cb, cr]: [&[u8]; 2], out: &mut [u8]) {
            // SAFETY: the proof of the instructions.
            unsafe { whole_row_of(luma, [cb, cr], out) }
        }

        #[target_feature(enable = $features)]
        fn whole_row_of(luma: &[u8], [cb, cr]: [&[u8]; 2], out: &mut [u8]) {
            let [luma, cb, cr] = [luma, cb, cr].map(|row| row.as_chunks::<STEP>().0);
            let (steps, rest) = out.as_chunks_mut();
            let n_steps = steps.len();
            for (((luma, cb), cr), pixels) in luma.iter().zip(cb).zip(cr).zip(steps) {
                whole_step(luma, cb, cr, pixels);
            }
            if !rest.is_empty()
                && let (Some(luma), Some(cb), Some(cr)) =
                    (luma.get(n_steps), cb.get(n_steps), cr.get(n_steps))
            {
                let mut pixels = [0; 3 * STEP];
                whole_step(luma, cb, cr, &mut pixels);
                rest.iter_mut().zip(&pixels).for_each(|(out, byte)| *out = *byte);
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn whole_step(
            luma: &[u8; STEP],
            cb: &[u8; STEP],
            cr: &[u8; STEP],
            pixels: &mut [u8; 3 * STEP],
        ) {
            let ([cb_1, cb_2], [cr_1, cr_2]) = (centred_halves(cb), centred_halves(cr));
            let [luma_1, luma_2] = halves(luma);
            write_halves(rgb(luma_1, cb_1, cr_1), rgb(luma_2, cb_2, cr_2), pixels);
        }

        /// Writes a row of pixels with colour differences of half as many columns, from [`sums`] and
        /// rounded by `bias`.
        pub(crate) fn half_row(
            _: $proof,
            luma: &[u8],
            [cb, cr]: [&[u16]; 2],
            bias: Bias,
            out: &mut [u8],
        ) {
            // SAFETY: the proof of the instructions.
            unsafe { half_row_of(luma, [cb, cr], bias, out) }
        }

        #[target_feature(enable = $features)]
        fn half_row_of(luma: &[u8], [cb, cr]: [&[u16]; 2], bias: Bias, out: &mut [u8]) {
            let luma = luma.as_chunks().0;
            let (steps, rest) = out.as_chunks_mut();
            let n_steps = steps.len();
            for ((luma, pixels), x) in luma.iter().zip(steps).zip((0..).step_by(STEP / 2)) {
                // By reference: a copy would be read before it is written.
                let (Some(cb), Some(cr)) = (chunk(cb, x), chunk(cr, x)) else { return };
                half_step(luma, [cb, cr], bias, pixels);
            }
            let x = n_steps * (STEP / 2);
            if !rest.is_empty()
                && let (Some(luma), Some(cb), Some(cr)) =
                    (luma.get(n_steps), chunk(cb, x), chunk(cr, x))
            {
                let mut pixels = [0; 3 * STEP];
                half_step(luma, [cb, cr], bias, &mut pixels);
                rest.iter_mut().zip(&pixels).for_each(|(out, byte)| *out = *byte);
            }
        }

        /// Returns the sums of a step's columns and their neighbours.
        fn chunk(sums: &[u16], x: usize) -> Option<&[u16; STEP / 2 + 2]> {
            sums.get(x..)?.first_chunk()
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn half_step(
            luma: &[u8; STEP],
            [cb, cr]: [&[u16; STEP / 2 + 2]; 2],
            bias: Bias,
            pixels: &mut [u8; 3 * STEP],
        ) {
            let ([cb_even, cb_odd], [cr_even, cr_odd]) = (blended(cb, bias), blended(cr, bias));
            let [even, odd] = even_and_odd(luma);
            write_even_and_odd(rgb(even, cb_even, cr_even), rgb(odd, cb_odd, cr_odd), pixels);
        }

        /// Returns samples less 128 of even and of odd columns of pixels, from sums of a step's
        /// columns and their neighbours.
        #[inline]
        #[target_feature(enable = $features)]
        fn blended(sums: &[u16; STEP / 2 + 2], bias: Bias) -> [Numbers; 2] {
            let Bias { shift, left, right } = bias;
            let part = |from: usize| sums[from..].first_chunk::<{ STEP / 2 }>();
            let (Some(before), Some(column), Some(next)) = (part(0), part(1), part(2)) else {
                return [set16(0); 2];
            };
            let column = load_numbers(column);
            let thrice = add16(column, add16(column, column));
            // The subtracted 128 is combined with the rounding.
            let centre = 128 << shift;
            let side = |neighbour: Numbers, bias: u32| {
                let bias = set16((bias as i16).wrapping_sub(centre));
                shift_right(add16(add16(thrice, bias), neighbour), shift)
            };
            [side(load_numbers(before), left), side(load_numbers(next), right)]
        }

        /// Returns red, green and blue in 16-bit numbers, from luma and colour differences less 128.
        /// Factors beyond 16 bits are split: 1.402 is 1 and 0.402, of which half is used.
        #[inline]
        #[target_feature(enable = $features)]
        fn rgb(luma: Numbers, cb: Numbers, cr: Numbers) -> [Numbers; 3] {
            const RED: i16 = (RED_BY_CR - (1 << 16)) as i16;
            const BLUE: i16 = (BLUE_BY_CB - (2 << 16)) as i16;
            // (2 x factor / 65536 + 1) / 2 is x factor / 65536 rounded, with each division rounding
            // down.
            let red = add_halves(add16(luma, cr), twice_high(cr, RED));
            let blue = add_halves(add16(luma, add16(cb, cb)), twice_high(cb, BLUE));
            let green = |both| madd(both, -GREEN_BY_CB, (1 << 16) - GREEN_BY_CR);
            let green = narrow_by_16([green(low_pairs(cb, cr)), green(high_pairs(cb, cr))]);
            [red, add16(sub16(luma, cr), green), blue]
        }
    };
}
pub(super) use pixels;
