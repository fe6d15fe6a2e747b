/// Limit on the size of an image. No limit enlarges an image, and no side becomes 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// The longer side is at most this many pixels, with FFCV's arithmetic: both sides are
    /// multiplied by the same `f64` ratio and truncated. The longer side therefore comes out one
    /// pixel short for some sizes (531 to 500 gives 499), exactly as FFCV's does.
    MaxSide(u32),
    /// The shorter side is at most this many pixels; both sides are rounded to nearest.
    ShortSide(u32),
}

impl Size {
    /// Returns the size that an image of `width` x `height` gets.
    #[must_use]
    pub fn target(self, width: u32, height: u32) -> (u32, u32) {
        let (limit, side) = match self {
            Self::MaxSide(limit) => (limit, width.max(height)),
            Self::ShortSide(limit) => (limit, width.min(height)),
        };
        let ratio = f64::from(limit) / f64::from(side);
        if ratio >= 1.0 || side == 0 {
            return (width, height);
        }
        // A cast truncates toward zero.
        let scale = |side: u32| match self {
            Self::MaxSide(_) => (ratio * f64::from(side)) as u32,
            Self::ShortSide(_) => (ratio * f64::from(side)).round() as u32,
        };
        (scale(width).max(1), scale(height).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn max_side_truncates_as_ffcv_does() {
        let target = |limit, width, height| Size::MaxSide(limit).target(width, height);
        assert_eq!(target(256, 768, 512), (256, 170));
        assert_eq!(target(500, 531, 400), (499, 376));
        assert_eq!(target(256, 322, 322), (255, 255));
        assert_eq!(target(500, 500, 333), (500, 333));
        assert_eq!(target(500, 20, 10), (20, 10));
        assert_eq!(target(100, 60_000, 2), (100, 1));
    }

    #[test]
    fn short_side_rounds() {
        let target = |limit, width, height| Size::ShortSide(limit).target(width, height);
        assert_eq!(target(256, 768, 512), (384, 256));
        assert_eq!(target(256, 500, 375), (341, 256));
        assert_eq!(target(256, 200, 1000), (200, 1000));
    }

    proptest! {
        #[test]
        fn nothing_grows_and_nothing_vanishes(
            limit in 1..5000u32, width in 1..70_000u32, height in 1..70_000u32,
        ) {
            for size in [Size::MaxSide(limit), Size::ShortSide(limit)] {
                let (w, h) = size.target(width, height);
                prop_assert!((1..=width).contains(&w) && (1..=height).contains(&h));
                // The rule is the same for a rotated image.
                prop_assert_eq!(size.target(height, width), (h, w));
            }
        }
    }
}
