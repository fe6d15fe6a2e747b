//! `data.yaml` of YOLO: splits and class names.
use crate::folder::annotations::lists::check_name;
use saphyr_parser::{Event, Parser};

/// Limit of nested lists and maps.
const MAX_DEPTH: usize = 8;
/// Limit of a file of names, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Limit of keypoints per object, and of numbers per keypoint.
const MAX_KEYPOINTS: usize = 100_000;
/// Limit of classes without names.
const MAX_CLASSES: usize = 100_000;
/// The supported splits, in this order.
const SPLITS: [&str; 3] = ["train", "val", "test"];
/// All supported keys; of duplicates the last one counts, as in Python.
const KEYS: [&str; 7] = ["names", "nc", "train", "val", "validation", "test", "kpt_shape"];

/// Contents of a file.
#[derive(Debug, PartialEq)]
pub(in crate::folder::annotations) struct Data {
    pub(super) names: Vec<String>,
    pub(super) splits: Vec<(&'static str, Vec<String>)>,
    /// `kpt_shape`.
    pub(super) keypoints: Option<[usize; 2]>,
    pub(super) remarks: Vec<String>,
}

/// A value; numbers stay text.
#[derive(Debug, PartialEq)]
enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Reads a file; the error is a text that follows its name.
pub(in crate::folder::annotations) fn parse(bytes: &[u8]) -> Result<Data, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("it has {} bytes, over {MAX_BYTES}", bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Node::Map(keys) = tree(text)? else {
        return Err("it is not a mapping of keys such as `names` and `train`".to_owned());
    };
    let get = |name: &str| keys.iter().rev().find(|(key, _)| key == name).map(|(_, node)| node);
    let mut remarks = Vec::new();
    for name in KEYS {
        let times = keys.iter().filter(|(key, _)| key == name).count();
        if times > 1 {
            remarks.push(format!("`{name}` occurs {times} times, and the last one counts"));
        }
    }
    let names = match (get("names"), get("nc")) {
        (Some(names), _) => self::names(names)?,
        (None, Some(count)) => {
            remarks.push(
                "it has no `names`, so classes are called class_0, class_1, ..., as Ultralytics \
                 calls them"
                    .to_owned(),
            );
            numbered(count)?
        }
        (None, None) => return Err("it has no `names` and no `nc`".to_owned()),
    };
    names.iter().try_for_each(|name| check_name(name))?;
    if let Some(Node::Text(count)) = get("nc")
        && *count != names.len().to_string()
    {
        remarks.push(format!("`nc` is {count}, and there are {} names of classes", names.len()));
    }
    let mut splits = Vec::new();
    for split in SPLITS {
        let node = match get(split) {
            None if split == "val" => get("validation"),
            node => node,
        };
        let entries = match node {
            None => continue,
            Some(Node::Text(text)) if matches!(text.as_str(), "" | "~" | "null") => continue,
            Some(Node::Text(text)) => vec![text.clone()],
            Some(Node::List(entries)) => texts(entries)
                .ok_or_else(|| format!("`{split}` is a list of something else than paths"))?,
            Some(Node::Map(_)) => return Err(format!("`{split}` is not a path")),
        };
        splits.push((split, entries));
    }
    if get("val").is_some() && get("validation").is_some() {
        remarks.push("it has both `val` and `validation`, and `val` counts".to_owned());
    }
    if splits.is_empty() {
        return Err("it has none of `train`, `val` and `test`".to_owned());
    }
    let keypoints = get("kpt_shape").map(keypoints).transpose()?;
    Ok(Data { names, splits, keypoints, remarks })
}

/// A list of names, or a mapping from their numbers, in any order.
fn names(node: &Node) -> Result<Vec<String>, String> {
    let damaged = || "`names` is neither a list of names nor a mapping from 0, 1, ... to names";
    match node {
        Node::List(names) => texts(names).ok_or_else(|| damaged().to_owned()),
        Node::Map(names) => {
            let mut numbered = Vec::with_capacity(names.len());
            for (number, name) in names {
                let Node::Text(name) = name else { return Err(damaged().to_owned()) };
                let number = number.parse::<usize>().map_err(|_| damaged().to_owned())?;
                numbered.push((number, name.clone()));
            }
            numbered.sort();
            let in_turn = numbered.iter().enumerate().all(|(at, (number, _))| at == *number);
            if !in_turn {
                return Err(damaged().to_owned());
            }
            Ok(numbered.into_iter().map(|(_, name)| name).collect())
        }
        Node::Text(_) => Err(damaged().to_owned()),
    }
}

/// Names for a number of unnamed classes.
fn numbered(count: &Node) -> Result<Vec<String>, String> {
    let n_classes = match count {
        Node::Text(text) => text.parse().ok().filter(|n| (1..=MAX_CLASSES).contains(n)),
        _ => None,
    };
    let n_classes = n_classes.ok_or("it has no `names`, and `nc` is not a number of classes")?;
    Ok((0..n_classes).map(|class| format!("class_{class}")).collect())
}

fn keypoints(node: &Node) -> Result<[usize; 2], String> {
    let damaged = "`kpt_shape` is not two numbers such as [17, 3]";
    let Node::List(numbers) = node else { return Err(damaged.to_owned()) };
    let numbers = texts(numbers).unwrap_or_default();
    let numbers: Vec<usize> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [n, width] if (1..=MAX_KEYPOINTS).contains(&n) && (2..=3).contains(&width) => {
            Ok([n, width])
        }
        _ => Err(damaged.to_owned()),
    }
}

