//! The inverse DCTs to 4x4 and 2x2 samples for the operations of any instruction set, with one
//! block or several in a vector: the arithmetic of [`crate::reduced`].

/// Defines `block_row`, which does as [`crate::reduced::block_row`]. The operations of an
/// instruction set, and `dequantised` rows by it, have to be in scope; the parameters are its name
/// and its proof.
macro_rules! reduced {
    ($features:literal, $proof:ty) => {
        use crate::{
            idct::{F_0_765, F_0_899, F_1_847, F_2_562, Factors},
            reduced::{
                self, F_0_211, F_0_509, F_0_601, F_0_720, F_0_850, F_1_061, F_1_272, F_1_451,
                F_2_172, F_3_624, FOUR_SHIFTS, Side, TWO_SHIFTS,
            },
            window::Cells,
        };

        /// As [`reduced::block_row`].
        pub(crate) fn block_row(
            _: $proof,
            side: Side,
            cells: &mut Cells,
            row: &[u32],
            factors: &Factors,
            out: &mut [u8],
            stride: usize,
        ) {
            // SAFETY: the proof of the instructions.
            unsafe {
                match side {
                    Side::Four => reduce::<4>(cells, row, factors, out, stride),
                    Side::Two => reduce::<2>(cells, row, factors, out, stride),
                    // A product and a shift: vectors would not help.
                    Side::One => reduced::block_row(side, cells, row, factors, out, stride),
                }
            }
        }

        #[target_feature(enable = $features)]
        fn reduce<const N: usize>(
            cells: &mut Cells,
            row: &[u32],
            factors: &Factors,
            out: &mut [u8],
            stride: usize,
        ) {
            let (factors, _) = factors.as_chunks::<8>();
            let Some(factors) = factors.first_chunk::<8>() else { return };
            for (blocks, x) in row.chunks(N_BLOCKS).zip((0..).step_by(N_BLOCKS * N)) {
                let last = blocks.len() - 1;
                let at: [u32; N_BLOCKS] = std::array::from_fn(|number| blocks[number.min(last)]);
                let Some(values) = dequantised(cells, at, factors) else { return };
                let samples = if N == 4 { four_by_four(values) } else { two_by_two(values) };
                cells.clear(&at);
                // The last block of an odd number is alone.
                let n_samples = N * blocks.len();
                for (line, samples) in out.chunks_mut(stride.max(1)).zip(samples).take(N) {
                    if let Some(line) = line.get_mut(x..x + n_samples) {
                        line.copy_from_slice(&samples.to_le_bytes()[..n_samples]);
                    }
                }
            }
        }

        /// Returns four rows; the bytes of a number are adjacent samples of one block and then of
        /// the others.
        #[inline]
        #[target_feature(enable = $features)]
        fn four_by_four([r0, r1, r2, r3, _, r5, r6, r7]: [Numbers; 8]) -> [u64; 4] {
            const FIRST: Bits = FOUR_SHIFTS.0 as Bits;
            const SECOND: Bits = FOUR_SHIFTS.1 as Bits;
            // A number times 2 to the power of 16 should be one times 2 to the power of 14.
            let low = four_of::<FIRST>(
                low_scaled::<2>(r0),
                [low_pairs(r2, r6), low_pairs(r7, r5), low_pairs(r3, r1)],
            );
            let high = four_of::<FIRST>(
                high_scaled::<2>(r0),
                [high_pairs(r2, r6), high_pairs(r7, r5), high_pairs(r3, r1)],
            );
            let packed = |at: usize| narrow::<FIRST>([low[at], high[at]]);
            // Two columns each.
            let (low, high) = (zip16(packed(0), packed(1)), zip16(packed(2), packed(3)));
            let ([c01, c23], [c45, c67]) = (zip32(low[0], high[0]), zip32(low[1], high[1]));
            let [o0, o1, o2, o3] = four_of::<SECOND>(
                low_scaled::<2>(c01),
                [low_pairs(c23, c67), high_pairs(c67, c45), high_pairs(c23, c01)],
            );
            let (left, right) = (narrow::<SECOND>([o0, o1]), narrow::<SECOND>([o2, o3]));
            rows_of_four(samples::<SECOND>(left, right))
        }

        /// One dimension: of the first of eight numbers, scaled, and of pairs of the third and
        /// seventh, eighth and sixth, fourth and second. The results are to be divided.
        #[inline]
        #[target_feature(enable = $features)]
        fn four_of<const SHIFT: Bits>(i0: Sums, [i26, i75, i31]: [Pairs; 3]) -> [Sums; 4] {
            let t0 = add_to_each(i0, 1 << (SHIFT - 1));
            let t2 = madd(i26, F_1_847, -F_0_765);
            let (outer, inner) = (add32(t0, t2), sub32(t0, t2));
            let by_inner = add32(madd(i75, -F_0_211, F_1_451), madd(i31, -F_2_172, F_1_061));
            let by_outer = add32(madd(i75, -F_0_509, -F_0_601), madd(i31, F_0_899, F_2_562));
            [
                add32(outer, by_outer),
                add32(inner, by_inner),
                sub32(inner, by_inner),
                sub32(outer, by_outer),
            ]
        }

        /// Returns two rows, in the same layout.
        #[inline]
        #[target_feature(enable = $features)]
        fn two_by_two([r0, r1, _, r3, _, r5, _, r7]: [Numbers; 8]) -> [u64; 4] {
            const FIRST: Bits = TWO_SHIFTS.0 as Bits;
            const SECOND: Bits = TWO_SHIFTS.1 as Bits;
            let odd = |i75, i31| add32(madd(i75, -F_0_720, F_0_850), madd(i31, -F_1_272, F_3_624));
            // By 2 to the power of 15, with the rounding.
            let half = 1 << (FIRST - 1);
            let even = [low_scaled::<1>(r0), high_scaled::<1>(r0)];
            let even = [add_to_each(even[0], half), add_to_each(even[1], half)];
            let odd = [
                odd(low_pairs(r7, r5), low_pairs(r3, r1)),
                odd(high_pairs(r7, r5), high_pairs(r3, r1)),
            ];
            let sums = [add32(even[0], odd[0]), add32(even[1], odd[1])];
            let differences = [sub32(even[0], odd[0]), sub32(even[1], odd[1])];
            let (upper, lower) = (narrow::<FIRST>(sums), narrow::<FIRST>(differences));
            // Factors of the upper row and the lower one, alternating.
            let factors: [i16; 8] =
                [0, F_3_624, 0, -F_1_272, 0, F_0_850, 0, -F_0_720].map(|factor| factor as i16);
            let products = add_adjacent(dot_pairs(upper, &factors), dot_pairs(lower, &factors));
            let odd = add_adjacent(products, products);
            // The first numbers of both, to be followed by others that are not used.
            let [first, _] = zip16(upper, lower);
            let even = add_to_each(low_scaled::<1>(first), 1 << (SECOND - 1));
            let left = narrow::<SECOND>([add32(even, odd); 2]);
            let right = narrow::<SECOND>([sub32(even, odd); 2]);
            let [rows, _] = zip16(left, right);
            rows_of_two(samples::<SECOND>(rows, rows))
        }
    };
}
pub(super) use reduced;
