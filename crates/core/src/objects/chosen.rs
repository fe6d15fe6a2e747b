use super::{CLASS_IDS, CLASS_NAMES, CLASSES, Category};
use bytes::Bytes;
use serde_json::{Value as Json, json};

/// Keeps the objects of a document for which there is a new category, and gives them that one: its
/// number, and the entry of the list with that number. `None` for text that is no document.
#[must_use]
pub fn chosen(document: &[u8], categories: &[Category], objects: &[Option<i64>]) -> Option<Bytes> {
    let mut document: Json = serde_json::from_slice(document).ok()?;
    let category = |number: i64| usize::try_from(number).ok().and_then(|at| categories.get(at));
    let kept: Vec<i64> = objects.iter().flatten().copied().collect();
    match &mut document {
        Json::Object(lists) => {
            for (key, list) in lists.iter_mut() {
                if let Some(list) = list.as_array_mut().filter(|_| key != "size") {
                    let mut is_kept = objects.iter().map(Option::is_some);
                    list.retain(|_| is_kept.next().unwrap_or(true));
                }
            }
            lists.insert(CLASSES.to_owned(), json!(kept));
            let named = kept.iter().map(|number| category(*number));
            let names = named.clone().map(|it| it.map(|it| it.name.as_str()));
            lists.insert(CLASS_NAMES.to_owned(), names.collect());
            if lists.contains_key(CLASS_IDS) {
                let ids: Option<Vec<i64>> =
                    named.map(|it| it.map_or(Some(-1), |it| it.id)).collect();
                match ids {
                    Some(ids) => _ = lists.insert(CLASS_IDS.to_owned(), json!(ids)),
                    None => _ = lists.remove(CLASS_IDS),
                }
            }
        }
        Json::Array(list) => {
            let mut is_kept = objects.iter().map(Option::is_some);
            list.retain(|_| is_kept.next().unwrap_or(true));
            for (object, number) in list.iter_mut().filter_map(Json::as_object_mut).zip(kept) {
                object.insert(CLASSES.to_owned(), number.into());
                if let Some(category) = category(number) {
                    object.insert(CLASS_NAMES.to_owned(), category.name.as_str().into());
                }
                object.remove(CLASS_IDS);
            }
        }
        _ => return None,
    }
    Some(document.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_lose_the_same_objects() {
        let categories = [Category { id: Some(3), ..Category::new("vehicle") }];
        let document = br#"{"size":[9,9],"bbox":[[1,2,3,4],[5,6,7,8]],"category":[2,0],
            "category_name":["car","cat"],"category_id":[4,1],"area":[1,2]}"#;
        let found = chosen(document, &categories, &[Some(0), None]).unwrap();
        let expected = r#"{"size":[9,9],"bbox":[[1,2,3,4]],"category":[0],
            "category_name":["vehicle"],"category_id":[3],"area":[1]}"#;
        let parsed = |text: &[u8]| serde_json::from_slice::<Json>(text).unwrap();
        assert_eq!(parsed(&found), parsed(expected.as_bytes()));
        let list = br#"[{"bbox":[1,2,3,4],"label":7},{"bbox":[5,6,7,8]}]"#;
        let found = chosen(list, &categories, &[None, Some(0)]).unwrap();
        let expected = br#"[{"bbox":[5,6,7,8],"category":0,"category_name":"vehicle"}]"#;
        assert_eq!(parsed(&found), parsed(expected));
        assert_eq!(chosen(b"{", &categories, &[]), None);
    }
}
