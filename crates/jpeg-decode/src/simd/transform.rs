//! The two passes of the inverse DCT for vectors of any width, with a block in every lane of 128
//! bits: the arithmetic of [`crate::idct`].

/// Two factors for a pair of 16-bit numbers.
pub(super) const fn pair(a: i32, b: i32) -> i32 {
    (a & 0xFFFF) | b << 16
}

/// Defines `transform`, from 8 rows of dequantised values to 8 rows of samples less 128, not
/// clamped. Its parameters are the intrinsics of a width.
macro_rules! transform {
    (
        $vector:ty, $features:literal, zero $zero:ident, set $set:ident, madd $madd:ident,
        add16 $add16:ident, sub16 $sub16:ident, add32 $add32:ident, sub32 $sub32:ident,
        shift $shift:ident by $bits:ty, pack $pack:ident,
        low $low16:ident $low32:ident $low64:ident, high $high16:ident $high32:ident $high64:ident
    ) => {
        /// One dimension for half of the columns, as 32-bit sums: `pairs` are rows 2 and 6, 7 and
        /// 1, 5 and 3, 7 + 3 and 5 + 1, interleaved; `ends` are row 0 plus and minus row 4.
        #[inline]
        #[target_feature(enable = $features)]
        fn sums(pairs: [$vector; 4], ends: [$vector; 2], half: i32) -> [$vector; 8] {
            let by = |a: i32, b: i32| $set(pair(a, b));
            let [a, c, d, b] = pairs;
            let t3 = $madd(a, by(F_0_541 + F_0_765, F_0_541));
            let t2 = $madd(a, by(F_0_541, F_0_541 - F_1_847));
            let half = $set(half);
            let (t0, t1) = ($add32(ends[0], half), $add32(ends[1], half));
            let (e0, e1) = ($add32(t0, t3), $add32(t1, t2));
            let (e2, e3) = ($sub32(t1, t2), $sub32(t0, t3));
            let by_3 = $madd(b, by(F_1_175 - F_1_961, F_1_175));
            let by_4 = $madd(b, by(F_1_175, F_1_175 - F_0_390));
            let o0 = $add32($madd(c, by(-F_0_899, F_1_501 - F_0_899)), by_4);
            let o1 = $add32($madd(d, by(-F_2_562, F_3_072 - F_2_562)), by_3);
            let o2 = $add32($madd(d, by(F_2_053 - F_2_562, -F_2_562)), by_4);
            let o3 = $add32($madd(c, by(F_0_298 - F_0_899, -F_0_899)), by_3);
            [
                $add32(e0, o0),
                $add32(e1, o1),
                $add32(e2, o2),
                $add32(e3, o3),
                $sub32(e3, o3),
                $sub32(e2, o2),
                $sub32(e1, o1),
                $sub32(e0, o0),
            ]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn both_sums(r: [$vector; 8], half: i32) -> [[$vector; 8]; 2] {
            let (zero, plus, minus) = ($zero(), $add16(r[0], r[4]), $sub16(r[0], r[4]));
            let (z3, z4) = ($add16(r[7], r[3]), $add16(r[5], r[1]));
            // A number in the upper half of 32 bits is already multiplied by 2 to the power of 16.
            let scaled = |it| $shift::<{ (16 - CONST_BITS) as $bits }>(it);
            let low = sums(
                [$low16(r[2], r[6]), $low16(r[7], r[1]), $low16(r[5], r[3]), $low16(z3, z4)],
                [scaled($low16(zero, plus)), scaled($low16(zero, minus))],
                half,
            );
            let high = sums(
                [$high16(r[2], r[6]), $high16(r[7], r[1]), $high16(r[5], r[3]), $high16(z3, z4)],
                [scaled($high16(zero, plus)), scaled($high16(zero, minus))],
                half,
            );
            [low, high]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn column_pass(rows: [$vector; 8]) -> [$vector; 8] {
            let [low, high] = both_sums(rows, 1 << (COLUMN_SHIFT - 1));
            let down = |it| $shift::<{ COLUMN_SHIFT as $bits }>(it);
            let one = |at: usize| $pack(down(low[at]), down(high[at]));
            [one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7)]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn row_pass(rows: [$vector; 8]) -> [$vector; 8] {
            let [low, high] = both_sums(rows, 1 << (ROW_SHIFT - 1));
            let down = |it| $shift::<{ ROW_SHIFT as $bits }>(it);
            let one = |at: usize| $pack(down(low[at]), down(high[at]));
            [one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7)]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn transpose(r: [$vector; 8]) -> [$vector; 8] {
            let (a0, a1) = ($low16(r[0], r[1]), $high16(r[0], r[1]));
            let (a2, a3) = ($low16(r[2], r[3]), $high16(r[2], r[3]));
            let (a4, a5) = ($low16(r[4], r[5]), $high16(r[4], r[5]));
            let (a6, a7) = ($low16(r[6], r[7]), $high16(r[6], r[7]));
            let (b0, b1) = ($low32(a0, a2), $high32(a0, a2));
            let (b2, b3) = ($low32(a1, a3), $high32(a1, a3));
            let (b4, b5) = ($low32(a4, a6), $high32(a4, a6));
            let (b6, b7) = ($low32(a5, a7), $high32(a5, a7));
            [
                $low64(b0, b4),
                $high64(b0, b4),
                $low64(b1, b5),
                $high64(b1, b5),
                $low64(b2, b6),
                $high64(b2, b6),
                $low64(b3, b7),
                $high64(b3, b7),
            ]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn transform(rows: [$vector; 8]) -> [$vector; 8] {
            transpose(row_pass(transpose(column_pass(rows))))
        }
    };
}
pub(super) use transform;
