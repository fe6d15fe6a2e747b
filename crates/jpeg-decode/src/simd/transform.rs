//! The two passes of the inverse DCT for the operations of any instruction set, with one block or
//! several in a vector: the arithmetic of [`crate::idct`].

/// Defines `transform`, from 8 rows of dequantised values to 8 columns of samples less 128, not
/// clamped, of which `samples::<ROW_SHIFT>` makes bytes. The operations of an instruction set have
/// to be in scope; the parameter is its name.
macro_rules! transform {
    ($features:literal) => {
        /// One dimension for half of the columns: `pairs` are rows 2 and 6, 7 and 1, 5 and 3, 7 + 3
        /// and 5 + 1; `ends` are row 0 plus and minus row 4. The results are divided by 2 to the
        /// power of `SHIFT`.
        #[inline]
        #[target_feature(enable = $features)]
        fn half_pass<const SHIFT: Bits>(
            pairs: [Pairs; 4],
            ends: [Sums; 2],
            by: Factors,
        ) -> [Half; 8] {
            let [a, c, d, b] = pairs;
            let t3 = madd_by::<{ F_0_541 + F_0_765 }, { F_0_541 }>(a, by);
            let t2 = madd_by::<{ F_0_541 }, { F_0_541 - F_1_847 }>(a, by);
            let (t0, t1) = (with_half::<SHIFT>(ends[0]), with_half::<SHIFT>(ends[1]));
            let (e0, e1) = (add32(t0, t3), add32(t1, t2));
            let (e2, e3) = (sub32(t1, t2), sub32(t0, t3));
            let by_3 = madd_by::<{ F_1_175 - F_1_961 }, { F_1_175 }>(b, by);
            let by_4 = madd_by::<{ F_1_175 }, { F_1_175 - F_0_390 }>(b, by);
            let o0 = add32(madd_by::<{ -F_0_899 }, { F_1_501 - F_0_899 }>(c, by), by_4);
            let o1 = add32(madd_by::<{ -F_2_562 }, { F_3_072 - F_2_562 }>(d, by), by_3);
            let o2 = add32(madd_by::<{ F_2_053 - F_2_562 }, { -F_2_562 }>(d, by), by_4);
            let o3 = add32(madd_by::<{ F_0_298 - F_0_899 }, { -F_0_899 }>(c, by), by_3);
            [
                add_narrowed::<SHIFT>(e0, o0),
                add_narrowed::<SHIFT>(e1, o1),
                add_narrowed::<SHIFT>(e2, o2),
                add_narrowed::<SHIFT>(e3, o3),
                sub_narrowed::<SHIFT>(e3, o3),
                sub_narrowed::<SHIFT>(e2, o2),
                sub_narrowed::<SHIFT>(e1, o1),
                sub_narrowed::<SHIFT>(e0, o0),
            ]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn pass<const SHIFT: Bits>(r: [Numbers; 8], by: Factors) -> [Numbers; 8] {
            const DOWN: Bits = (16 - CONST_BITS) as Bits;
            let (plus, minus) = (add16(r[0], r[4]), sub16(r[0], r[4]));
            let (z3, z4) = (add16(r[7], r[3]), add16(r[5], r[1]));
            // A number in the upper half of 32 bits is already multiplied by 2 to the power of 16.
            let low = half_pass::<SHIFT>(
                [
                    low_pairs(r[2], r[6]),
                    low_pairs(r[7], r[1]),
                    low_pairs(r[5], r[3]),
                    low_pairs(z3, z4),
                ],
                [low_scaled::<DOWN>(plus), low_scaled::<DOWN>(minus)],
                by,
            );
            let high = half_pass::<SHIFT>(
                [
                    high_pairs(r[2], r[6]),
                    high_pairs(r[7], r[1]),
                    high_pairs(r[5], r[3]),
                    high_pairs(z3, z4),
                ],
                [high_scaled::<DOWN>(plus), high_scaled::<DOWN>(minus)],
                by,
            );
            let both = |at: usize| join::<SHIFT>(low[at], high[at]);
            [both(0), both(1), both(2), both(3), both(4), both(5), both(6), both(7)]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn transpose(r: [Numbers; 8]) -> [Numbers; 8] {
            let ([a0, a1], [a2, a3]) = (zip16(r[0], r[1]), zip16(r[2], r[3]));
            let ([a4, a5], [a6, a7]) = (zip16(r[4], r[5]), zip16(r[6], r[7]));
            let ([b0, b1], [b2, b3]) = (zip32(a0, a2), zip32(a1, a3));
            let ([b4, b5], [b6, b7]) = (zip32(a4, a6), zip32(a5, a7));
            let ([c0, c1], [c2, c3]) = (zip64(b0, b4), zip64(b1, b5));
            let ([c4, c5], [c6, c7]) = (zip64(b2, b6), zip64(b3, b7));
            [c0, c1, c2, c3, c4, c5, c6, c7]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn transform(rows: [Numbers; 8], by: Factors) -> [Numbers; 8] {
            const COLUMNS: Bits = COLUMN_SHIFT as Bits;
            const ROWS: Bits = ROW_SHIFT as Bits;
            pass::<ROWS>(transpose(pass::<COLUMNS>(rows, by)), by)
        }
    };
}
pub(super) use transform;
