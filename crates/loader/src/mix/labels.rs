//! Mixed labels: a number for each class in every row.

use super::{Blend, Mix};
use crate::{column::Column, dataset::Datasets, fields::FieldValue};
use fdconvert_core::{ArraySpec, DType, Error, Kind, Result, Value};
use half::f16;

pub(crate) struct SoftLabels {
    n_classes: usize,
    /// Type of labels that already have a number for each class, and their position among the
    /// fields. `None` for labels that are classes: the row then has 1 for its class and else 0.
    arrays: Option<(DType, usize)>,
}

/// The label of a row, and the facts that mixing needs.
pub(crate) struct LabelRow<'a> {
    pub(crate) sample: u64,
    /// The label, if it is a class.
    pub(crate) label: i64,
    pub(crate) fields: Option<&'a [FieldValue]>,
    /// False for a row without a sample: its numbers are all 0.
    pub(crate) is_filled: bool,
    /// False for a row that does not take part in mixing.
    pub(crate) is_valid: bool,
}

impl SoftLabels {
    /// # Errors
    /// `Usage` for labels that are neither classes nor numbers for each class, and if the number of
    /// classes is unknown.
    pub(super) fn new(datasets: &Datasets, mix: &Mix, n_rows: u32) -> Result<Self> {
        let fields = datasets.fields();
        if fields.label().is_none() && datasets.labels().next().is_none() {
            let what = "MixUp and CutMix need labels: name the field, or leave them out";
            return Err(Error::usage("label", what));
        }
        let (n_classes, arrays) = match fields.label() {
            None => (n_classes(datasets, mix)?, None),
            Some((number, field)) => {
                let (dtype, n_classes) = of_arrays(&field.name, &field.kind, mix)?;
                (n_classes, Some((dtype, number)))
            }
        };
        let n_bytes = n_classes.saturating_mul(n_rows as usize).saturating_mul(4);
        if n_bytes as u64 > 1 << 40 {
            let what = format!("{n_rows} rows of {n_classes} numbers are too large");
            return Err(Error::usage("transform", format!("num_classes: {what}")));
        }
        Ok(Self { n_classes, arrays })
    }

    /// Returns the mixed labels of a batch.
    ///
    /// # Errors
    /// `Usage`, with sample and label, for a label that is not a class.
    pub(super) fn mixed<'a>(
        &self,
        blend: &Blend,
        rows: impl ExactSizeIterator<Item = LabelRow<'a>>,
    ) -> Result<Column> {
        let n_rows = rows.len();
        let mut numbers = vec![0.0_f32; n_rows * self.n_classes];
        let mut valid = Vec::with_capacity(n_rows);
        for (numbers, row) in numbers.chunks_exact_mut(self.n_classes).zip(rows) {
            if row.is_filled {
                self.write(&row, numbers)?;
            }
            if row.is_valid {
                valid.push(numbers);
            }
        }
        blend.mix_numbers(&mut valid);
        let shape = vec![n_rows as u64, self.n_classes as u64];
        let bytes = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
        Ok(Column::Array { spec: ArraySpec { dtype: DType::F32, shape, torch: false }, bytes })
    }

    /// Writes the label of one row into zeroed numbers.
    fn write(&self, row: &LabelRow<'_>, numbers: &mut [f32]) -> Result<()> {
        let LabelRow { sample, label, fields, .. } = *row;
        if let Some((dtype, number)) = self.arrays {
            // The kind of a value was checked when it was read.
            if let Some(Value::Array(bytes)) = fields.and_then(|fields| fields.get(number)) {
                widen(dtype, bytes, numbers);
            }
            return Ok(());
        }
        let place = usize::try_from(label).ok().and_then(|class| numbers.get_mut(class));
        let Some(place) = place else {
            let what = format!(
                "sample {sample} has the label {label}, which is not one of {} classes that are \
                 counted from 0",
                self.n_classes
            );
            return Err(Error::usage("transform", format!("num_classes: {what}")));
        };
        *place = 1.0;
        Ok(())
    }
}

