//! Parses tokens to a tree by operator precedence, and checks types.
use crate::expression::{
    Node, Operator, Scalar, Type,
    objects::{PROPERTIES, Property},
    tokens::{Problem, Token, tokens},
};

/// Depth of nested parentheses and signs.
const MAX_DEPTH: usize = 64;
/// Number of operators in one expression: each nests inside the next, and a stack is finite.
const MAX_OPERATORS: usize = 256;

pub(super) fn parse(text: &str, names: &[(String, Type)]) -> Result<Node, Problem> {
    let tokens = tokens(text)?;
    let mut parser =
        Parser { tokens: &tokens, at: 0, depth: 0, n_operators: 0, names, is_in_object: false };
    let whole = parser.part(0)?;
    let (at, token) = parser.next();
    match token {
        Token::End => whole.expect(Type::Truth).map(|part| part.node),
        _ => Err(Problem { at, what: "an operator is missing in front of it".to_owned() }),
    }
}

struct Part {
    node: Node,
    kind: Type,
    at: usize,
}

impl Part {
    fn expect(self, kind: Type) -> Result<Self, Problem> {
        if self.node == Node::Property(Property::Category) {
            match kind {
                Type::Text => return Ok(Self { kind, ..self }),
                Type::Number => {
                    let node = Node::Property(Property::CategoryNumber);
                    return Ok(Self { node, kind, ..self });
                }
                _ => {}
            }
        }
        if self.kind == kind || [self.kind, kind].contains(&Type::Any) {
            return Ok(self);
        }
        let cure = if kind == Type::Truth { "; compare it, as in width >= 256" } else { "" };
        let what = format!("expected {}, got {}{cure}", kind.name(), self.kind.name());
        Err(Problem { at: self.at, what })
    }
}

impl Operator {
    /// Returns the precedence of an operator.
    fn power(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide => 5,
            _ => COMPARISON,
        }
    }

    /// Returns the required type of both sides; `None` for any type that both share.
    fn operands(self) -> Option<Type> {
        match self {
            Self::Or | Self::And => Some(Type::Truth),
            Self::Contains | Self::StartsWith | Self::EndsWith => Some(Type::Text),
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide => Some(Type::Number),
            _ => None,
        }
    }

    fn result(self) -> Type {
        match self {
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide => Type::Number,
            _ => Type::Truth,
        }
    }
}

/// Precedence of comparisons, and of `in`.
const COMPARISON: u8 = 3;

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    at: usize,
    depth: usize,
    n_operators: usize,
    names: &'a [(String, Type)],
    /// True inside of `any` and `count`.
    is_in_object: bool,
}

