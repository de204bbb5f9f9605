//! The guard and the routes for tokens, sessions, audit and documentation, through the assembled
//! router.

use super::{json::Json, test_rig::*, *};
use crate::secret::Secret;
use axum::{
    body::Body,
    extract::State,
    http::{Method, header},
    routing::get,
};
use forge_shared::{
    WorkerId,
    request::Scope,
    response::{AuditEntry, Session, Token},
};
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{collections::HashSet, convert::Infallible};
use utoipa_axum::routes;

#[utoipa::path(get, path = "/api/test/watch", responses((status = 200, description = "It worked")), security(("token" = ["viewer"])))]
async fn watch(caller: Caller) -> Body {
    let first = stream::once(async { Ok::<_, Infallible>("open") });
    let last = stream::once(async move {
        caller.revoked().cancelled().await;
        Ok("over")
    });
    Body::from_stream(first.chain(last))
}

#[utoipa::path(post, path = "/api/test/work", responses((status = 200, description = "It worked")), security(("token" = ["worker", "producer"])))]
async fn work(State(app): State<Arc<App>>, caller: Caller, body: String) -> error::ApiResult<Json<Value>> {
    app.auth.bind_worker(&caller, &WorkerId::trusted(body)).await?;
    Ok(Json(json!({ "worker": caller.worker() })))
}

fn with_test_routes() -> Setup {
    let more_routes = OpenApiRouter::default()
        .routes(routes!(watch))
        .routes(routes!(work))
        .route("/api/test/hidden", get(|| async { "never" }));
    Setup { more_routes, ..Setup::default() }
}

/// The same files, served by a new process.
async fn restarted(rig: Rig) -> Rig {
    Rig::on(rig.bench.restart().await, with_test_routes()).await
}

async fn sessions(rig: &Rig) -> usize {
    rig.store.sessions().await.unwrap().len()
}

impl Rig {
    async fn log_in(&self, token: &str) -> String {
        let answer = self.send("POST", "/api/session", &[], json!({ "token": token }).to_string()).await;
        assert_eq!(answer.status, 200);
        let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
        cookie.split_once(';').unwrap().0.to_owned()
    }
}

/// Every parameter of a path is called none.
fn filled((at, part): (usize, &str)) -> &str {
    if at % 2 == 1 { "none" } else { part }
}

#[tokio::test]
async fn every_route_with_every_kind_of_token() {
    let settings = AuthSettings { failures_per_minute: u32::MAX, ..AuthSettings::default() };
    let hub = Rig::with(Setup { settings, ..with_test_routes() }).await;
    let (_, api) = routes().merge(with_test_routes().more_routes).split_for_parts();
    let table = ScopeTable::read(&api).unwrap();
    let mut tokens = Vec::new();
    for scope in Scope::ALL {
        tokens.push((scope, hub.make_token(scope).await));
    }
    for (method, path, access) in table.iter() {
        let path: String = path.split(['{', '}']).enumerate().map(filled).collect();
        let scopes::Access::Scopes(allowed) = access else {
            let status = hub.start(method.as_str(), &path, &[], "").await.status().as_u16();
            assert!(![401, 403].contains(&status), "{method} {path}: {status}");
            continue;
        };
        assert_eq!(hub.send(method.as_str(), &path, &[], "").await.status, 401, "{method} {path}");
        assert_eq!(hub.with_token("wrong", method.as_str(), &path, "").await.status, 401, "{method} {path}");
        for (scope, token) in &tokens {
            let bearer = format!("Bearer {}", token.secret);
            let answer = hub.start(method.as_str(), &path, &[("authorization", &bearer)], "").await;
            assert_eq!(answer.status() != 403, allowed.contains(*scope), "{method} {path} {scope:?}");
        }
    }
}

