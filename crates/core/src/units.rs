//! Sizes and rates for people: the same look in the terminal, on pages and in images.

/// Formats bytes in units of 1024.
///
/// ```
/// use fdconvert_core::size;
///
/// assert_eq!(size(512), "512 B");
/// assert_eq!(size(12_910_000), "12.31 MiB");
/// ```
#[must_use]
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut scaled = bytes as f64 / 1024.0;
    for unit in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if scaled < 1024.0 {
            return format!("{scaled:.2} {unit}");
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.2} EiB")
}

/// Formats bytes per second in units of 1024: `190.73 MiB/s`.
#[must_use]
pub fn bandwidth(bytes_per_s: f64) -> String {
    format!("{}/s", size(bytes_per_s as u64))
}

/// Formats the number before `images/s`, with about three digits.
///
/// ```
/// use fdconvert_core::images_per_s;
///
/// assert_eq!([1189.2, 42.25, 0.5].map(images_per_s), ["1189", "42.2", "0.50"]);
/// ```
#[must_use]
pub fn images_per_s(rate: f64) -> String {
    match rate {
        _ if rate.is_infinite() => "unlimited".into(),
        _ if rate >= 100.0 || rate == 0.0 => format!("{rate:.0}"),
        _ if rate >= 1.0 => format!("{rate:.1}"),
        _ if rate >= 0.01 => format!("{rate:.2}"),
        _ => format!("{rate:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_of_1024() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_048_575, "1024.00 KiB"),
            (1 << 20, "1.00 MiB"),
            (5_500_000_000, "5.12 GiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(bandwidth(200e6), "190.73 MiB/s");
        assert_eq!(bandwidth(f64::NAN), "0 B/s");
    }
}
