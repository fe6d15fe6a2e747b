//! Any text as an expression over the samples of a source, evaluated for some of them, and as rules
//! for categories.
#![no_main]
use fdconvert_core::objects::Annotations;
use fdconvert_pipeline::{Expression, LabelMap, Scalar, Type, splits_of};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const OBJECTS: &[u8] = br#"{"bbox":[[1,2,3,4],[0,0,0,0]],"category":[7,-1],
    "category_name":["car",null],"area":[null,1e300],"truncated":[true,"a"]}"#;

fuzz_target!(|text: &str| {
    if let Ok(rules) = text.parse::<LabelMap>() {
        assert_eq!(rules.to_string().parse(), Ok(rules));
    }
    let names = [
        ("width", Type::Number),
        ("label", Type::Text),
        ("my field", Type::Number),
        ("objects", Type::Objects),
    ];
    let names = names.map(|(name, kind)| (name.to_owned(), kind));
    let sketch = splits_of(text);
    match Expression::parse(text, &names) {
        Err(what) => assert!(what.contains("column") && what.contains('^')),
        Ok(expression) => {
            sketch.expect("it is an expression whatever names there are");
            for value in [None, Some(Scalar::Int(i64::MIN)), Some(Scalar::Float(f64::NAN))] {
                let objects = Annotations::parse(OBJECTS, false).expect("they are objects");
                let objects = Arc::new(objects);
                let of = |name| match name {
                    1 => Ok(Some(Scalar::Text("cat".to_owned()))),
                    3 => Ok(value.as_ref().map(|_| Scalar::Objects(Arc::clone(&objects)))),
                    _ => Ok(value.clone()),
                };
                expression.holds(&of).expect("no name fails");
            }
        }
    }
});
