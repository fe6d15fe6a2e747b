use std::f64::consts::PI;
use std::sync::LazyLock;

/// Number of hues, through which the points cycle.
pub(crate) const N_HUES: usize = 128;

/// RGB of point `i`, at position `i % 128`.
pub(crate) static PALETTE: LazyLock<[[u8; 3]; N_HUES]> =
    LazyLock::new(|| std::array::from_fn(|hue| rgb(2.0 * PI * hue as f64 / N_HUES as f64)));

/// RGB of a hue from 0 to below 2 pi, with saturation and intensity 0.75: the original's variant of
/// HSI, truncated.
fn rgb(hue: f64) -> [u8; 3] {
    let (saturation, intensity) = (0.75, 0.75);
    let sixth = 3.0 * hue / PI;
    let sector = sixth.floor();
    let within = sixth - sector;
    let least = intensity * (1.0 - saturation);
    let falling = intensity * (1.0 - saturation * within);
    let rising = intensity * (1.0 - saturation * (1.0 - within));
    let color = match sector as u8 {
        0 => [least, rising, intensity],
        1 => [least, intensity, falling],
        2 => [rising, intensity, least],
        3 => [intensity, falling, least],
        4 => [intensity, least, rising],
        _ => [falling, least, intensity],
    };
    color.map(|share| (share * 255.0) as u8)
}
