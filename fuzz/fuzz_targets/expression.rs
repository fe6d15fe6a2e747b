//! Any text as an expression over the samples of a source, evaluated for some of them.
#![no_main]
use fdconvert_pipeline::{Expression, Scalar, Type, splits_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = [("width", Type::Number), ("label", Type::Text), ("my field", Type::Number)];
    let names = names.map(|(name, kind)| (name.to_owned(), kind));
    let sketch = splits_of(text);
    match Expression::parse(text, &names) {
        Err(what) => assert!(what.contains("column") && what.contains('^')),
        Ok(expression) => {
            sketch.expect("it is an expression whatever names there are");
            for value in [None, Some(Scalar::Int(i64::MIN)), Some(Scalar::Float(f64::NAN))] {
                let of = |name| match name {
                    1 => Ok(Some(Scalar::Text("cat".to_owned()))),
                    _ => Ok(value.clone()),
                };
                expression.holds(&of).expect("no name fails");
            }
        }
    }
});
