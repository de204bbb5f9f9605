//! Builds `web/` with npm into `OUT_DIR` and lists the result for `include_bytes!`.
//!
//! - `FORGE_DASHBOARD_DIST=<folder>` takes files that are built already.
//! - `FORGE_SKIP_DASHBOARD=1`, or a machine without npm or a way to fetch packages, gives a page
//!   that says what to do, and a warning: everything else of the hub works without Node.
//! - Code that does not build fails, as it should.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
/// What a change of leads to a new build; nothing that a build itself writes.
const SOURCES: [&str; 6] =
    ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts"];

fn main() {
    println!("cargo::rerun-if-env-changed=FORGE_DASHBOARD_DIST");
    println!("cargo::rerun-if-env-changed=FORGE_SKIP_DASHBOARD");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let dist = find_or_build(&out);
    list_files(&dist, &out.join("files.rs"));
}

fn find_or_build(out: &Path) -> PathBuf {
    if let Some(dist) = env::var_os("FORGE_DASHBOARD_DIST").filter(|dist| !dist.is_empty()) {
        // A relative one is meant from where people type commands: the repository.
        let dist = crate_folder().join("..").join(dist);
        assert!(
            dist.join("index.html").is_file(),
            "FORGE_DASHBOARD_DIST names {}, which has no index.html; run `npm run build` in dashboard/web first",
            dist.display()
        );
        println!("cargo::rerun-if-changed={}", dist.display());
        return dist;
    }
    let dist = out.join("dist");
    if env::var_os("FORGE_SKIP_DASHBOARD").is_some_and(|skip| !skip.is_empty() && skip != "0") {
        return stub(&dist, "it was left out on purpose (FORGE_SKIP_DASHBOARD)");
    }
    let web =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("web");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    // Two builds at once would fetch packages into the same folder.
    let lock = fs::File::create(web.join(".build-lock")).expect("dashboard/web can be written to");
    lock.lock().expect("a file can be locked");
    if let Err(why) = fetch_packages(&web) {
        println!("cargo::warning=The dashboard is left out: {why}");
        // What is never there is always newer: the next build tries again.
        println!("cargo::rerun-if-changed={}", out.join("never").display());
        return stub(&dist, &why);
    }
    let mut build = Command::new(NPM);
    build.args(["run", "--silent", "build", "--", "--emptyOutDir", "--logLevel", "warn", "--outDir"]);
    match run(build.arg(&dist).current_dir(&web)) {
        Ok(()) => dist,
        Err(why) => panic!("the dashboard does not build: {why}"),
    }
}

fn crate_folder() -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
}

/// `npm ci`, unless the packages there are those of the lock file. The error is for a person.
fn fetch_packages(web: &Path) -> Result<(), String> {
    run(Command::new(NPM).arg("--version"))?;
    let stamp = web.join("node_modules/.fetched-for");
    let lock =
        fs::read(web.join("package-lock.json")).map_err(|error| format!("package-lock.json: {error}"))?;
    let wanted = hash(&lock);
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == wanted) {
        return Ok(());
    }
    run(Command::new(NPM).args(["ci", "--no-audit", "--no-fund"]).current_dir(web))?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { status, stdout, stderr }) => {
            let said = [stdout, stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines[lines.len().saturating_sub(12)..].join("\n");
            Err(format!("`npm` ended with {status}:\n{last}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("npm is missing; install Node.js 20.19 or newer and build again".to_owned())
        }
        Err(error) => Err(format!("npm: {error}")),
    }
}

/// A page that says why there is no dashboard, in a folder with nothing else.
fn stub(dist: &Path, why: &str) -> PathBuf {
    let why = why.lines().next().unwrap_or_default().replace('&', "&amp;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Forge Fleet</title>\n\
         <h1>This hub was built without its dashboard</h1>\n\
         <p>Reason: {why}.</p>\n\
         <p>To have it, install Node.js 20.19 or newer with npm, build the hub again, and restart it.</p>\n\
         <p>Everything else works: see <a href=\"/api/docs\">the API</a>.</p>\n</html>\n"
    );
    // Files of an earlier build must not be carried beside it.
    let _ = fs::remove_dir_all(dist);
    fs::create_dir_all(dist).expect("OUT_DIR can be written to");
    fs::write(dist.join("index.html"), page).expect("OUT_DIR can be written to");
    dist.to_path_buf()
}

/// Writes the table of files as Rust source.
fn list_files(dist: &Path, table: &Path) {
    let mut files = Vec::new();
    walk(dist, dist, &mut files);
    files.sort();
    let compressed = |path: &str, ending: &str| {
        let path = dist.join(format!("{path}{ending}"));
        if path.is_file() { format!("Some(include_bytes!({path:?}))") } else { "None".to_owned() }
    };
    let mut source = String::from("static FILES: &[File] = &[\n");
    for path in &files {
        let whole = dist.join(path);
        let bytes = fs::read(&whole).expect("a file of the build can be read");
        source += &format!(
            "    File {{ path: {path:?}, content_type: {:?}, hash: {:?}, plain: include_bytes!({whole:?}), brotli: {}, gzip: {} }},\n",
            content_type(path),
            hash(&bytes),
            compressed(path, ".br"),
            compressed(path, ".gz"),
        );
    }
    source += "];\n";
    fs::write(table, source).expect("OUT_DIR can be written to");
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the build can be read") {
        let path = entry.expect("a folder of the build can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("file names are ASCII");
        // Hidden ones are the build's own notes.
        if name.starts_with('.') || name.ends_with(".br") || name.ends_with(".gz") {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, files);
        } else {
            let path = path.strip_prefix(root).expect("a walk stays inside its root");
            files.push(path.to_str().expect("file names are ASCII").replace('\\', "/"));
        }
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Tells versions of a file apart; not meant to withstand anybody.
fn hash(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