/// Returns the number of classes, from the options or from the names of all datasets.
fn n_classes(datasets: &Datasets, mix: &Mix) -> Result<usize> {
    let names = datasets.class_names().filter(|names| !names.is_empty());
    match (mix.num_classes, names) {
        (Some(n_classes), Some(names)) if (n_classes as usize) < names.len() => {
            let what = format!("the label has names of {} classes: leave it out", names.len());
            return Err(Error::usage("transform", format!("num_classes: {what}")));
        }
        (Some(n_classes), _) => return Ok(n_classes as usize),
        (None, Some(names)) => return Ok(names.len()),
        (None, None) => {}
    }
    let Some((reader, field)) = datasets.labels().next() else { return Ok(1) };
    let what = format!(
        "the label `{}` of {} has no names of classes that could be counted: say how many there are",
        field.name,
        reader.name()
    );
    Err(Error::usage("transform", format!("num_classes: {what}")))
}

/// Returns type and length of labels that are arrays.
fn of_arrays(name: &str, kind: &Kind, mix: &Mix) -> Result<(DType, usize)> {
    let refuse = |what: String| Err(Error::usage("label", what));
    let Kind::Array(spec) = kind else {
        return refuse(format!(
            "`{name}` is of kind {}, and only integers that are classes, and arrays with a number \
             for each class, can be mixed",
            kind.name()
        ));
    };
    let [n_elements] = spec.shape[..] else {
        let what = "and only rows of one number for each class can be mixed";
        return refuse(format!("the arrays `{name}` have the shape {:?}, {what}", spec.shape));
    };
    if matches!(spec.dtype, DType::C64 | DType::C128) || n_elements == 0 {
        return refuse(format!(
            "`{name}` holds {n_elements} numbers of {}, which are not shares of classes",
            spec.dtype.name()
        ));
    }
    if mix.num_classes.is_some_and(|n_classes| u64::from(n_classes) != n_elements) {
        let what = format!("the label `{name}` has {n_elements} numbers; leave it out");
        return Err(Error::usage("transform", format!("num_classes: {what}")));
    }
    // The values of a batch are contiguous in memory.
    Ok((spec.dtype, usize::try_from(n_elements).unwrap_or(usize::MAX)))
}

/// Converts little-endian elements to single-precision numbers.
fn widen(dtype: DType, bytes: &[u8], to: &mut [f32]) {
    fn each<const N: usize>(bytes: &[u8], to: &mut [f32], number: impl Fn([u8; N]) -> f32) {
        let (elements, _) = bytes.as_chunks::<N>();
        to.iter_mut().zip(elements).for_each(|(to, element)| *to = number(*element));
    }
    match dtype {
        DType::Bool => each(bytes, to, |[byte]| f32::from(u8::from(byte != 0))),
        DType::I8 => each(bytes, to, |bytes| f32::from(i8::from_le_bytes(bytes))),
        DType::U8 => each(bytes, to, |bytes| f32::from(u8::from_le_bytes(bytes))),
        DType::I16 => each(bytes, to, |bytes| f32::from(i16::from_le_bytes(bytes))),
        DType::U16 => each(bytes, to, |bytes| f32::from(u16::from_le_bytes(bytes))),
        DType::I32 => each(bytes, to, |bytes| i32::from_le_bytes(bytes) as f32),
        DType::U32 => each(bytes, to, |bytes| u32::from_le_bytes(bytes) as f32),
        DType::I64 => each(bytes, to, |bytes| i64::from_le_bytes(bytes) as f32),
        DType::U64 => each(bytes, to, |bytes| u64::from_le_bytes(bytes) as f32),
        DType::F16 => each(bytes, to, |bytes| f16::from_le_bytes(bytes).to_f32()),
        DType::F32 => each(bytes, to, f32::from_le_bytes),
        DType::F64 => each(bytes, to, |bytes| f64::from_le_bytes(bytes) as f32),
        // Refused when the loader was created.
        DType::C64 | DType::C128 => {}
    }
}
