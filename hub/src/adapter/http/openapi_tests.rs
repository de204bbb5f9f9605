//! `docs/openapi.json` is what the code says.

use super::routes;
use std::path::Path;

#[test]
fn the_api_description_in_docs_is_up_to_date() {
    let (_, api) = routes().split_for_parts();
    let generated = api.to_pretty_json().unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed != generated {
        std::fs::write(&path, generated).unwrap();
        panic!("docs/openapi.json was out of date and is written anew: commit it");
    }
}
