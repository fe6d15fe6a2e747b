//! Labels of several datasets are numbered by their class names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, epoch, options};
use fdconvert_core::{Reader, Value};
use fdconvert_loader::{
    Column, Datasets, Label, Loader, ObjectOptions, Options, Sampling, Transform,
};
use std::sync::Arc;

fn dataset(names: &[&str]) -> Arc<dyn Reader> {
    Memory::new(4).with_classes(2, names)
}

/// Returns options for the order of the datasets.
fn ordered(batch: u32) -> Options {
    options(batch, 16).sampling(Sampling::Sequential)
}

fn open(datasets: &[Arc<dyn Reader>], options: Options) -> fdconvert_core::Result<Loader> {
    let weighted = datasets.iter().map(|reader| (reader.clone(), 1.0)).collect();
    Loader::new(Datasets::weighted(weighted)?, options)
}

fn refused(datasets: &[Arc<dyn Reader>], options: Options) -> String {
    open(datasets, options).map(drop).unwrap_err().to_string()
}

fn labels(loader: &mut Loader) -> Vec<i64> {
    epoch(loader).into_iter().flat_map(|batch| batch.labels).collect()
}

fn list(names: &[&str]) -> Option<Arc<[String]>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn several_datasets_are_numbered_by_name() {
    let both = [dataset(&["cat", "dog"]), dataset(&["bird", "cat"])];
    let mut loader = open(&both, ordered(3)).unwrap();
    assert_eq!(labels(&mut loader), [1, 2, 1, 2, 0, 1, 0, 1]);
    assert_eq!(loader.datasets().class_names(), list(&["bird", "cat", "dog"]).as_ref());
    // An equal list in the same order is unchanged.
    let alike = [dataset(&["dog", "cat"]), dataset(&["dog", "cat"])];
    let mut loader = open(&alike, ordered(3)).unwrap();
    assert_eq!(labels(&mut loader), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(loader.datasets().class_names(), list(&["dog", "cat"]).as_ref());
    // Numbers without names stay numbers.
    let mut loader = open(&[dataset(&[]), dataset(&[])], ordered(3)).unwrap();
    assert_eq!(labels(&mut loader), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(loader.datasets().class_names(), None);
}

#[test]
fn labels_among_the_fields_are_numbered_alike() {
    let both = [dataset(&["cat", "dog"]), dataset(&["bird", "cat"])];
    let fields = vec!["label".to_owned()];
    for label in [Label::Auto, Label::None] {
        let options = ordered(8).fields(fields.clone()).label(label.clone());
        let mut loader = open(&both, options).unwrap();
        let batch = loader.next_batch().unwrap().unwrap();
        let expected = Column::Int(vec![1, 2, 1, 2, 0, 1, 0, 1]);
        assert_eq!(batch.field("label"), Some(&expected), "{label:?}");
    }
}

#[test]
fn soft_labels_have_a_column_for_each_name() {
    let both = [dataset(&["cat", "dog"]), dataset(&["bird", "cat"])];
    let mixup = Transform::MixUp { alpha: 0.2, num_classes: None };
    let never = Transform::RandomApply { transforms: vec![mixup], p: 0.0 };
    let options = ordered(8).transform(common::list([Transform::squeeze([16, 16]), never]));
    let mut loader = open(&both, options).unwrap();
    let batch = loader.next_batch().unwrap().unwrap();
    let Some(Column::Array { spec, bytes }) = batch.label_column() else { panic!() };
    assert_eq!(spec.shape, [8, 3]);
    let numbers = bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it));
    let numbers: Vec<f32> = numbers.collect();
    let classes = numbers.chunks(3).map(|row| row.iter().position(|it| *it == 1.0).unwrap());
    assert_eq!(classes.collect::<Vec<_>>(), [1, 2, 1, 2, 0, 1, 0, 1]);
}

#[test]
fn names_beside_numbers_without_names_are_refused() {
    let both = [dataset(&["cat", "dog"]), dataset(&[])];
    let said = refused(&both, ordered(3));
    assert!(said.contains("(cat, dog)") && said.contains("only numbers"), "{said}");
    assert!(said.contains("`classes`"), "{said}");
    let without = ordered(3).label(Label::None);
    assert!(open(&both, without).is_ok());
    let fields = vec!["label".to_owned()];
    let said = refused(&both, ordered(3).label(Label::None).fields(fields));
    assert!(said.starts_with("fields") && said.contains("only numbers"), "{said}");
}