#[tokio::test]
async fn undeclared_route_is_closed_to_everybody_and_unknown_ones_say_so() {
    let hub = Rig::with(with_test_routes()).await;
    let answer = hub.with_token(ADMIN, "GET", "/api/test/hidden", "").await;
    assert_eq!((answer.status, answer.code()), (403, "undeclared_route".to_owned()));
    let answer = hub.send("GET", "/api/nothing", &[], "").await;
    assert_eq!((answer.status, answer.code()), (404, "no_such_route".to_owned()));
    let answer = hub.send("PUT", "/api/tokens", &[], "").await;
    assert_eq!((answer.status, answer.code()), (405, "method_not_allowed".to_owned()));
    assert!(answer.headers.contains_key(header::ALLOW));
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_and_all_of_it_is_on_record() {
    let hub = Rig::with(with_test_routes()).await;
    let made = hub.make_token(Scope::Viewer).await;
    assert!(made.secret.starts_with("fq_"));
    let listed: Vec<Token> = hub.with_token(ADMIN, "GET", "/api/tokens", "").await.json();
    assert_eq!(listed, std::slice::from_ref(&made.token));
    let path = format!("/api/tokens/{}", made.token.id);
    assert_eq!(hub.with_token(ADMIN, "DELETE", &path, "").await.status, 204);
    assert_eq!(hub.with_token(ADMIN, "DELETE", &path, "").await.status, 404);
    assert_eq!(hub.with_token(ADMIN, "DELETE", "/api/tokens/a.b", "").await.code(), "invalid_id");
    assert_eq!(hub.with_token(&made.secret, "GET", "/api/session", "").await.status, 401);

    let page = hub.with_token(ADMIN, "GET", "/api/audit?limit=1", "").await;
    let newest: Vec<AuditEntry> = page.json();
    assert_eq!(
        (&*newest[0].action, &*newest[0].actor, &newest[0].target),
        ("token.revoke", "admin", &made.token.id)
    );
    let cursor = page.headers["x-next-cursor"].to_str().unwrap().to_owned();
    let page = hub.with_token(ADMIN, "GET", &format!("/api/audit?limit=1&cursor={cursor}"), "").await;
    assert_eq!(page.json::<Vec<AuditEntry>>()[0].action, "token.create");
    assert!(!page.headers.contains_key("x-next-cursor"));
    assert_eq!(hub.with_token(ADMIN, "GET", "/api/audit?limit=0", "").await.code(), "invalid_field");
}

#[tokio::test]
async fn bad_token_requests_name_the_field() {
    let hub = Rig::with(with_test_routes()).await;
    for (body, field) in [
        (json!({ "name": "", "scope": "viewer" }), "name"),
        (json!({ "name": "a\nb", "scope": "viewer" }), "name"),
        (json!({ "name": "x".repeat(101), "scope": "viewer" }), "name"),
        (json!({ "name": "a", "scope": "root" }), "scope"),
        (json!({ "name": "a" }), "scope"),
        (json!({ "name": "a", "scope": "viewer", "more": 1 }), "more"),
    ] {
        let answer = hub.with_token(ADMIN, "POST", "/api/tokens", body.to_string()).await;
        assert_eq!((answer.status, answer.json::<Value>()["field"].as_str()), (400, Some(field)));
    }
    assert!(hub.store.tokens().await.unwrap().is_empty());
}

#[tokio::test]
async fn revoking_ends_open_streams_and_sessions_at_once() {
    let hub = Rig::with(with_test_routes()).await;
    let made = hub.make_token(Scope::Viewer).await;
    let cookie = hub.log_in(&made.secret).await;
    let mut watchers = Vec::new();
    for (name, value) in [("authorization", format!("Bearer {}", made.secret)), ("cookie", cookie.clone())] {
        let mut body = hub.start("GET", "/api/test/watch", &[(name, &value)], "").await.into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "open");
        watchers.push(body);
    }
    hub.with_token(ADMIN, "DELETE", &format!("/api/tokens/{}", made.token.id), "").await;
    for watcher in watchers {
        assert_eq!(watcher.collect().await.unwrap().to_bytes(), "over");
    }
    assert_eq!(hub.send("GET", "/api/session", &[("cookie", &cookie)], "").await.status, 401);
    assert_eq!(sessions(&hub).await, 0);
}

#[tokio::test]
async fn logging_in_and_out() {
    let hub = Rig::with(with_test_routes()).await;
    let answer = hub
        .send(
            "POST",
            "/api/session",
            &[("x-forwarded-proto", "https")],
            json!({ "token": ADMIN }).to_string(),
        )
        .await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Secure"] {
        assert!(cookie.contains(part), "{part}");
    }
    assert_eq!(answer.json::<Session>().token_id, "admin");
    let cookie = cookie.split_once(';').unwrap().0;
    let who: Session =
        hub.send("GET", "/api/session", &[("cookie", &format!("a=b; {cookie}"))], "").await.json();
    assert_eq!(who.scope, Scope::Admin);
    let own_page = [("cookie", cookie), ("origin", "http://hub"), ("host", "hub")];
    assert_eq!(hub.send("DELETE", "/api/session", &own_page, "").await.status, 204);
    assert_eq!(hub.send("GET", "/api/session", &[("cookie", cookie)], "").await.status, 401);
    assert_eq!(sessions(&hub).await, 0);
    assert_eq!(
        hub.send("POST", "/api/session", &[], json!({ "token": "wrong" }).to_string()).await.status,
        401
    );
    let foreign = [("origin", "https://evil.example"), ("host", "hub")];
    let answer = hub.send("POST", "/api/session", &foreign, json!({ "token": ADMIN }).to_string()).await;
    assert_eq!(answer.code(), "cross_origin");
}

