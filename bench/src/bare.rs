//! The limit that enqueueing is held against: the same HTTP library and the same JSON, and no
//! hub behind it.

use anyhow::Context;
use axum::{
    Router,
    body::Bytes,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use forge_shared::{JobId, Status, request::NewJob, response::Enqueued};
use std::{fs, net::SocketAddr, path::PathBuf};

async fn enqueue(body: Bytes) -> Response {
    match serde_json::from_slice::<NewJob>(&body) {
        Ok(_) => {
            let answer =
                Enqueued { id: JobId::trusted("0199c1f0a1b27c3d8e4f5a6b7c8d9e0f"), status: Status::Pending };
            let body = serde_json::to_vec(&answer).expect("an answer is always JSON");
            (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

/// Serves until it is killed.
pub async fn serve() -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let ready = PathBuf::from(std::env::var_os("FORGE_READY_FILE").context("FORGE_READY_FILE")?);
    let unfinished = ready.with_extension("part");
    fs::write(&unfinished, listener.local_addr()?.to_string())?;
    fs::rename(unfinished, ready)?;
    axum::serve(listener, Router::new().route("/api/jobs", post(enqueue))).await?;
    Ok(())
}
