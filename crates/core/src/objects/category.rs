use serde::{Deserialize, Serialize};

/// A category of objects, as the list of a dataset has it: it is there whether or not any object
/// is of it. Its number is its position in the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Category {
    /// Name, unique in the list.
    pub name: String,
    /// Id in the file that it comes from, where ids are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// The group that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supercategory: Option<String>,
    /// Names of the keypoints of each object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keypoints: Vec<String>,
    /// Pairs of keypoints, counted from 1 as in COCO, with a line between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skeleton: Vec<[u32; 2]>,
}

impl Category {
    /// Creates a category of which only the name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Joins the lists of several datasets. A list that all share stays as it is; otherwise the
    /// names are sorted, as those of other classes are, and ids are kept only if no two lists
    /// contradict each other. Of a category with the same name in several lists the first wins.
    #[must_use]
    pub fn joined(lists: &[&[Self]]) -> Vec<Self> {
        let Some((first, others)) = lists.split_first() else { return Vec::new() };
        if others.iter().all(|other| other == first) {
            return first.to_vec();
        }
        let mut joined: Vec<Self> = Vec::new();
        let mut has_one_id = true;
        for category in lists.iter().copied().flatten() {
            match joined.iter().find(|known| known.name == category.name) {
                Some(known) => has_one_id &= known.id == category.id,
                None => joined.push(category.clone()),
            }
        }
        joined.sort_by(|one, other| one.name.cmp(&other.name));
        let mut ids: Vec<i64> = joined.iter().filter_map(|category| category.id).collect();
        ids.sort_unstable();
        has_one_id &= ids.len() == joined.len();
        has_one_id &= ids.windows(2).all(|pair| pair.first() != pair.last());
        if !has_one_id {
            joined.iter_mut().for_each(|category| category.id = None);
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::Category;

    fn list(categories: &[(&str, i64)]) -> Vec<Category> {
        let one = |&(name, id): &(&str, i64)| Category { id: Some(id), ..Category::new(name) };
        categories.iter().map(one).collect()
    }

    #[test]
    fn lists_are_joined_by_name_and_keep_ids_that_agree() {
        let same = list(&[("dog", 18), ("cat", 17)]);
        assert_eq!(Category::joined(&[&same, &same]), same);
        let more = list(&[("ant", 1), ("cat", 17)]);
        let expected = list(&[("ant", 1), ("cat", 17), ("dog", 18)]);
        assert_eq!(Category::joined(&[&same, &more]), expected);
        for other in [&list(&[("cat", 3)]), &list(&[("ant", 18)])] {
            let joined = Category::joined(&[&same, other]);
            assert!(joined.iter().all(|category| category.id.is_none()), "{joined:?}");
        }
    }
}
