//! Writes YOLO: a text file for each image, and `data.yaml`, as Ultralytics reads them.
use crate::folder::{
    annotations::writing::{
        Categories, Labelled, Layout, Loss, Losses, Shape, Task, cut, joined, of_mask, rounded,
        smallest_rectangle, within,
    },
    output::Output,
};
use fdconvert_core::{Error, Result, Schema, split_word};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// The key of `data.yaml` for splits that are none of its three.
const TRAIN: &str = "train";

pub(in crate::folder) struct YoloWriter {
    task: Task,
    categories: Categories,
    /// Splits with samples; `None` for a dataset without.
    splits: BTreeSet<Option<String>>,
    /// Keypoints of each object, from the first that has any.
    n_keypoints: Option<usize>,
}

impl YoloWriter {
    pub(in crate::folder) fn new(schema: &Schema, task: Task) -> Self {
        let categories = Categories::of(schema);
        let mut n_keypoints = categories.list().into_iter().map(|it| it.keypoints.len());
        let n_keypoints = n_keypoints.find(|n| *n > 0);
        Self { task, categories, splits: BTreeSet::new(), n_keypoints }
    }

    /// The line of an object; `None` if it is left out.
    fn line(
        &mut self,
        sample: &Labelled<'_>,
        object: usize,
        sides: [f64; 2],
        losses: &mut Losses,
    ) -> Result<Option<String>, String> {
        let id = sample.entry("category_id", object)?;
        let Some(number) = self.categories.number(&sample.classes, object, id)? else {
            losses.add(Loss::Uncategorized);
            return Ok(None);
        };
        if sample.flag("iscrowd", object)? {
            losses.add(Loss::Crowds);
            return Ok(None);
        }
        let bbox = sample.bbox(object)?;
        let (corners, is_cut) = cut(bbox, sides);
        let [left, top, right, bottom] = corners;
        if right <= left || bottom <= top {
            losses.add(Loss::Empty);
            return Ok(None);
        }
        let mut line = number.to_string();
        match self.task {
            Task::Detect | Task::Pose => {
                sample.count_shape(object, losses);
                let middle = [(left + right) / 2.0, (top + bottom) / 2.0];
                shares(&mut line, &[middle, [right - left, bottom - top]], sides);
                losses.add_n(Loss::Cut, is_cut.into());
            }
            Task::Segment | Task::Obb => {
                let corners = vec![[left, top], [right, top], [right, bottom], [left, bottom]];
                let polygon = self.polygon(sample.shape(object)?, corners, losses);
                let inside = polygon.iter().map(|point| within(*point, sides));
                let inside: Vec<[f64; 2]> = inside.collect();
                losses.add_n(Loss::Cut, (inside != polygon).into());
                shares(&mut line, &inside, sides);
            }
        }
        let keypoints = sample.keypoints(object)?;
        match self.task {
            Task::Pose => {
                let n_keypoints = *self.n_keypoints.get_or_insert(keypoints.len().max(1));
                if !keypoints.is_empty() && keypoints.len() != n_keypoints {
                    losses.add(Loss::OtherKeypoints);
                    return Ok(None);
                }
                for at in 0..n_keypoints {
                    let [x, y, seen] = keypoints.get(at).copied().unwrap_or_default();
                    let is_inside = within([x, y], sides) == [x, y];
                    if seen > 0.0 && is_inside {
                        shares(&mut line, &[[x, y]], sides);
                        let _ = write!(line, " {seen}");
                    } else {
                        losses.add_n(Loss::Cut, (seen > 0.0).into());
                        line.push_str(" 0 0 0");
                    }
                }
            }
            _ => losses.add_n(Loss::Keypoints, (!keypoints.is_empty()).into()),
        }
        Ok(Some(line))
    }

    /// One polygon for an object, or the corners of an oriented box.
    fn polygon(&self, shape: Shape, corners: Vec<[f64; 2]>, losses: &mut Losses) -> Vec<[f64; 2]> {
        let polygons = match shape {
            Shape::None => Vec::new(),
            Shape::Polygons(polygons) => polygons,
            Shape::Mask(mask) => match of_mask(&mask) {
                Some((polygons, n_holes)) => {
                    losses.add(Loss::TracedMasks);
                    losses.add_n(Loss::Holes, n_holes);
                    polygons
                }
                None => {
                    losses.add(Loss::Masks);
                    Vec::new()
                }
            },
        };
        // Fewer than three points have no area, and are no polygon for those who read it.
        let polygons: Vec<_> = polygons.into_iter().filter(|polygon| polygon.len() > 2).collect();
        if self.task == Task::Obb {
            let points = polygons.concat();
            return match &points[..] {
                [] => corners,
                [_, _, _, _] => points,
                points => {
                    losses.add(Loss::Rectangles);
                    smallest_rectangle(points).map_or(corners, Vec::from)
                }
            };
        }
        match &polygons[..] {
            [] => {
                losses.add(Loss::BoxPolygons);
                corners
            }
            [only] => only.clone(),
            several => {
                losses.add(Loss::JoinedPolygons);
                joined(several)
            }
        }
    }

