//! A class as names and numbers, as files store it.
use crate::csv::c_exponent;
use fdconvert_core::{Error, Result};
use std::ops::RangeInclusive;

/// The parameters of a class, named as in the originals' files.
pub(super) type Params = Vec<(&'static str, f64)>;

/// The parameters with integer values.
const WHOLE: [&str; 5] = ["Vertex", "Center_rad", "Line_num", "nami1", "nami2"];

/// Parameters from outside, taken by name one after another.
pub(super) struct Given<'a> {
    values: Vec<(&'a str, f64)>,
}

impl<'a> Given<'a> {
    pub(super) fn new<S: AsRef<str>>(params: &'a [(S, f64)]) -> Self {
        Self { values: params.iter().map(|(name, value)| (name.as_ref(), *value)).collect() }
    }

    /// Takes a number, which must be in `bounds`.
    pub(super) fn real(&mut self, name: &str, bounds: RangeInclusive<f64>) -> Result<f64> {
        let Some(at) = self.values.iter().position(|(given, _)| *given == name) else {
            return Err(Error::usage("class", format!("{name} is missing")));
        };
        let (_, value) = self.values.swap_remove(at);
        if !bounds.contains(&value) {
            let what =
                format!("{name}: {value} is not from {} to {}", bounds.start(), bounds.end());
            return Err(Error::usage("class", what));
        }
        Ok(value)
    }

    /// Takes an integer, which must be in `bounds`.
    pub(super) fn whole(&mut self, name: &str, bounds: RangeInclusive<u32>) -> Result<u32> {
        let value = self.real(name, f64::from(*bounds.start())..=f64::from(*bounds.end()))?;
        if value.fract() != 0.0 {
            return Err(Error::usage("class", format!("{name}: {value} is not an integer")));
        }
        Ok(value as u32)
    }

    /// Checks that every parameter was taken: one that is left was given twice, or does not belong
    /// to the family.
    pub(super) fn finish(self) -> Result<()> {
        match self.values.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Error::usage("class", format!("{name} is given twice or unknown")))
            }
        }
    }
}

/// Formats lines `name,value` as Python's `csv` module does.
pub(super) fn to_csv(params: &[(&'static str, f64)]) -> String {
    let line = |(name, value): &(&str, f64)| {
        let value = if WHOLE.contains(name) { format!("{value:.0}") } else { python_float(*value) };
        format!("{name},{value}\r\n")
    };
    params.iter().map(line).collect()
}

pub(super) fn from_csv(text: &str) -> Result<Vec<(&str, f64)>> {
    let wrong =
        |line: &str| Error::usage("class", format!("{line:?} is not a name, a comma and a number"));
    let pair = |line| {
        let (name, value) = str::split_once(line, ',').ok_or_else(|| wrong(line))?;
        Ok((name.trim(), value.trim().parse().map_err(|_| wrong(line))?))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(pair).collect()
}

/// Formats the shortest text that reads back as `value`, as Python does: it and Rust switch to
/// exponents at the same values.
fn python_float(value: f64) -> String {
    c_exponent(format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::python_float;

    #[test]
    fn floats_print_as_in_python() {
        let cases = [
            (0.0, "0.0"),
            (256.5, "256.5"),
            (1e-4, "0.0001"),
            (9.5e-5, "9.5e-05"),
            (1.25e-12, "1.25e-12"),
            (1e16, "1e+16"),
            (-3e100, "-3e+100"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
        ];
        for (value, text) in cases {
            assert_eq!(python_float(value), text);
        }
    }
}