impl Parser<'_> {
    fn peek(&self) -> (usize, Token) {
        let last = || self.tokens.last().map_or(0, |(at, _)| *at);
        self.tokens.get(self.at).cloned().unwrap_or_else(|| (last(), Token::End))
    }

    fn next(&mut self) -> (usize, Token) {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Parses a part with operators of higher precedence than `least`.
    fn part(&mut self, least: u8) -> Result<Part, Problem> {
        let mut left = self.operand()?;
        loop {
            let (at, token) = self.peek();
            self.n_operators += 1;
            if self.n_operators > MAX_OPERATORS {
                let what = format!("it has more than {MAX_OPERATORS} parts; a list is shorter");
                return Err(Problem { at, what });
            }
            left = match token {
                Token::Operator(operator) if operator.power() > least => {
                    self.next();
                    let right = self.part(operator.power())?;
                    join(left, operator, right, at)?
                }
                Token::In if COMPARISON > least => {
                    self.next();
                    self.list(left)?
                }
                _ => return Ok(left),
            };
        }
    }

    fn operand(&mut self) -> Result<Part, Problem> {
        let (at, token) = self.next();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = format!("more than {MAX_DEPTH} nested parts");
            return Err(Problem { at, what });
        }
        let part = match token {
            Token::Value(scalar) => Part { kind: scalar.kind(), node: Node::Value(scalar), at },
            Token::Name(name) => match (name.as_str(), self.peek().1) {
                ("any" | "count", Token::Open) => self.objects(&name, at)?,
                _ => self.name(&name, at)?,
            },
            Token::Not => {
                let inner = self.operand()?.expect(Type::Truth)?;
                Part { node: Node::Not(Box::new(inner.node)), kind: Type::Truth, at }
            }
            Token::Operator(Operator::Subtract) => {
                let inner = self.operand()?.expect(Type::Number)?;
                Part { node: Node::Negative(Box::new(inner.node)), kind: Type::Number, at }
            }
            Token::Open => Part { at, ..self.enclosed()? },
            Token::End => {
                let what = "a name, a number or a text is missing here".to_owned();
                return Err(Problem { at, what });
            }
            _ => {
                let what = "a name, a number or a text is missing in front of it".to_owned();
                return Err(Problem { at, what });
            }
        };
        self.depth -= 1;
        Ok(part)
    }

    /// Parses a part and the parenthesis behind it.
    fn enclosed(&mut self) -> Result<Part, Problem> {
        let inner = self.part(0)?;
        match self.next() {
            (_, Token::Close) => Ok(inner),
            (at, _) => Err(Problem { at, what: "a ) is missing here".to_owned() }),
        }
    }

    /// Parses what is behind `any` or `count`.
    fn objects(&mut self, word: &str, at: usize) -> Result<Part, Problem> {
        if self.is_in_object {
            let what = format!("an object has no objects: `{word}` is not within another one");
            return Err(Problem { at, what });
        }
        let objects = self.names.iter().position(|(_, kind)| *kind == Type::Objects);
        let objects = objects.ok_or_else(|| Problem { at, what: no_objects(word) })?;
        self.next();
        self.is_in_object = true;
        let inner = Box::new(self.enclosed()?.expect(Type::Truth)?.node);
        self.is_in_object = false;
        Ok(match word {
            "any" => Part { node: Node::Any(objects, inner), kind: Type::Truth, at },
            _ => Part { node: Node::Count(objects, inner), kind: Type::Number, at },
        })
    }

    fn property(name: &str, at: usize) -> Result<Part, Problem> {
        let found = PROPERTIES.iter().find(|(known, ..)| *known == name);
        if let Some((_, kind, property)) = found {
            return Ok(Part { node: Node::Property(*property), kind: *kind, at });
        }
        let names = PROPERTIES.map(|(name, ..)| name).join(", ");
        let what = format!("unknown `{name}`; an object has: {names}; write texts in quotes");
        Err(Problem { at, what })
    }

    fn name(&self, name: &str, at: usize) -> Result<Part, Problem> {
        if self.is_in_object {
            return Self::property(name, at);
        }
        let found = self.names.iter().position(|(known, _)| known == name);
        let found = found.and_then(|at| Some((at, self.names.get(at)?)));
        let has_objects = self.names.iter().any(|(_, kind)| *kind == Type::Objects);
        if let Some((found, (_, kind))) = found.filter(|(_, (_, kind))| *kind != Type::Objects) {
            return Ok(Part { node: Node::Name(found), kind: *kind, at });
        }
        let what = match name {
            "and" => "use && instead of `and`".to_owned(),
            "or" => "use || instead of `or`".to_owned(),
            "not" => "use ! instead of `not`".to_owned(),
            _ if found.is_some() => {
                format!("`{name}` is a list: use any(...), count(...) or n_objects")
            }
            "n_objects" => no_objects(name),
            "category" if has_objects => {
                "`category` is of an object: any(category == ...)".to_owned()
            }
            _ => {
                let names = self.names.iter().filter(|(_, kind)| *kind != Type::Objects);
                let names = names.map(|(name, _)| name.as_str());
                let calls: &[&str] = if has_objects { &["any(...)", "count(...)"] } else { &[] };
                let names: Vec<_> = names.chain(calls.iter().copied()).collect();
                format!(
                    "unknown `{name}`; expected one of: {}; write texts in quotes",
                    names.join(", ")
                )
            }
        };
        Err(Problem { at, what })
    }

    /// Parses `[1, 2, 3]`, with all elements of the type of `wanted`.
    fn list(&mut self, mut wanted: Part) -> Result<Part, Problem> {
        let wrong = |at, what: &str| Err(Problem { at, what: what.to_owned() });
        let (Type::Number | Type::Text | Type::Category | Type::Any) = wanted.kind else {
            return wrong(wanted.at, "elements of a list have to be numbers or texts");
        };
        match self.next() {
            (_, Token::OpenList) => {}
            (at, _) => return wrong(at, "a list in [ ] is missing here"),
        }
        let mut values = Vec::new();
        loop {
            let value = self.operand()?;
            if wanted.kind == Type::Category {
                wanted = wanted.expect(value.kind)?;
            }
            let value = value.expect(wanted.kind)?;
            match value.node {
                Node::Value(scalar) => values.push(scalar),
                Node::Negative(inner) => match *inner {
                    Node::Value(Scalar::Int(int)) => values.push(Scalar::Int(int.wrapping_neg())),
                    Node::Value(Scalar::Float(float)) => values.push(Scalar::Float(-float)),
                    _ => return wrong(value.at, "a list holds numbers or texts"),
                },
                _ => return wrong(value.at, "a list holds numbers or texts"),
            }
            match self.next() {
                (_, Token::Comma) => {}
                (_, Token::CloseList) => break,
                (at, _) => return wrong(at, "a , or ] is missing here"),
            }
        }
        let node = Node::In(Box::new(wanted.node), values);
        Ok(Part { node, kind: Type::Truth, at: wanted.at })
    }
}

fn join(left: Part, operator: Operator, right: Part, at: usize) -> Result<Part, Problem> {
    let (left, right) = match operator.operands() {
        Some(kind) => (left.expect(kind)?, right.expect(kind)?),
        None if left.kind == Type::Truth => {
            let what = "this compares numbers or texts, and its left side is true or false";
            return Err(Problem { at, what: what.to_owned() });
        }
        None if left.kind == Type::Category => {
            let kind = right.kind;
            (left.expect(kind)?, right)
        }
        None => {
            let kind = left.kind;
            (left, right.expect(kind)?)
        }
    };
    let (kind, at) = (operator.result(), left.at);
    let node = Node::Both(operator, Box::new(left.node), Box::new(right.node));
    Ok(Part { node, kind, at })
}

impl Scalar {
    fn kind(&self) -> Type {
        match self {
            Self::Int(_) | Self::Float(_) => Type::Number,
            Self::Text(_) => Type::Text,
            Self::Objects(_) => Type::Objects,
        }
    }
}

fn no_objects(word: &str) -> String {
    format!(
        "`{word}` is of the objects in an image, and the source has no JSON field `objects` with their \
         boxes, as annotations make it"
    )
}
