//! Who may call what. Each route says it beside its handler, in its OpenAPI annotation; this
//! reads the finished document into a table, and the guard enforces exactly that table. What the
//! documentation says and what the hub does therefore cannot differ.

use axum::http::Method;
use forge_shared::request::Scope;
use serde_json::Value;
use std::{collections::HashMap, fmt};

/// The name of the security scheme in annotations: `security(("token" = ["producer"]))`.
pub const SCHEME: &str = "token";

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Public,
    Scopes(ScopeSet),
}

/// A set of scopes. The administrator belongs to every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeSet(u8);

impl ScopeSet {
    const ADMIN_ONLY: Self = Self(1 << Scope::Admin as u8);

    fn with(self, scope: Scope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    pub fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Scope::ALL.iter().filter(|scope| self.contains(**scope)).map(|scope| scope.as_str());
        f.write_str(names.next().unwrap_or_default())?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}

/// Routes whose annotation does not say who may use them. The hub does not start with any.
#[derive(Debug, thiserror::Error)]
#[error("routes without a usable declaration of scopes: {}", .0.join("; "))]
pub struct Undeclared(pub Vec<String>);

#[derive(Debug, Default)]
pub struct ScopeTable(HashMap<String, Vec<(Method, Access)>>);

impl ScopeTable {
    pub fn read(api: &utoipa::openapi::OpenApi) -> Result<Self, Undeclared> {
        let document = serde_json::to_value(api).expect("an OpenAPI document is always JSON");
        let mut table = Self::default();
        let mut faults = Vec::new();
        let paths = document["paths"].as_object().into_iter().flatten();
        for (path, operations) in paths {
            for (name, operation) in operations.as_object().into_iter().flatten() {
                // Other keys of a path item (`parameters`, `summary`) are no methods.
                let Some(method) = method(name) else { continue };
                match access(&operation["security"]) {
                    Ok(access) => table.0.entry(path.clone()).or_default().push((method, access)),
                    Err(why) => faults.push(format!("{method} {path} {why}")),
                }
            }
        }
        if faults.is_empty() { Ok(table) } else { Err(Undeclared(faults)) }
    }

    /// `None` for a route that the document does not have.
    pub fn access(&self, method: &Method, path: &str) -> Option<Access> {
        // axum answers HEAD with GET's handler.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let (_, access) = self.0.get(path)?.iter().find(|(declared, _)| declared == method)?;
        Some(*access)
    }

    /// Every route, for tests that try them all.
    pub fn iter(&self) -> impl Iterator<Item = (&Method, &str, Access)> {
        self.0.iter().flat_map(|(path, methods)| {
            methods.iter().map(move |(method, access)| (method, path.as_str(), *access))
        })
    }
}

fn method(name: &str) -> Option<Method> {
    match name {
        "get" => Some(Method::GET),
        "put" => Some(Method::PUT),
        "post" => Some(Method::POST),
        "delete" => Some(Method::DELETE),
        "patch" => Some(Method::PATCH),
        "head" => Some(Method::HEAD),
        "options" => Some(Method::OPTIONS),
        _ => None,
    }
}

fn access(security: &Value) -> Result<Access, String> {
    let Some(requirements) = security.as_array().filter(|list| !list.is_empty()) else {
        return Err("declares no security".to_owned());
    };
    let mut scopes = ScopeSet::ADMIN_ONLY;
    for requirement in requirements {
        let Some(requirement) = requirement.as_object() else {
            return Err("has a security requirement that is no object".to_owned());
        };
        if requirement.is_empty() {
            return match requirements.len() {
                1 => Ok(Access::Public),
                _ => Err("is both public and not".to_owned()),
            };
        }
        for (scheme, names) in requirement {
            if scheme != SCHEME {
                return Err(format!("names the unknown scheme '{scheme}'"));
            }
            for name in names.as_array().into_iter().flatten() {
                let known = Scope::ALL.into_iter().find(|scope| name == scope.as_str());
                scopes = scopes.with(known.ok_or_else(|| format!("names the unknown scope {name}"))?);
            }
        }
    }
    Ok(Access::Scopes(scopes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn declarations_are_read_as_written() {
        assert_eq!(access(&json!([{}])), Ok(Access::Public));
        let Ok(Access::Scopes(some)) = access(&json!([{"token": ["producer", "viewer"]}])) else { panic!() };
        assert!(
            some.contains(Scope::Producer) && some.contains(Scope::Viewer) && some.contains(Scope::Admin)
        );
        assert!(!some.contains(Scope::Worker));
        assert_eq!(some.to_string(), "producer, viewer, admin");
        assert_eq!(access(&json!([{"token": []}])), Ok(Access::Scopes(ScopeSet::ADMIN_ONLY)));
    }

    #[test]
    fn unclear_declarations_are_refused() {
        for bad in [
            json!(null),
            json!([]),
            json!([{}, {"token": ["viewer"]}]),
            json!([{"cookie": ["viewer"]}]),
            json!([{"token": ["root"]}]),
        ] {
            assert!(access(&bad).is_err(), "{bad}");
        }
    }
}
