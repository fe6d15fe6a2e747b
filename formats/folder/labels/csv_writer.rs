//! Writes a table: a row for each box, or for each sample without objects.
use crate::folder::{
    annotations::writing::{Categories, Labelled, Layout, Loss, Losses, rounded},
    output::{LongFile, Output},
};
use fdconvert_core::{Error, FieldSpec, Kind, Result, Schema, Value, objects::FIELD};

/// The table, beside the folder of images.
const TABLE: &str = "labels.csv";

/// Columns of a table of boxes behind the name and the split.
const OF_BOXES: [&str; 7] = ["width", "height", "class", "xmin", "ymin", "xmax", "ymax"];

pub(in crate::folder) struct CsvWriter {
    /// The categories of objects; `None` for a table of samples.
    categories: Option<Categories>,
    with_splits: bool,
    table: Option<LongFile>,
}

impl CsvWriter {
    pub(in crate::folder) fn new(schema: &Schema, with_splits: bool) -> Self {
        let mut fields = schema.fields.iter();
        let has_objects = fields.any(|field| field.name == FIELD && field.kind == Kind::Json);
        let categories = has_objects.then(|| Categories::of(schema));
        Self { categories, with_splits, table: None }
    }

    fn header(&self, sample: &Labelled<'_>) -> Vec<String> {
        let mut columns = vec!["file_name".to_owned()];
        columns.extend(self.with_splits.then(|| "split".to_owned()));
        match self.categories {
            Some(_) => columns.extend(OF_BOXES.map(str::to_owned)),
            None => columns.extend(plain(sample.schema).map(|(_, field)| field.name.clone())),
        }
        columns
    }

    /// The rows of a sample.
    fn rows(
        &mut self,
        sample: &Labelled<'_>,
        image: String,
        losses: &mut Losses,
    ) -> Result<Vec<Vec<String>>, String> {
        let mut start = vec![image];
        start.extend(self.with_splits.then(|| sample.split.unwrap_or_default().to_owned()));
        let Some(categories) = &mut self.categories else {
            let values = plain(sample.schema).map(|(at, field)| {
                sample.sample.values.get(at).map_or_else(String::new, |value| cell(field, value))
            });
            start.extend(values);
            return Ok(vec![start]);
        };
        start.extend(match sample.size {
            Some(size) => size.map(|side| side.to_string()),
            None => [String::new(), String::new()],
        });
        let mut rows = Vec::with_capacity(sample.n_objects());
        for object in 0..sample.n_objects() {
            let id = sample.entry("category_id", object)?;
            let Some(number) = categories.number(&sample.classes, object, id)? else {
                losses.add(Loss::Uncategorized);
                continue;
            };
            let [left, top, width, height] = sample.bbox(object)?;
            sample.count_shape(object, losses);
            let corners = [left, top, left + width, top + height];
            let mut row = start.clone();
            row.push(categories.name(number).to_owned());
            row.extend(corners.map(|corner| rounded(corner).to_string()));
            rows.push(row);
        }
        sample.count_keys(&["bbox", "segmentation"], losses);
        if rows.is_empty() {
            // A row without a box is an image without objects.
            start.extend([const { String::new() }; 5]);
            rows.push(start);
        }
        Ok(rows)
    }
}

/// The fields that fit into a cell.
fn plain(schema: &Schema) -> impl Iterator<Item = (usize, &FieldSpec)> {
    let fields = schema.fields.iter().enumerate();
    fields.filter(|(_, field)| matches!(field.kind, Kind::Int | Kind::Float | Kind::Text))
}

/// The text of a value: the name of a class, if it has one.
fn cell<I>(field: &FieldSpec, value: &Value<I>) -> String {
    match value {
        Value::Int(int) => {
            let name = usize::try_from(*int).ok();
            let name = name.and_then(|number| field.class_names.as_ref()?.get(number));
            name.cloned().unwrap_or_else(|| int.to_string())
        }
        Value::Float(float) => float.to_string(),
        Value::Text(text) => text.clone(),
        _ => String::new(),
    }
}

fn written(rows: &[Vec<String>]) -> Result<Vec<u8>, String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in rows {
        csv.write_record(row).map_err(|error| error.to_string())?;
    }
    csv.into_inner().map_err(|error| error.to_string())
}

impl Layout for CsvWriter {
    fn holds(&self, schema: &Schema, field: usize) -> bool {
        self.categories.is_none() && plain(schema).any(|(at, _)| at == field)
    }

    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()> {
        let of_sample = |what: String| Error::sample(sample.key(), what);
        let image = self.image_folder(sample.split) + sample.name;
        let rows = self.rows(sample, image, losses).map_err(of_sample)?;
        check(losses)?;
        let text = written(&rows).map_err(of_sample)?;
        if self.table.is_none() {
            let mut table = output.long_file(TABLE)?;
            table.push(&written(&[self.header(sample)]).map_err(of_sample)?)?;
            self.table = Some(table);
        }
        self.table.as_mut().map_or(Ok(()), |table| table.push(&text))
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        self.table.take().map_or(Ok(()), |table| output.complete(table))
    }
}
