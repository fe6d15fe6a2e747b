//! Writes Pascal VOC: an XML file for each image, and lists of the images of each split.
use crate::folder::{
    annotations::writing::{Categories, Labelled, Layout, Loss, Losses, cut, rounded},
    output::{LongFile, Output},
};
use fdconvert_core::{Error, Result, Schema};
use std::{collections::BTreeMap, fmt::Write};

/// The list of a dataset without splits.
const ALL: &str = "trainval";

pub(in crate::folder) struct VocWriter {
    categories: Categories,
    lists: BTreeMap<String, LongFile>,
}

impl VocWriter {
    pub(in crate::folder) fn new(schema: &Schema) -> Self {
        Self { categories: Categories::of(schema), lists: BTreeMap::new() }
    }

    fn object(
        &mut self,
        sample: &Labelled<'_>,
        object: usize,
        losses: &mut Losses,
    ) -> Result<Option<String>, String> {
        let id = sample.entry("category_id", object)?;
        let Some(number) = self.categories.number(&sample.classes, object, id)? else {
            losses.add(Loss::Uncategorized);
            return Ok(None);
        };
        let bbox @ [left, top, width, height] = sample.bbox(object)?;
        let ([left, top, right, bottom], is_cut) = match sample.size {
            Some(size) => cut(bbox, size),
            None => ([left.max(0.0), top.max(0.0), left + width, top + height], false),
        };
        if right <= left || bottom <= top {
            losses.add(Loss::Empty);
            return Ok(None);
        }
        losses.add_n(Loss::Cut, is_cut.into());
        sample.count_shape(object, losses);
        if !sample.keypoints(object)?.is_empty() {
            losses.add(Loss::Keypoints);
        }
        let is_crowd = sample.flag("iscrowd", object)?;
        losses.add_n(Loss::DifficultCrowds, is_crowd.into());
        let flag = |key: &str| sample.flag(key, object).map(u8::from);
        let difficult = flag("difficult")?.max(is_crowd.into());
        let pose: Option<String> = sample.entry("pose", object)?;
        let pose = pose.filter(|pose| !pose.is_empty()).unwrap_or_else(|| "Unspecified".to_owned());
        let mut text = format!(
            "\t<object>\n\t\t<name>{}</name>\n\t\t<pose>{}</pose>\n\t\t<truncated>{}</truncated>\n\
             \t\t<difficult>{difficult}</difficult>\n",
            escaped(self.categories.name(number))?,
            escaped(&pose)?,
            flag("truncated")?,
        );
        if sample.objects.as_ref().is_some_and(|objects| objects.get("occluded").is_some()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\t\t<occluded>{}</occluded>", flag("occluded")?);
        }
        // VOC counts pixels from 1, and the last ones belong to the box.
        let [left, top, right, bottom] = [left + 1.0, top + 1.0, right, bottom].map(rounded);
        let _ = writeln!(
            text,
            "\t\t<bndbox>\n\t\t\t<xmin>{left}</xmin>\n\t\t\t<ymin>{top}</ymin>\n\t\t\t<xmax>{right}\
             </xmax>\n\t\t\t<ymax>{bottom}</ymax>\n\t\t</bndbox>\n\t</object>",
        );
        Ok(Some(text))
    }

    /// The file of an image.
    fn xml(&mut self, sample: &Labelled<'_>, losses: &mut Losses) -> Result<String, String> {
        let mut text = format!(
            "<annotation>\n\t<folder>JPEGImages</folder>\n\t<filename>{}</filename>\n",
            escaped(sample.name)?
        );
        if let Some([width, height]) = sample.size {
            let _ = writeln!(
                text,
                "\t<size>\n\t\t<width>{width}</width>\n\t\t<height>{height}</height>\n\
                 \t\t<depth>3</depth>\n\t</size>"
            );
        }
        let _ = writeln!(text, "\t<segmented>{}</segmented>", u8::from(!sample.others.is_empty()));
        for object in 0..sample.n_objects() {
            text.extend(self.object(sample, object, losses)?);
        }
        text.push_str("</annotation>\n");
        Ok(text)
    }
}

/// Text of an element, which cannot have control characters.
fn escaped(text: &str) -> Result<String, String> {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            char if char.is_control() => {
                return Err(format!(
                    "{text:?} has a control character, which XML cannot hold; rename it"
                ));
            }
            char => escaped.push(char),
        }
    }
    Ok(escaped)
}

impl Layout for VocWriter {
    fn image_folder(&self, _: Option<&str>) -> String {
        "JPEGImages/".to_owned()
    }

    fn has_split_folders(&self) -> bool {
        false
    }

    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()> {
        let of_sample = |what: String| Error::sample(sample.key(), what);
        let text = self.xml(sample, losses).map_err(of_sample)?;
        let kept = [
            "bbox",
            "iscrowd",
            "segmentation",
            "keypoints",
            "difficult",
            "truncated",
            "occluded",
            "pose",
        ];
        sample.count_keys(&kept, losses);
        check(losses)?;
        let stem = sample.stem();
        let path = format!("Annotations/{stem}.xml");
        if output.has(path.as_bytes()) {
            let what = "another image has the same name, perhaps in another split or with another \
                        extension, and both would have one XML file; rename one of them";
            return Err(of_sample(what.to_owned()));
        }
        output.file(sample.key(), path.as_bytes(), &text.into())?;
        let split = sample.split.unwrap_or(ALL);
        let list = match self.lists.get_mut(split) {
            Some(list) => list,
            None => {
                let list = output.long_file(&format!("ImageSets/Main/{split}.txt"))?;
                self.lists.entry(split.to_owned()).or_insert(list)
            }
        };
        list.push(format!("{stem}\n").as_bytes())
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        std::mem::take(&mut self.lists).into_values().try_for_each(|list| output.complete(list))
    }
}
