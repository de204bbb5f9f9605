//! The dashboard's files, carried in the binary. `build.rs` builds them from `web/`; this answers
//! them by path, in the smallest form that the browser takes. It knows nothing of HTTP servers.

use std::borrow::Cow;

struct File {
    path: &'static str,
    content_type: &'static str,
    hash: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

// `static FILES: &[File]`, sorted by path.
include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    pub bytes: Cow<'static, [u8]>,
    pub content_type: &'static str,
    /// With its quotes, and another one for each encoding, as a strong validator must be.
    pub etag: String,
    /// For `Content-Encoding`; `None` when the bytes are the file itself.
    pub encoding: Option<&'static str>,
}

/// The file at a path without a leading slash; `""` is the page itself. `accept_encoding` is the
/// header as the browser sent it, or empty.
pub fn asset(path: &str, accept_encoding: &str) -> Option<Asset> {
    let path = if path.is_empty() { "index.html" } else { path };
    let at = FILES.binary_search_by(|file| file.path.cmp(path)).ok()?;
    let file = &FILES[at];
    let (bytes, encoding) = [(file.brotli, "br"), (file.gzip, "gzip")]
        .into_iter()
        .find_map(|(bytes, name)| Some((bytes?, Some(name))).filter(|_| accepts(accept_encoding, name)))
        .unwrap_or((file.plain, None));
    let etag = format!("\"{}{}\"", file.hash, encoding.map(|name| format!("-{name}")).unwrap_or_default());
    Some(Asset { bytes: Cow::Borrowed(bytes), content_type: file.content_type, etag, encoding })
}

/// Whether the header names the encoding and does not rule it out with `q=0`.
fn accepts(accept_encoding: &str, wanted: &str) -> bool {
    accept_encoding.split(',').any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let ruled_out = parts
            .filter_map(|part| part.strip_prefix("q="))
            .any(|q| q.parse::<f32>().is_ok_and(|weight| weight <= 0.0));
        named && !ruled_out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_found_by_both_its_names() {
        let page = asset("", "").unwrap();
        assert_eq!(page, asset("index.html", "").unwrap());
        assert_eq!(page.content_type, "text/html; charset=utf-8");
        assert!(page.bytes.starts_with(b"<!doctype html>"));
        assert_eq!(asset("../Cargo.toml", ""), None);
    }

    #[test]
    fn the_smallest_form_that_is_accepted_is_answered() {
        for file in FILES {
            let of = |accept: &str| asset(file.path, accept).unwrap();
            assert_eq!(of("").encoding, None);
            assert_eq!(of("").bytes, file.plain);
            assert_eq!(of("gzip, deflate, br").encoding, file.brotli.map(|_| "br"), "{}", file.path);
            assert_eq!(of("gzip").encoding, file.gzip.map(|_| "gzip"), "{}", file.path);
            if file.brotli.is_some() {
                assert!(of("br").bytes.len() < of("").bytes.len());
                assert_ne!(of("br").etag, of("").etag);
            }
        }
    }

    #[test]
    fn a_form_that_is_ruled_out_is_not_answered() {
        assert!(accepts("gzip;q=0.5, br;q=1.0", "br"));
        assert!(accepts("GZIP", "gzip"));
        assert!(!accepts("gzip, br; q=0", "br"));
        assert!(!accepts("x-br", "br"));
        assert!(!accepts("", "br"));
    }

    #[test]
    fn files_are_sorted_so_that_they_are_found() {
        assert!(FILES.is_sorted_by_key(|file| file.path));
    }
}