#[test]
fn a_list_of_classes_numbers_them() {
    let classes = list(&["dog", "cat", "bird"]);
    let options = || ordered(3).classes(classes.clone());
    let both = [dataset(&["cat", "dog"]), dataset(&["bird", "cat"])];
    let mut loader = open(&both, options()).unwrap();
    assert_eq!(labels(&mut loader), [1, 0, 1, 0, 2, 1, 2, 1]);
    assert_eq!(loader.datasets().class_names(), classes.as_ref());
    // One dataset alone, such as a validation set without one of the classes, and one without
    // names.
    assert_eq!(labels(&mut open(&both[..1], options()).unwrap()), [1, 0, 1, 0]);
    assert_eq!(labels(&mut open(&[dataset(&[])], options()).unwrap()), [0, 1, 0, 1]);
    let unknown: Arc<dyn Reader> = Memory::new(4);
    let said = refused(&[unknown], options());
    assert!(said.contains("has the class `class-0`, which is not in the list"), "{said}");
    let more: Arc<dyn Reader> = Memory::new(8).with_classes(7, &[]);
    let said = open(&[more], options()).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(said.contains("class 3 is not one of the 3"), "{said}");
    for (names, part) in [(&[][..], "empty"), (&["a", "a"], "twice")] {
        let said = refused(&both, ordered(3).classes(list(names)));
        assert!(said.contains(part), "{said}");
    }
    let said = refused(&both, options().label(Label::None));
    assert!(said.contains("labels and objects, and batches have none"), "{said}");
}

#[test]
fn a_list_of_classes_numbers_objects_too() {
    let with = |lists: &str| -> Arc<dyn Reader> {
        let document = format!(r#"{{"bbox": [[0, 0, 9, 9], [0, 0, 8, 8]], {lists}}}"#);
        let label = ("label", Value::Int(1));
        Memory::new(1).with_fields(&[label, ("objects", Value::Json(document.into()))])
    };
    let classes = list(&["dog", "cat", "bird"]);
    let options = |label| {
        let objects = Some(ObjectOptions::of("objects"));
        ordered(4).label(label).objects(objects).classes(classes.clone())
    };
    let named = with(r#""category": [0, -1], "category_name": ["cat", null]"#);
    // Also datasets that number their classes in two ways.
    let both = [named, with(r#""label": ["bird", "cat"]"#), with(r#""category": [2, 0]"#)];
    for label in [Label::None, Label::Auto] {
        let mut loader = open(&both, options(label)).unwrap();
        let batch = loader.next_batch().unwrap().unwrap();
        let Some(Column::Objects(objects)) = batch.field("objects") else { panic!() };
        assert_eq!(objects.category, [1, -1, 2, 1, 2, 0]);
        assert_eq!(loader.datasets().class_names(), classes.as_ref());
    }
    let unknown = with(r#""category": [0, 1], "category_name": ["cat", "cow"]"#);
    let said = open(&[unknown], options(Label::None)).unwrap().find_map(Result::err).unwrap();
    assert!(said.to_string().contains("`cow`, which is not on the list of 3"), "{said}");
}

#[test]
fn copies_in_a_folder_are_of_one_numbering() {
    let folder = tempfile::tempdir().unwrap();
    let numbered = |names: Option<Arc<[String]>>| {
        let cache_folder = Some(folder.path().join("cache"));
        let options = options(4, 16).cache_bytes(1 << 30).cache_folder(cache_folder).classes(names);
        labels(&mut open(&[dataset(&["cat", "dog"])], options).unwrap())
    };
    let before = numbered(None);
    assert_eq!(before, numbered(list(&["cat", "dog"])));
    let swapped: Vec<i64> = before.iter().map(|label| 1 - label).collect();
    assert_eq!(swapped, numbered(list(&["dog", "cat"])));
}

#[test]
fn categories_of_objects_have_one_meaning() {
    let boxes = |number: i64, name: &str| -> Arc<dyn Reader> {
        let document = format!(
            r#"{{"bbox": [[0, 0, 9, 9]], "category": [{number}], "category_name": ["{name}"]}}"#
        );
        Memory::new(2).with_fields(&[("objects", Value::Json(document.into()))])
    };
    let options = || ordered(4).label(Label::None).objects(Some(ObjectOptions::of("objects")));
    let load = |datasets: &[Arc<dyn Reader>]| {
        open(datasets, options()).unwrap().find_map(Result::err).map(|error| error.to_string())
    };
    assert_eq!(load(&[boxes(0, "cat"), boxes(0, "cat"), boxes(1, "dog")]), None);
    let said = load(&[boxes(0, "cat"), boxes(0, "dog")]).unwrap();
    assert!(said.contains("category 0 is `dog`, and `cat` in memory"), "{said}");
    let said = load(&[boxes(0, "cat"), boxes(3, "cat")]).unwrap();
    assert!(said.contains("`cat` is category 3, and 0 in memory"), "{said}");
}
