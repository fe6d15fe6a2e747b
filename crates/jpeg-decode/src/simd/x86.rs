/// Two factors for a pair of 16-bit numbers.
pub(super) const fn pair(a: i32, b: i32) -> i32 {
    (a & 0xFFFF) | b << 16
}

/// Defines the operations that [`transform`](super::transform) needs, for vectors of 16-bit numbers
/// of x86-64. The caller passes the intrinsics of its vector width.
macro_rules! operations {
    (
        $vector:ty, $features:literal, zero $zero:ident, set $set:ident, madd $madd:ident,
        add16 $add16:ident, sub16 $sub16:ident, add32 $add32:ident, sub32 $sub32:ident,
        shift $shift:ident by $bits:ty, pack $pack:ident,
        low $low16:ident $low32:ident $low64:ident, high $high16:ident $high32:ident $high64:ident
    ) => {
        /// 16-bit numbers.
        pub(super) type Numbers = $vector;
        /// 32-bit numbers made of half of the 16-bit ones.
        pub(super) type Sums = $vector;
        /// Two 16-bit numbers for each 32-bit one, side by side.
        pub(super) type Pairs = $vector;
        /// Results for half of the columns, before [`join`].
        pub(super) type Half = $vector;
        /// The factors of the transform, which are constants here.
        pub(super) type Factors = ();
        /// A number of bits.
        pub(super) type Bits = $bits;

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn add16(a: Numbers, b: Numbers) -> Numbers {
            $add16(a, b)
        }

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn sub16(a: Numbers, b: Numbers) -> Numbers {
            $sub16(a, b)
        }

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn add32(a: Sums, b: Sums) -> Sums {
            $add32(a, b)
        }

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn sub32(a: Sums, b: Sums) -> Sums {
            $sub32(a, b)
        }

        /// Pairs the numbers of the first half of the columns.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn low_pairs(a: Numbers, b: Numbers) -> Pairs {
            $low16(a, b)
        }

        /// Pairs the numbers of the second half of the columns.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn high_pairs(a: Numbers, b: Numbers) -> Pairs {
            $high16(a, b)
        }

        /// Returns the first of each pair times a factor plus the second times another.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn madd(pairs: Pairs, a: i32, b: i32) -> Sums {
            $madd(pairs, $set(super::x86::pair(a, b)))
        }

        /// As [`madd`], for factors of the transform.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn madd_by<const A: i32, const B: i32>(pairs: Pairs, (): Factors) -> Sums {
            madd(pairs, A, B)
        }

        /// Returns the numbers of the first half of the columns times 2 to the power of 16, divided
        /// by 2 to the power of `DOWN`.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn low_scaled<const DOWN: Bits>(numbers: Numbers) -> Sums {
            $shift::<DOWN>($low16($zero(), numbers))
        }

        /// Returns the same of the second half.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn high_scaled<const DOWN: Bits>(numbers: Numbers) -> Sums {
            $shift::<DOWN>($high16($zero(), numbers))
        }

        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn add_to_each(sums: Sums, number: i32) -> Sums {
            $add32(sums, $set(number))
        }

        /// Adds half of 2 to the power of `SHIFT`, unless [`add_narrowed`] and [`sub_narrowed`] do
        /// that.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn with_half<const SHIFT: Bits>(sums: Sums) -> Sums {
            add_to_each(sums, 1 << (SHIFT - 1))
        }

        /// Divides by 2 to the power of `SHIFT`, and saturates.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn narrow<const SHIFT: Bits>([low, high]: [Sums; 2]) -> Numbers {
            $pack($shift::<SHIFT>(low), $shift::<SHIFT>(high))
        }

        /// Adds, for [`join`] to narrow.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn add_narrowed<const SHIFT: Bits>(a: Sums, b: Sums) -> Half {
            $add32(a, b)
        }

        /// Subtracts likewise.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn sub_narrowed<const SHIFT: Bits>(a: Sums, b: Sums) -> Half {
            $sub32(a, b)
        }

        /// Joins the results for both halves of the columns.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn join<const SHIFT: Bits>(low: Half, high: Half) -> Numbers {
            narrow::<SHIFT>([low, high])
        }

        /// Interleaves 16-bit numbers of the first halves, and of the second ones.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn zip16(a: Numbers, b: Numbers) -> [Numbers; 2] {
            [$low16(a, b), $high16(a, b)]
        }

        /// Interleaves pairs of numbers likewise.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn zip32(a: Numbers, b: Numbers) -> [Numbers; 2] {
            [$low32(a, b), $high32(a, b)]
        }

        /// Interleaves groups of four numbers likewise.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn zip64(a: Numbers, b: Numbers) -> [Numbers; 2] {
            [$low64(a, b), $high64(a, b)]
        }
    };
}
pub(super) use operations;