#[tokio::test]
async fn cookies_write_only_from_the_hubs_own_pages() {
    let hub = Rig::with(with_test_routes()).await;
    let cookie = hub.log_in(ADMIN).await;
    let body = json!({ "name": "test", "scope": "viewer" }).to_string();
    let from = |origin| [("cookie", &*cookie), ("origin", origin), ("host", "hub:3000")];
    let answer = hub.send("POST", "/api/tokens", &from("https://evil.example"), body.clone()).await;
    assert_eq!((answer.status, answer.code()), (403, "cross_origin".to_owned()));
    let answer = hub.send("POST", "/api/tokens", &[("cookie", &*cookie)], body.clone()).await;
    assert_eq!(answer.code(), "cross_origin");
    assert_eq!(hub.send("POST", "/api/tokens", &from("http://hub:3000"), body).await.status, 201);
    assert_eq!(hub.send("GET", "/api/tokens", &from("https://evil.example"), "").await.status, 200);
}

#[tokio::test]
async fn sessions_survive_a_restart_but_not_a_new_administrators_secret() {
    let hub = Rig::with(with_test_routes()).await;
    let cookie = hub.log_in(ADMIN).await;
    let again = restarted(hub).await;
    assert_eq!(again.send("GET", "/api/session", &[("cookie", &cookie)], "").await.status, 200);
    let changed =
        Auth::load(again.store.clone(), &Secret::new("another"), AuthSettings::default()).await.unwrap();
    let headers = [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
    assert!(changed.authenticate(&headers, None).is_err());
}

#[tokio::test]
async fn worker_token_belongs_to_its_first_worker_for_good() {
    let hub = Rig::with(with_test_routes()).await;
    let made = hub.make_token(Scope::Worker).await;
    assert_eq!(
        hub.with_token(&made.secret, "POST", "/api/test/work", "one").await.json::<Value>()["worker"],
        "one"
    );
    assert_eq!(hub.with_token(&made.secret, "POST", "/api/test/work", "two").await.code(), "token_bound");
    let again = restarted(hub).await;
    assert_eq!(again.with_token(&made.secret, "POST", "/api/test/work", "two").await.code(), "token_bound");
    assert_eq!(again.with_token(&made.secret, "POST", "/api/test/work", "one").await.status, 200);
    let producer = again.make_token(Scope::Producer).await;
    for worker in ["one", "two"] {
        assert_eq!(again.with_token(&producer.secret, "POST", "/api/test/work", worker).await.status, 200);
    }
}

#[tokio::test]
async fn guessing_is_slowed_but_a_valid_token_never() {
    let hub = Rig::with(with_test_routes()).await;
    for _ in 0..10 {
        assert_eq!(hub.with_token("guess", "GET", "/api/tokens", "").await.status, 401);
    }
    let answer = hub.with_token("guess", "GET", "/api/tokens", "").await;
    assert_eq!((answer.status, answer.code()), (429, "too_many_failures".to_owned()));
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    let answer = hub.send("POST", "/api/session", &[], json!({ "token": "guess" }).to_string()).await;
    assert_eq!(answer.status, 429);
    assert_eq!(hub.with_token(ADMIN, "GET", "/api/tokens", "").await.status, 200);
    hub.log_in(ADMIN).await;
}

#[tokio::test]
async fn scoped_token_over_its_rate_waits_and_the_administrator_does_not() {
    let settings = AuthSettings { requests_per_second: 1, requests_burst: 2, ..AuthSettings::default() };
    let hub = Rig::with(Setup { settings, ..with_test_routes() }).await;
    let made = hub.make_token(Scope::Viewer).await;
    for _ in 0..2 {
        assert_eq!(hub.with_token(&made.secret, "GET", "/api/session", "").await.status, 200);
    }
    let answer = hub.with_token(&made.secret, "GET", "/api/session", "").await;
    assert_eq!((answer.status, answer.code()), (429, "rate_limited".to_owned()));
    assert_eq!(answer.headers[header::RETRY_AFTER], "1");
    for _ in 0..10 {
        assert_eq!(hub.with_token(ADMIN, "GET", "/api/session", "").await.status, 200);
    }
}

#[tokio::test]
async fn duplicate_headers_and_other_schemes_are_refused() {
    let hub = Rig::with(with_test_routes()).await;
    let bearer = format!("Bearer {ADMIN}");
    let twice = [("authorization", &*bearer), ("authorization", &*bearer)];
    assert_eq!(hub.send("GET", "/api/tokens", &twice, "").await.code(), "duplicate_header");
    let basic = [("authorization", "Basic dGhlLWFkbWluaXN0cmF0b3JzLXNlY3JldA==")];
    assert_eq!(hub.send("GET", "/api/tokens", &basic, "").await.status, 401);
    let lower = format!("bearer {ADMIN}");
    assert_eq!(hub.send("GET", "/api/tokens", &[("authorization", &lower)], "").await.status, 200);
}

#[tokio::test]
async fn last_use_is_written_down_later_and_never_brings_a_token_back() {
    let hub = Rig::with(with_test_routes()).await;
    let (used, revoked) = (hub.make_token(Scope::Viewer).await, hub.make_token(Scope::Viewer).await);
    for token in [&used, &revoked] {
        hub.with_token(&token.secret, "GET", "/api/session", "").await;
    }
    hub.with_token(ADMIN, "DELETE", &format!("/api/tokens/{}", revoked.token.id), "").await;
    hub.app.auth.upkeep().await.unwrap();
    let tokens = hub.store.tokens().await.unwrap();
    assert_eq!(tokens.iter().map(|token| &token.id).collect::<Vec<_>>(), [&used.token.id]);
    assert!(tokens[0].last_used_at.is_some());
}

#[tokio::test]
async fn documentation_is_public_complete_and_allowed_by_its_own_policy() {
    let hub = Rig::with(with_test_routes()).await;
    let document: Value = hub.send("GET", "/api/openapi.json", &[], "").await.json();
    assert!(document["paths"]["/api/tokens"]["post"]["requestBody"].is_object());
    assert!(document["components"]["securitySchemes"]["token"].is_object());
    let mut names = HashSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].to_string()), "{method} {path} shares its name");
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(response["description"].is_string(), "{method} {path} {status}");
            }
        }
    }
    let page = hub.send("GET", "/api/docs", &[], "").await;
    let html = std::str::from_utf8(&page.body).unwrap();
    assert!(!html.contains("<style") && !html.contains("style=") && !html.contains("<script>"));
    for asset in ["/api/docs/page.js", "/api/docs/page.css"] {
        assert!(html.contains(asset));
        assert_eq!(hub.send("GET", asset, &[], "").await.status, 200);
    }
    assert_eq!(hub.send(Method::HEAD.as_str(), "/api/docs", &[], "").await.status, 200);
}

#[tokio::test]
async fn an_administrator_sees_who_is_logged_in_and_can_log_them_out() {
    let rig = Rig::new().await;
    let viewer = rig.make_token(Scope::Viewer).await;
    let cookie = rig.log_in(&viewer.secret).await;
    let sessions = rig.get("/api/sessions").await;
    assert_eq!(sessions.status, 200);
    let sessions = sessions.value();
    assert_eq!((sessions.as_array().unwrap().len(), &sessions[0]["scope"]), (1, &json!("viewer")));
    assert_eq!(sessions[0]["current"], false);
    let as_viewer =
        async |path: &str| rig.send("GET", path, &[("cookie", &cookie)], String::new()).await.status;
    assert_eq!((as_viewer("/api/jobs").await, as_viewer("/api/sessions").await), (200, 403));
    let path = format!("/api/sessions/{}", sessions[0]["id"].as_str().unwrap());
    assert_eq!(rig.admin("DELETE", &path, &[], String::new()).await.status, 204);
    assert_eq!(as_viewer("/api/jobs").await, 401);
    assert_eq!(rig.admin("DELETE", &path, &[], String::new()).await.status, 404);
    assert_eq!(rig.get("/api/audit").await.value()[0]["action"], "session.end");
}
