//! Class numbers of the objects in a sample's image.
use fdconvert_core::objects::{CLASS_NAMES, CLASSES, ClassNumbers, ObjectClasses};

/// Returns the number of each object, by a list of names if there is one; `None` if the document
/// has no classes.
///
/// # Errors
/// A description of the fault: a class that is not in the list; without one, classes that are texts
/// or in a list that is not known for one.
pub(super) fn category(
    found: ObjectClasses,
    wanted: Option<&ClassNumbers>,
) -> Result<Option<Vec<i64>>, String> {
    if let Some(wanted) = wanted.filter(|_| found.numbers.is_some() || found.names.is_some()) {
        let number = |at| wanted.of_object(&found, at).map(|(number, _)| number);
        return (0..found.n_objects).map(number).collect::<Result<_, _>>().map(Some);
    }
    if found.numbers.is_some() || found.n_objects == 0 {
        return Ok(found.numbers);
    }
    if found.names.is_some() {
        return Err(format!(
            "its classes, `{}`, are texts, and batches have numbers: give each class a number, in a \
             list `{CLASSES}`, and keep the texts as `{CLASS_NAMES}`, or give the names in the order \
             of their numbers (`classes`)",
            found.names_key
        ));
    }
    if found.unknown.is_empty() {
        return Ok(None);
    }
    Err(format!(
        "no list of classes is known among `{}`: call the one with their numbers `{CLASSES}`, or \
         leave the others out",
        found.unknown.join("`, `")
    ))
}

#[cfg(test)]
mod tests {
    use super::category;
    use fdconvert_core::objects::Annotations;

    fn classes(json: &str) -> Result<Option<Vec<i64>>, String> {
        category(Annotations::parse(json.as_bytes(), false)?.classes, None)
    }

    #[test]
    fn classes_are_found_under_their_many_names() {
        for key in ["category", "categories", "label", "labels", "category_id", "class", "classId"]
        {
            let lists = format!("{{\"bbox\":[[1,2,3,4]],\"score\":[1],\"{key}\":[3]}}");
            assert_eq!(classes(&lists), Ok(Some(vec![3])), "{key}");
            let list = format!("[{{\"{key}\":3.0,\"bbox\":[1,2,3,4]}}]");
            assert_eq!(classes(&list), Ok(Some(vec![3])), "{key}");
        }
        let texts_beside = r#"{"bbox":[[1,2,3,4]],"category":["cat"],"category_id":[7]}"#;
        assert_eq!(classes(texts_beside), Ok(Some(vec![7])));
        let both = r#"{"bbox":[[1,2,3,4]],"label":[2],"category":[7]}"#;
        assert_eq!(classes(both), Ok(Some(vec![7])));
        assert_eq!(classes(r#"{"bbox":[[1,2,3,4]],"label":[2],"class":[2]}"#), Ok(Some(vec![2])));
    }

    #[test]
    fn what_could_be_a_class_and_is_none_is_refused_by_name() {
        for (lists, what) in [
            (
                r#""label":[2],"class":[3]"#,
                "`label` and `class` could both be the classes, and differ",
            ),
            (r#""label":["cat"]"#, "its classes, `label`, are texts"),
            (r#""category_name":["cat"]"#, "its classes, `category_name`, are texts"),
            (
                r#""kind":[2],"score":[1]"#,
                "no list of classes is known among `kind`, `score`: call",
            ),
            (r#""kind":["cat"]"#, "no list of classes is known among `kind`"),
        ] {
            let said = classes(&format!("{{\"bbox\":[[1,2,3,4]],{lists}}}")).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn objects_without_anything_like_a_class_have_none() {
        for lists in [
            r#"{"bbox":[[1,2,3,4]],"score":[0.5],"difficult":[1],"pose":[""],"mask":[null]}"#,
            r#"{"bbox":[[1,2,3,4]],"image_id":5,"parts":[[1,2]],"hidden":[true],"category":null}"#,
            r#"{"bbox":[],"label":[]}"#,
            r#"{"category":[],"label":[]}"#,
            "[]",
            "{}",
            "null",
        ] {
            assert_eq!(classes(lists), Ok(None), "{lists}");
        }
    }
}
