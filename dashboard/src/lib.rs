//! The dashboard's files, carried in the binary. For now that is one page which leads to the API's
//! documentation.

use std::borrow::Cow;

/// A file as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    pub bytes: Cow<'static, [u8]>,
    pub content_type: &'static str,
    /// With its quotes.
    pub etag: String,
    /// For `Content-Encoding`; `None` when the bytes are the file itself.
    pub encoding: Option<&'static str>,
}

const PAGE: &str = "<!doctype html><html lang=\"en\"><title>Forge Fleet</title>\
    <p>The hub is running. Its <a href=\"/api/docs\">API documentation</a> is here.</p></html>";

/// The file at a path without a leading slash; `""` is the page itself.
pub fn asset(path: &str, _accept_encoding: &str) -> Option<Asset> {
    matches!(path, "" | "index.html").then(|| Asset {
        bytes: Cow::Borrowed(PAGE.as_bytes()),
        content_type: "text/html; charset=utf-8",
        etag: format!("\"{:x}\"", PAGE.len()),
        encoding: None,
    })
}
