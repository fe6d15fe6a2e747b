//! Rows of the grid.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    filter::Filter,
    request::Asked,
};
use serde_json::{Map, Value as Json, json};

/// Largest number of rows in a response.
const MOST: u32 = 1000;
const DEFAULT: u32 = 200;

/// `api/samples`.
pub(crate) fn samples(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let filter = Filter::parse(asked, dataset)?;
    let start: u64 = asked.number("start")?.unwrap_or(0);
    let count = asked.number_within("count", 1..=MOST, DEFAULT)?;
    let selection = dataset.select(&filter);
    let rows: Vec<Json> = selection
        .page(start, count.into())
        .into_iter()
        .map(|index| Json::Object(row(dataset, index)))
        .collect();
    Ok(Answer::json(&json!({
        "scanned": selection.scanned,
        "total": selection.len(),
        "start": start,
        "samples": rows,
    })))
}

/// `api/position`.
pub(crate) fn position(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let filter = Filter::parse(asked, dataset)?;
    let sample = asked.number("sample")?;
    let sample = sample.ok_or_else(|| Failure::asked_wrong("`sample` is missing"))?;
    dataset.check(sample)?;
    let position = dataset.select(&filter).position(sample);
    Ok(Answer::json(&json!({"position": position})))
}

/// Returns the row of a sample in the grid, from the catalog or else from the sample itself.
fn row(dataset: &Dataset, index: u64) -> Map<String, Json> {
    let reader = &**dataset.reader();
    let mut row = Map::new();
    row.insert("sample".into(), json!(index));
    row.insert("key".into(), json!(reader.key(index)));
    let (facts, error) = match dataset.facts(index) {
        Ok(facts) => (facts, None),
        Err(error) => (Default::default(), Some(error.chain())),
    };
    let known = |number: u64| (number > 0).then_some(number);
    row.insert("label".into(), json!(facts.label));
    row.insert("codec".into(), json!(facts.codec.map(|codec| codec.extension())));
    row.insert("width".into(), json!(known(facts.width.into())));
    row.insert("height".into(), json!(known(facts.height.into())));
    row.insert("bytes".into(), json!(known(facts.bytes)));
    if let Some(error) = error {
        row.insert("error".into(), json!(error));
    }
    row
}
