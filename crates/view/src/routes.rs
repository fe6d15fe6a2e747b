//! The handler of each path.
use crate::{
    answer::{Answer, Failure},
    batch, compare, damage, dataset, export, facets, image, mask, objects, page,
    request::Asked,
    rows, sample,
    security::add_headers,
    server::Shared,
    sheet,
};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, Uri},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use std::sync::Arc;

/// Answers a request; it may wait for the disk or the network.
type Handler = fn(&Shared, &Asked) -> Result<Answer, Failure>;

/// Paths after the token.
const ROUTES: [(&str, Handler); 22] = [
    ("", |_, _| page::index()),
    ("app.js", |_, _| page::script()),
    ("app.css", |_, _| page::style()),
    ("icon.svg", |_, _| page::icon()),
    ("api/dataset", |it, asked| dataset::answer(it.dataset(asked)?, it.second())),
    ("api/facets", |it, asked| facets::answer(it.dataset(asked)?, asked)),
    ("api/samples", |it, asked| rows::samples(it.dataset(asked)?, asked)),
    ("api/position", |it, asked| rows::position(it.dataset(asked)?, asked)),
    ("api/sample/{sample}", |it, asked| sample::answer(it.dataset(asked)?, asked)),
    ("api/boxes/{sample}", |it, asked| objects::boxes(it.dataset(asked)?, asked)),
    ("image/{sample}", |it, asked| image::answer(it.dataset(asked)?, asked, &it.thumbnails)),
    ("image/{sample}/{field}", |it, asked| {
        image::answer(it.dataset(asked)?, asked, &it.thumbnails)
    }),
    ("mask/{sample}/{field}", |it, asked| mask::answer(it.dataset(asked)?, asked)),
    ("field/{sample}/{field}", |it, asked| sample::field(it.dataset(asked)?, asked)),
    ("api/batch", |it, asked| batch::rows(it.dataset(asked)?, asked, &it.batch)),
    ("batch.png", |it, asked| batch::picture(it.dataset(asked)?, asked, &it.batch)),
    ("batch-masks.png", |it, asked| batch::masks(it.dataset(asked)?, asked, &it.batch)),
    ("api/damage", |it, asked| damage::answer(&it.dataset(asked)?.damage, &it.ended)),
    ("api/compare", |it, asked| compare::answer(it.comparison()?, asked, &it.ended)),
    ("keys.txt", |it, asked| export::keys(it.dataset(asked)?, asked, &it.ended)),
    ("sheet.png", |it, asked| sheet::picture(it.dataset(asked)?, asked, &it.ended)),
    ("sheet.html", |it, asked| sheet::page(it.dataset(asked)?, asked, &it.ended)),
];

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for (path, handler) in ROUTES {
        let path = format!("/{}/{path}", shared.guard.token());
        let answer = move |State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap| {
            answered(shared, Asked::new(&uri, &headers), handler)
        };
        router = router.route(&path, get(answer));
    }
    let guard = from_fn_with_state(shared.clone(), guarded);
    router.fallback(no_path).layer(guard).with_state(shared)
}

/// Lets authorised requests pass, and adds headers to every response.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let checked = shared.guard.check(request.method(), request.uri(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    };
    add_headers(response.headers_mut());
    response
}

/// Runs a handler on a thread that may wait; the number of such threads is limited.
async fn answered(shared: Arc<Shared>, asked: Asked, handler: Handler) -> Response {
    let Ok(permit) = shared.jobs.clone().acquire_owned().await else {
        return Failure::not_yet("the server is stopping").into_response();
    };
    let work = move || {
        let answer = handler(&shared, &asked);
        drop(permit);
        match answer {
            Ok(answer) => answer.respond(asked.has.as_deref()),
            Err(failure) => failure.into_response(),
        }
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Failure::broken("this request has found a mistake in fdconvert").into_response()
    })
}

async fn no_path() -> Response {
    Failure::missing("there is nothing at this path").into_response()
}
