//! Wrappers of a source keep its facts.
#![allow(clippy::unwrap_used)]
use fdconvert_core::{
    Error, FieldFacts, FieldSpec, Ignored, Image, InnerClasses, Kind, Look, Result, Sample, Schema,
    Source, SourceFacts,
};
use fdconvert_pipeline::{ClassList, Concat, Prefixed, Without};
use std::sync::Arc;

/// A source with a value for every fact.
struct Known(SourceFacts);

impl Known {
    fn new(name: &str) -> Self {
        let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("n", Kind::Int)];
        let inner =
            InnerClasses { key: String::new(), names: ["cat".into()].into(), are_told: false };
        let member = Some("n.cls".to_owned());
        let field = FieldFacts { keeps_pixels: true, is_known: true, inner: vec![inner], member };
        let mut facts = SourceFacts {
            fields: vec![field.clone(), field],
            dropped_fields: vec!["text".into()],
            n_given: Some(3),
            reads_ahead: true,
            splits: vec![("train".into(), 0..2), ("val".into(), 2..4)],
            remarks: [format!("a remark on {name}").into()].into_iter().collect(),
            label_origin: Some("from nowhere".into()),
            ignored: Ignored { hidden: 7, ..Ignored::default() },
            ..SourceFacts::new(name, Schema::new(fields).unwrap(), 4)
        };
        facts.remarks.push_found(|| vec!["found by reading".into()]);
        Self(facts)
    }
}

impl Source for Known {
    fn facts(&self) -> &SourceFacts {
        &self.0
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        Err(Error::sample(self.key(index), "it is not read"))
    }

    fn key(&self, index: u64) -> String {
        index.to_string()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

#[test]
fn wrapped_sources_are_known_as_before() {
    let told = |source: &dyn Source| format!("{:?}", source.facts());
    let expected = told(&Known::new("a"));
    assert_eq!(told(&Prefixed::new(Box::new(Known::new("a")), "x")), expected);
    let none = Without::new(Arc::new(Known::new("a")), &[]).unwrap();
    assert_eq!(told(&none), expected);

    let rest = Without::new(Arc::new(Known::new("a")), &["image".into()]).unwrap();
    assert_eq!((rest.schema().fields.len(), rest.facts().fields.len()), (1, 1));
    assert!(rest.facts().is_open() && rest.facts().field(0).is_known);
}

#[test]
fn joined_sources_are_known_together() {
    let known = |name| Box::new(Known::new(name)) as Box<dyn Source>;
    let both = Concat::join(vec![known("a"), known("b")]).unwrap();
    let facts = both.facts();
    assert_eq!((both.name(), both.len(), facts.ignored.hidden), ("a + b", 8, 14));
    let ranges: Vec<_> = both.splits().iter().map(|(_, range)| range.clone()).collect();
    assert_eq!(ranges, [0..2, 2..4, 4..6, 6..8]);
    assert!(facts.reads_ahead && !facts.is_open());
    assert_eq!((facts.dropped_fields.len(), facts.field(1).inner.len()), (1, 1));
    assert!(facts.field(1).is_known && facts.field(1).keeps_pixels);
    assert_eq!(facts.field(1).member.as_deref(), Some("n.cls"));
    assert_eq!(facts.label_origin.as_deref(), Some("from nowhere"));
    let remarks: Vec<_> = both.remarks().iter().map(ToString::to_string).collect();
    let found = "found by reading";
    assert_eq!(remarks, ["a remark on a", found, "a remark on b", found]);
}

/// A source with lists of class numbers.
fn listed(name: &str, classes: &[&str]) -> Box<dyn Source> {
    let names = classes.iter().map(|class| (*class).to_owned()).collect();
    let inner = InnerClasses { key: String::new(), names, are_told: false };
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("tags", Kind::Json)];
    let mut facts = SourceFacts::new(name, Schema::new(fields).unwrap(), 1);
    facts.fields[1].inner = if classes.is_empty() { Vec::new() } else { vec![inner] };
    Box::new(Known(facts))
}

#[test]
fn numbers_within_lists_are_joined_if_all_sources_name_them_alike() {
    let join = |first: &[&str], second: &[&str]| {
        let joined = Concat::join(vec![listed("a", first), listed("b", second)]);
        joined.map(|joined| joined.facts().field(1).inner.len()).map_err(|error| error.to_string())
    };
    assert_eq!(join(&["cat", "dog"], &["cat"]), Ok(2));
    assert_eq!(join(&[], &[]), Ok(0));
    let said = join(&["cat", "dog"], &["dog", "cat"]).unwrap_err();
    assert!(said.contains("`tags` of b has `dog` as class 0, and that of a `cat`"), "{said}");
    for (first, second, named, unnamed) in
        [(&["cat"][..], &[][..], "a", "b"), (&[][..], &["cat"][..], "b", "a")]
    {
        let said = join(first, second).unwrap_err();
        let part = format!("of {named} has names of classes, and that of {unnamed} only numbers:");
        assert!(said.contains(&part), "{said}");
    }
}

#[test]
fn a_list_of_classes_does_not_contradict_numbers_within_lists() {
    let join = |own: &[&str]| {
        let classes = ClassList::new(["cat", "dog", "cow"].map(String::from).to_vec()).unwrap();
        let joined = Concat::with_classes(vec![listed("a", own)], classes, false);
        joined.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(join(&["cat", "dog"]), Ok(()));
    assert_eq!(join(&[]), Ok(()));
    for (own, class) in
        [(&["dog", "cat"][..], "`dog` as class 0"), (&["cat", "yak"], "`yak` as class 1")]
    {
        let said = join(own).unwrap_err();
        assert!(said.contains(class) && said.contains("the list has another"), "{said}");
    }
}
