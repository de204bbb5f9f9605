//! https with certificates of one's own, proxies, and what a job can learn about its agent.

use super::{doctor::doctor, run_script};
use forge_tests::{
    agent::{Agent, AgentOptions},
    between::{
        proxy::Proxy,
        tls::{Authority, TlsFront},
    },
    hub::{Hub, SECRET},
};
use serde_json::json;
use std::path::PathBuf;
use tempfile::TempDir;

fn pem(dir: &TempDir, authority: &Authority) -> String {
    let path: PathBuf = dir.path().join("ca.pem");
    std::fs::write(&path, &authority.pem).expect("write the certificate");
    path.display().to_string()
}

#[tokio::test]
async fn hub_with_a_certificate_of_its_own_authority_is_trusted_by_file() {
    let hub = Hub::new().await;
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let front = TlsFront::start(&ours, "localhost", hub.address()).await;
    let url = format!("https://localhost:{}", front.address().port());
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let (right, wrong) = (pem(&dirs[0], &ours), pem(&dirs[1], &other));

    let check = async |ca: &str| {
        doctor(&[("HUB_URL", &url), ("HUB_CA_FILE", ca), ("FORGE_INGEST_SECRET", SECRET)]).await
    };
    let (output, said) = check(&right).await;
    assert!(output.status.success() && said.contains("ok    connection"), "{said}");
    let (output, said) = check(&wrong).await;
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("FAIL  connection: the hub's certificate is not trusted"), "{said}");
    assert!(said.contains("HUB_CA_FILE"), "{said}");

    let mut agent = Agent::start_at(&url, AgentOptions::default().env("HUB_CA_FILE", &wrong));
    agent.until_log("not registered yet: the hub's certificate is not trusted").await;
    agent.kill9().await;
    agent.options = AgentOptions::default().env("HUB_CA_FILE", &right);
    agent.start_again();
    assert_eq!(run_script(&hub, "echo 3").await["result"], json!(3));
}

#[tokio::test]
async fn agent_behind_a_proxy_works_and_the_proxy_hears_no_secret() {
    let hub = Hub::new().await;
    let authority = Authority::new("ours");
    let front = TlsFront::start(&authority, "hub.test", hub.address()).await;
    let proxy = Proxy::start(front.address()).await;
    let dir = TempDir::new().unwrap();
    let ca = pem(&dir, &authority);
    let env = [("HUB_URL", "https://hub.test"), ("HUB_CA_FILE", ca.as_str()), ("HTTPS_PROXY", &proxy.url())];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = env.iter().fold(AgentOptions::default(), |options, (name, value)| options.env(name, value));
    let _agent = Agent::start_at("https://hub.test", options);
    let job = run_script(&hub, "echo working >&2; echo 4").await;
    assert_eq!(job["result"], json!(4), "{job}");

    let mut env: Vec<(&str, &str)> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    env.push(("FORGE_INGEST_SECRET", SECRET));
    let (output, said) = doctor(&env).await;
    assert!(output.status.success() && said.contains("note  proxy: set by HTTPS_PROXY"), "{said}");

    let heard = proxy.heard();
    let holds = |text: &str| heard.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(holds("CONNECT hub.test:443 "), "everything went through the proxy");
    for secret in [SECRET, "/api/", "Bearer"] {
        assert!(!holds(secret), "the proxy heard {secret}");
    }
}

#[tokio::test]
async fn hub_on_this_machine_is_never_asked_for_through_a_proxy() {
    let hub = Hub::new().await;
    let proxy = Proxy::start(hub.address()).await;
    let options = AgentOptions::default().env("HTTP_PROXY", &proxy.url()).env("ALL_PROXY", &proxy.url());
    let _agent = Agent::start(&hub, options);
    assert_eq!(run_script(&hub, "echo 5").await["result"], json!(5));
    assert_eq!(String::from_utf8_lossy(&proxy.heard()), "");
}

/// An account that owns nothing.
const NOBODY: u32 = 65_534;

#[tokio::test]
async fn job_cannot_read_the_agents_token() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let hub = Hub::new().await;
    let (_, token) = hub.token("worker").await;
    let home = std::sync::Arc::new(TempDir::new().unwrap());
    let mut options = AgentOptions::default().token(&token).dir(home.clone());
    // Root may read everything, so this agent must not be root's.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let program = home.path().join("forge-agent");
        std::fs::copy(forge_tests::binary::agent(), &program).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let as_nobody = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$HOME/forge-agent\"";
        options = options.wrapper(["sh", "-c", as_nobody].map(str::to_owned).to_vec());
    }
    let _agent = Agent::start(&hub, options);
    let lines = r#"echo "as $(id -u)"; for process in /proc/[0-9]*; do
        tr '\0' '\n' < "$process/environ" 2>/dev/null | grep FORGE_INGEST_SECRET; done; true"#;
    let job = run_script(&hub, lines).await;
    let found = job["result"]["stdout"].as_str().unwrap_or_else(|| panic!("{job}"));
    assert!(!found.contains(&token), "{found}");
    assert!(!found.starts_with("as 0"), "{found}");
}
