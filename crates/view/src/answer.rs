//! Responses: a body of a known kind, or a failure.
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use fdconvert_core::{Class, Codec, Error};
use serde_json::{Value as Json, json};

/// The kinds of bodies. Content of a dataset is never sent as a kind that a browser executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Html,
    Script,
    Style,
    Icon,
    /// The only kind with texts of a dataset.
    Json,
    Text,
    /// Bytes for saving only.
    Opaque,
    Image(Shown),
}

/// Images that browsers can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Jpeg,
    Png,
    Bmp,
    Webp,
    Gif,
    Avif,
}

impl Shown {
    /// Returns the kind for images of a codec; `None` if browsers cannot show them.
    pub(crate) fn of(codec: Codec) -> Option<Self> {
        Some(match codec {
            Codec::Jpeg => Self::Jpeg,
            Codec::Png => Self::Png,
            Codec::Bmp => Self::Bmp,
            Codec::Webp => Self::Webp,
            Codec::Gif => Self::Gif,
            Codec::Avif => Self::Avif,
            _ => return None,
        })
    }

    pub(crate) fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Bmp => "image/bmp",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Avif => "image/avif",
        }
    }
}

impl Content {
    fn mime(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Style => "text/css; charset=utf-8",
            Self::Icon => "image/svg+xml",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
            Self::Opaque => "application/octet-stream",
            Self::Image(shown) => shown.mime(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) content: Content,
    pub(crate) body: Bytes,
    /// Changes with the body. Browsers cache bodies that have a tag.
    pub(crate) tag: Option<String>,
    /// File name for saving, without any outside text.
    pub(crate) save_as: Option<&'static str>,
}

impl Answer {
    pub(crate) fn new(content: Content, body: impl Into<Bytes>) -> Self {
        Self { content, body: body.into(), tag: None, save_as: None }
    }

    pub(crate) fn json(value: &Json) -> Self {
        Self::new(Content::Json, value.to_string())
    }

    pub(crate) fn tagged(self, tag: String) -> Self {
        Self { tag: Some(tag), ..self }
    }

    pub(crate) fn saved_as(self, name: &'static str) -> Self {
        Self { save_as: Some(name), ..self }
    }

    /// Returns the response to a browser, which may have the body already.
    pub(crate) fn respond(self, has: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        let mut set = |name: HeaderName, value: &str| {
            // Tags and names consist of known letters.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        let keeping = if self.tag.is_some() { "private, max-age=3600" } else { "no-store" };
        set(header::CACHE_CONTROL, keeping);
        if let Some(tag) = &self.tag {
            set(header::ETAG, tag);
        }
        if self.tag.as_deref().is_some_and(|tag| has.is_some_and(|has| is_among(has, tag))) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        set(header::CONTENT_TYPE, self.content.mime());
        if let Some(name) = self.save_as {
            set(header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
        }
        (headers, Body::from(self.body)).into_response()
    }
}

/// Returns true if a tag is among those that a browser sent.
pub(crate) fn is_among(has: &str, tag: &str) -> bool {
    has.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
}

/// Reason for a response without a body.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: StatusCode,
    what: String,
}

impl Failure {
    /// Invalid parameters.
    pub(crate) fn asked_wrong(what: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, what: what.into() }
    }

    pub(crate) fn forbidden(what: &str) -> Self {
        Self { status: StatusCode::FORBIDDEN, what: what.into() }
    }

    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, what: what.into() }
    }

    pub(crate) fn method() -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            what: "nothing is written here: only GET and HEAD are answered".into(),
        }
    }

    /// A sample that cannot be read or shown.
    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, what: what.into() }
    }

    /// A result that is not known yet.
    pub(crate) fn not_yet(what: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, what: what.into() }
    }

    /// An internal error.
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, what: what.into() }
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let what = error.chain();
        match error.class() {
            Class::Usage => Self::asked_wrong(what),
            _ => Self::unreadable(what),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Answer::json(&json!({"error": self.what})).respond(None);
        *response.status_mut() = self.status;
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}