    /// `data.yaml`. Names are JSON texts, which YAML reads.
    fn yaml(&self) -> String {
        let mut text = String::from("# Paths are relative to this file.\n");
        let mut listed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for split in &self.splits {
            match split.as_deref() {
                // Ultralytics needs both.
                None => {
                    for name in ["train", "val"] {
                        listed.insert(name, vec!["images".to_owned()]);
                    }
                }
                Some(split) => {
                    let name = key_of(split).unwrap_or(TRAIN);
                    listed.entry(name).or_default().push(format!("images/{split}"));
                }
            }
        }
        if self.splits.contains(&None) {
            text.push_str("# The dataset has no splits: val has the images of train.\n");
        }
        for name in ["train", "val", "test"] {
            let Some(folders) = listed.get(name) else { continue };
            let folders: Vec<String> = folders.iter().map(|folder| quoted(folder)).collect();
            let _ = match &folders[..] {
                [only] => writeln!(text, "{name}: {only}"),
                several => writeln!(text, "{name}: [{}]", several.join(", ")),
            };
        }
        let categories = self.categories.list();
        if let (Task::Pose, Some(n_keypoints)) = (self.task, self.n_keypoints) {
            let _ = writeln!(text, "kpt_shape: [{n_keypoints}, 3]");
            let named = categories.iter().find(|it| it.keypoints.len() == n_keypoints);
            if let Some(category) = named {
                let _ = writeln!(text, "flip_idx: {:?}", mirrored(&category.keypoints));
            }
        }
        text.push_str("names:\n");
        for (number, category) in categories.iter().enumerate() {
            let _ = writeln!(text, "  {number}: {}", quoted(&category.name));
        }
        text
    }
}

/// The key of a split in `data.yaml`, which has three; `None` for a name that says none of them.
fn key_of(split: &str) -> Option<&'static str> {
    Some(match split_word(split)? {
        "train" | "training" | "trainval" => TRAIN,
        "test" | "testing" => "test",
        _ => "val",
    })
}

/// The place of each keypoint's counterpart in the mirrored image, by the words in their names.
fn mirrored(names: &[String]) -> Vec<usize> {
    let other = |name: &str| match name {
        name if name.contains("left") => name.replacen("left", "right", 1),
        name => name.replacen("right", "left", 1),
    };
    let at =
        |(at, name): (usize, &String)| names.iter().position(|it| *it == other(name)).unwrap_or(at);
    names.iter().enumerate().map(at).collect()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Adds points as shares of the sides.
fn shares(line: &mut String, points: &[[f64; 2]], [width, height]: [f64; 2]) {
    for [x, y] in points {
        // Writing to a string cannot fail.
        let _ = write!(line, " {} {}", rounded(x / width), rounded(y / height));
    }
}

impl Layout for YoloWriter {
    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()> {
        let of_sample = |what: String| Error::sample(sample.key(), what);
        let mut text = String::new();
        if sample.n_objects() > 0 {
            let sides = sample.size.ok_or_else(|| {
                of_sample(
                    "the size of the image is not known, and boxes are shares of it: its \
                     annotations do not state it, and the image is not read"
                        .to_owned(),
                )
            })?;
            for object in 0..sample.n_objects() {
                let line = self.line(sample, object, sides, losses).map_err(of_sample)?;
                if let Some(line) = line {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            sample.count_keys(&["bbox", "iscrowd", "segmentation", "keypoints"], losses);
        }
        if let Some(split) = sample.split.filter(|split| key_of(split).is_none()) {
            losses.add(Loss::Split(split.to_owned()));
        }
        check(losses)?;
        let folder = sample.split.map(|split| format!("{split}/")).unwrap_or_default();
        let path = format!("labels/{folder}{}.txt", sample.stem()).into_bytes();
        if output.has(&path) {
            let what = "another image has the same name with another extension, and both would have \
                        one text file; rename one of them";
            return Err(of_sample(what.to_owned()));
        }
        output.file(sample.key(), &path, &text.into())?;
        self.splits.insert(sample.split.map(str::to_owned));
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        output.file("data.yaml", b"data.yaml", &self.yaml().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_known_by_the_words_in_their_names() {
        let names = ["train2017", "validation", "my_test", "holdout"];
        assert_eq!(names.map(key_of), [Some("train"), Some("val"), Some("test"), None]);
    }

    #[test]
    fn keypoints_are_mirrored_by_their_names() {
        let names = ["nose", "left_eye", "right_eye", "left_ear"].map(str::to_owned);
        assert_eq!(mirrored(&names), [0, 2, 1, 3]);
    }
}
