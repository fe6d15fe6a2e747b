//! The tokens of an expression.
use crate::expression::{Operator, Scalar};

/// Bytes of the longest expression.
const MAX_BYTES: usize = 1 << 16;

/// The reason why a text is not an expression.
#[derive(Debug)]
pub(super) struct Problem {
    /// Byte offset of the problem.
    pub(super) at: usize,
    pub(super) what: String,
}

impl Problem {
    /// Formats the problem on one line, like all messages: the column, the error, and the text
    /// around it.
    pub(super) fn shown(&self, text: &str) -> String {
        let (before, behind) = text.split_at_checked(self.at).unwrap_or((text, ""));
        let column = before.chars().count() + 1;
        format!("column {column}, after ^: {}: {before}^{behind}", self.what)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Value(Scalar),
    Name(String),
    Operator(Operator),
    Not,
    In,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    End,
}

/// Signs, with longer ones before their prefixes.
const SIGNS: [(&str, Token); 18] = [
    ("&&", Token::Operator(Operator::And)),
    ("||", Token::Operator(Operator::Or)),
    ("==", Token::Operator(Operator::Equal)),
    ("!=", Token::Operator(Operator::Unequal)),
    ("<=", Token::Operator(Operator::LessOrEqual)),
    (">=", Token::Operator(Operator::GreaterOrEqual)),
    ("<", Token::Operator(Operator::Less)),
    (">", Token::Operator(Operator::Greater)),
    ("+", Token::Operator(Operator::Add)),
    ("-", Token::Operator(Operator::Subtract)),
    ("*", Token::Operator(Operator::Multiply)),
    ("/", Token::Operator(Operator::Divide)),
    ("!", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
    ("[", Token::OpenList),
    ("]", Token::CloseList),
    (",", Token::Comma),
];

/// Returns every token with its place, and the end after them.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Problem> {
    if text.len() > MAX_BYTES {
        let what = format!("an expression has at most {MAX_BYTES} bytes");
        return Err(Problem { at: 0, what });
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(first) = rest.chars().next() else { break };
        let sign = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (len, token) = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '"' | '\'' => quoted(rest, first, at)?,
            '`' => backticked(rest, at)?,
            '0'..='9' => number(rest, at)?,
            _ if is_in_name(first) => word(rest),
            _ => match sign {
                Some((sign, token)) => (sign.len(), token.clone()),
                None => return Err(unknown(first, at)),
            },
        };
        found.push((at, token));
        at += len;
    }
    found.push((at, Token::End));
    Ok(found)
}

fn unknown(first: char, at: usize) -> Problem {
    let what = match first {
        '=' => "compare with ==".to_owned(),
        '&' => "use && instead of &".to_owned(),
        '|' => "use || instead of |".to_owned(),
        _ => format!("`{first}` means nothing here; write texts in quotes"),
    };
    Problem { at, what }
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn word(rest: &str) -> (usize, Token) {
    let len = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
    let word = rest.get(..len).unwrap_or_default();
    let token = match word {
        "in" => Token::In,
        "contains" => Token::Operator(Operator::Contains),
        "starts_with" => Token::Operator(Operator::StartsWith),
        "ends_with" => Token::Operator(Operator::EndsWith),
        _ => Token::Name(word.to_owned()),
    };
    (len, token)
}

/// Parses a name with blanks or signs in it.
fn backticked(rest: &str, at: usize) -> Result<(usize, Token), Problem> {
    let name = rest.get(1..).and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
    let name = name.ok_or_else(|| Problem { at, what: "its closing ` is missing".to_owned() })?;
    Ok((name.len() + 2, Token::Name(name.to_owned())))
}

fn number(rest: &str, at: usize) -> Result<(usize, Token), Problem> {
    let mut len = 0;
    let mut before = ' ';
    for c in rest.chars() {
        let is_sign_of_exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        if !(c.is_alphanumeric() || matches!(c, '.' | '_') || is_sign_of_exponent) {
            break;
        }
        len += c.len_utf8();
        before = c;
    }
    let digits = rest.get(..len).unwrap_or_default();
    let int = digits.parse().map(Scalar::Int).ok();
    let float = || digits.parse().ok().filter(|float: &f64| float.is_finite()).map(Scalar::Float);
    let what = || format!("`{digits}` is not a number");
    let scalar = int.or_else(float).ok_or_else(|| Problem { at, what: what() })?;
    Ok((len, Token::Value(scalar)))
}

/// Parses a text up to its closing quote; a backslash escapes a quote or backslash.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(usize, Token), Problem> {
    let mut text = String::new();
    let mut is_escaped = false;
    for (place, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => {
                if c != quote && c != '\\' {
                    text.push('\\');
                }
                text.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            _ if c == quote => return Ok((place + 1, Token::Value(Scalar::Text(text)))),
            _ => text.push(c),
        }
    }
    Err(Problem { at, what: format!("its closing {quote} is missing") })
}
