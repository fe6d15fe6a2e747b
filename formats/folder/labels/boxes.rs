//! Tables with a row per box: `filename,width,height,class,xmin,ymin,xmax,ymax`, as in TensorFlow's
//! tutorials, VoTT and OpenImages. They become the field `objects`.
use super::{
    IMAGE, heads,
    rows::{Cells, Rows},
    splits,
};
use crate::folder::{
    annotations::{Boxes, Made, Object, Voc, side},
    layout::key_of_path,
    table::{Column, Table},
};
use fdconvert_core::{FieldSpec, Kind, Schema, Splits, objects::FIELD};
use std::{borrow::Cow, collections::BTreeMap};

const CORNERS: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];
/// Possible names of the class column, in order of preference.
const CLASSES: [&str; 6] = ["class", "label", "category", "classname", "labelname", "name"];

/// Positions of the columns of boxes.
pub(super) struct BoxColumns {
    corners: [String; 4],
    class: Option<String>,
    size: Option<[String; 2]>,
}

impl BoxColumns {
    /// Finds the columns; `None` if the table is not one of boxes.
    pub(super) fn find(rows: &Rows) -> Option<Self> {
        let find = |wanted: &str| {
            let mut names = rows.columns.iter().map(|(name, _)| name);
            names.find(|name| heads::plain(name) == wanted).cloned()
        };
        let [left, top, right, bottom] = CORNERS.map(find);
        let size = find("width").zip(find("height")).map(|(width, height)| [width, height]);
        let class = CLASSES.into_iter().find_map(find);
        Some(Self { corners: [left?, top?, right?, bottom?], class, size })
    }

    fn has(&self, name: &str) -> bool {
        let size = self.size.iter().flatten();
        let mut names = self.corners.iter().chain(&self.class).chain(size);
        names.any(|it| it == name)
    }
}

/// One sample per image, in the order of first appearance.
pub(super) fn assemble(
    rows: &mut Rows,
    columns: &BoxColumns,
    split_of_rows: Option<Vec<&'static str>>,
) -> Result<(Schema, Table, Splits), String> {
    let Some(class) = &columns.class else {
        return Err(format!(
            "it has boxes, and no column with their classes: `{}`",
            CLASSES.join("`, `")
        ));
    };
    let left_out: Vec<&str> = rows.columns.iter().map(|(name, _)| name.as_str()).collect();
    let left_out: Vec<&str> = left_out.into_iter().filter(|name| !columns.has(name)).collect();
    if !left_out.is_empty() {
        let remark = format!("columns that are not packed with boxes: {}", left_out.join(", "));
        rows.remarks.push(remark);
    }
    let cells = |name: &String| rows.columns.iter().find(|(it, _)| it == name).map(|(_, it)| it);
    let corners = columns.corners.each_ref().map(cells);
    let size = columns.size.as_ref().map(|names| names.each_ref().map(cells));
    let class = cells(class);
    let mut paths: Vec<Box<[u8]>> = Vec::new();
    let mut images: Vec<Result<Boxes, String>> = Vec::new();
    let (mut known, mut named): (BTreeMap<&[u8], usize>, Vec<&'static str>) = Default::default();
    for (row, (path, line)) in rows.paths.iter().zip(&rows.lines).enumerate() {
        let split = split_of_rows.as_ref().and_then(|named| named.get(row)).copied();
        let at = *known.entry(path).or_insert_with(|| {
            paths.push(path.clone());
            named.extend(split);
            images.push(Ok(Boxes::default()));
            images.len() - 1
        });
        if split.is_some_and(|split| named.get(at) != Some(&split)) {
            return Err(format!("line {line}: `{}` is in two splits", key_of_path(path)));
        }
        let Some(image) = images.get_mut(at) else { continue };
        let Ok(boxes) = image else { continue };
        let stated = size.map_or(Ok(None), |columns| size_of(columns, row));
        let added = stated.and_then(|stated| {
            if let (Some([wide, high]), Some([width, height])) = (boxes.size, stated)
                && [wide, high] != [width, height]
            {
                return Err(format!(
                    "its size is {width}x{height} here, and {wide}x{high} in a row before"
                ));
            }
            boxes.size = boxes.size.or(stated);
            boxes.objects.extend(object(corners, class, row)?);
            Ok(())
        });
        if let Err(what) = added {
            *image = Err(format!("line {line}: {what}"));
        }
    }
    let mut numbers =
        images.iter().flatten().flat_map(|it| &it.objects).flat_map(|it| it.corners).peekable();
    let are_shares = numbers.peek().is_some() && numbers.all(|it| (0.0..=1.0).contains(&it));
    if are_shares {
        rows.remarks.push(
            "all corners of boxes are from 0 to 1, so they are shares of width and height"
                .to_owned(),
        );
        images.iter_mut().flatten().for_each(|boxes| boxes.are_shares = true);
    }
    let mut table_splits = Vec::new();
    if !named.is_empty() {
        let (order, splits) = splits::order(&named);
        table_splits = splits;
        paths = order.iter().filter_map(|at| paths.get(*at).cloned()).collect();
        images = order.iter().filter_map(|at| images.get(*at).cloned()).collect();
    }
    let voc = Voc::new(images, true);
    let objects = FieldSpec::objects(FIELD, voc.categories());
    let schema = Schema::new(vec![FieldSpec::new(IMAGE, Kind::Image), objects]);
    let schema = schema.map_err(|error| error.to_string())?;
    let columns = vec![Column::FirstImage, Column::Made(Made::Voc(voc))];
    Ok((schema, Table { paths, columns }, table_splits))
}

/// Width and height, if a row has both.
fn size_of(columns: [Option<&Cells>; 2], row: usize) -> Result<Option<[u64; 2]>, String> {
    let [width, height] = columns.map(|cells| cells.map(|cells| cells.text(row)));
    let sides =
        (side("width", &width.unwrap_or_default())?, side("height", &height.unwrap_or_default())?);
    Ok(sides.0.zip(sides.1).map(|(width, height)| [width, height]))
}

/// The object of a row; `None` if its cells are empty, which marks an image without objects.
fn object(
    corners: [Option<&Cells>; 4],
    class: Option<&Cells>,
    row: usize,
) -> Result<Option<Object>, String> {
    fn text(cells: Option<&Cells>, row: usize) -> Cow<'_, str> {
        cells.map(|cells| cells.text(row)).unwrap_or_default()
    }
    let corners = corners.map(|cells| text(cells, row));
    if corners.iter().all(|text| text.is_empty()) {
        return Ok(None);
    }
    let name = text(class, row);
    if name.is_empty() {
        return Err("its box has no class".to_owned());
    }
    let mut numbers = [0.0; 4];
    for ((number, text), name) in numbers.iter_mut().zip(&corners).zip(CORNERS) {
        let parsed = text.parse::<f64>().ok().filter(|number| number.is_finite());
        *number = parsed.ok_or_else(|| format!("its `{name}` is not a number: `{text}`"))?;
    }
    Ok(Some(Object::plain(&name, numbers)))
}