fn texts(nodes: &[Node]) -> Option<Vec<String>> {
    let text = |node: &Node| match node {
        Node::Text(text) => Some(text.clone()),
        _ => None,
    };
    nodes.iter().map(text).collect()
}

/// A list or map under construction.
enum Open {
    List(Vec<Node>),
    /// With the key of the next value.
    Map(Vec<(String, Node)>, Option<String>),
}

/// Parses the first document. It is built from events, because the library's own tree expands
/// aliases, possibly without end.
fn tree(text: &str) -> Result<Node, String> {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("not YAML: {error}"))?;
        let line = span.start.line();
        let node = match event {
            Event::Alias(_) => return Err(format!("line {line}: aliases (`*name`) are not read")),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                None
            }
            Event::Scalar(text, ..) => Some(Node::Text(text.into_owned())),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(nodes)) => Some(Node::List(nodes)),
                Some(Open::Map(entries, _)) => Some(Node::Map(entries)),
                None => None,
            },
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => None,
        };
        if open.len() > MAX_DEPTH {
            return Err(format!("line {line}: it is more than {MAX_DEPTH} lists deep"));
        }
        let Some(node) = node else { continue };
        match open.last_mut() {
            None => return Ok(node),
            Some(Open::List(nodes)) => nodes.push(node),
            Some(Open::Map(entries, key)) => match (key.take(), node) {
                (Some(key), node) => entries.push((key, node)),
                (None, Node::Text(text)) => *key = Some(text),
                (None, _) => return Err(format!("line {line}: a key is not a text")),
            },
        }
    }
    Err("it is empty".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ultralytics_and_of_exports_are_read() {
        let text = "# COCO8\npath: coco8\ntrain: images/train # 4\nval: [images/val, more]\ntest:\n\
                    names:\n  0: person\n  1: \"traffic light\"\nkpt_shape: [17, 3]\n";
        let data = parse(text.as_bytes()).unwrap();
        assert_eq!(data.names, ["person", "traffic light"]);
        let train = ("train", vec!["images/train".to_owned()]);
        let val = ("val", vec!["images/val".to_owned(), "more".to_owned()]);
        assert_eq!(data.splits, [train, val]);
        assert_eq!(data.keypoints, Some([17, 3]));
        let data = parse(b"train: ../train/images\nnc: 3\nnames: ['a', 'b']\n").unwrap();
        assert_eq!((data.names.len(), data.remarks.len()), (2, 1));
        let data = parse(b"train: a\nvalidation: b\nnc: 2\ntrain: c\n").unwrap();
        assert_eq!(data.names, ["class_0", "class_1"]);
        let val = ("val", vec!["b".to_owned()]);
        assert_eq!(data.splits, [("train", vec!["c".to_owned()]), val]);
        assert!(data.remarks[0].contains("`train` occurs 2 times"), "{:?}", data.remarks);
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let check = |text: &str, part: &str| {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check("", "empty");
        check("- a\n", "not a mapping");
        check("train: x\n", "no `names`");
        check("train: x\nnc: 99999999999\n", "`nc` is not a number of classes");
        check("names: [a]\n", "none of");
        check("names: {0: a, 2: b}\ntrain: x\n", "0, 1, ...");
        check("names: {a: b}\ntrain: x\n", "0, 1, ...");
        check("names: [a]\ntrain: x\nkpt_shape: [17]\n", "kpt_shape");
        check("names: &a [a]\ntrain: *a\n", "aliases");
        check("names: [a\ntrain: x\n", "not YAML");
        check(&"[".repeat(20), "deep");
        check(&"[".repeat(100_000), "not YAML");
        check(&format!("a: {}", "{b: ".repeat(50)), "deep");
    }
}
