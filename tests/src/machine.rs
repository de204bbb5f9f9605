//! A bare Debian as a machine of its own: its own processes, mounts and files, and this machine's
//! network. Whatever is changed in it is gone with it, and so is whatever runs in it.

use crate::binary::workspace;
use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// `scripts/debian-root` ends with this where there can be none.
const NOT_HERE: i32 = 75;
const READY_MAX: Duration = Duration::from_secs(60);

/// Prepares the mounts, tells the number of its process, and becomes the machine's first process.
/// What is written goes to memory: neither the bare Debian nor the disk sees it.
const SETUP: &str = r#"
set -e
bare=$1 place=$2 init=$3
read -r pid rest </proc/self/stat
mount -t tmpfs tmpfs "$place/machine"
cd "$place/machine"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$bare,upperdir=upper,workdir=work" root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/tmp
mount -t tmpfs tmpfs root/dev
for name in null zero full random urandom tty; do cp -a "/dev/$name" root/dev/; done
mkdir root/dev/shm root/dev/pts
mount -t devpts devpts root/dev/pts
ln -s pts/ptmx root/dev/ptmx
[ "$init" != systemd ] || mount -t cgroup2 cgroup2 root/sys/fs/cgroup
touch root/.machine
echo "$pid" >"$place/pid.new"
mv "$place/pid.new" "$place/pid"
case $init in
  systemd) exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot root /lib/systemd/systemd --unit=multi-user.target ;;
  # It also sees off whatever ends without a parent.
  *) exec chroot root /bin/sh -c 'while :; do sleep 3600 & wait; done' ;;
esac
"#;

pub struct Machine {
    place: TempDir,
    unshare: Child,
    pid: u32,
}

/// How a command in the machine ended.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// What it printed, after checking that it succeeded.
    #[track_caller]
    pub fn done(self) -> String {
        assert!(self.status.success(), "{}\n{}{}", self.status, self.stdout, self.stderr);
        self.stdout
    }

    /// What it complained about, after checking that it failed.
    #[track_caller]
    pub fn refused(self) -> String {
        assert!(!self.status.success(), "it should have failed:\n{}{}", self.stdout, self.stderr);
        self.stderr
    }
}

impl Machine {
    /// One in which nothing runs. `None`, with the reason printed, where there can be none.
    pub fn bare() -> Option<Self> {
        Self::start("none")
    }

    /// One that systemd has booted.
    pub fn booted() -> Option<Self> {
        let machine = Self::start("systemd")?;
        let deadline = Instant::now() + READY_MAX;
        loop {
            let state = machine.run("systemctl is-system-running --wait");
            // A unit that finds no hardware may fail; what matters is that it is through.
            if ["running", "degraded"].contains(&state.stdout.trim()) {
                return Some(machine);
            }
            if !machine.is_alive() || Instant::now() > deadline {
                eprintln!(
                    "SKIPPED: systemd does not boot in a machine of its own here: {}",
                    state.stderr.trim()
                );
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn start(init: &str) -> Option<Self> {
        let bare = Command::new(workspace().join("scripts/debian-root"))
            .stderr(Stdio::inherit())
            .output()
            .expect("run scripts/debian-root");
        if bare.status.code() == Some(NOT_HERE) {
            return None;
        }
        assert!(bare.status.success(), "scripts/debian-root ended with {}", bare.status);
        let bare = String::from_utf8(bare.stdout).expect("a path").trim().to_owned();
        let place = TempDir::new().expect("make a folder");
        fs::create_dir(place.path().join("machine")).expect("make a folder");
        let unshare = Command::new("unshare")
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--cgroup",
                "--ipc",
                "--uts",
                "sh",
                "-c",
                SETUP,
                "sh",
            ])
            .args([Path::new(&bare), place.path(), Path::new(init)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(place.path().join("setup.log")).expect("make a file"))
            .spawn()
            .expect("run unshare");
        let mut machine = Self { place, unshare, pid: 0 };
        let deadline = Instant::now() + READY_MAX;
        while machine.pid == 0 {
            if let Ok(pid) = fs::read_to_string(machine.place.path().join("pid")) {
                machine.pid = pid.trim().parse().expect("a process's number");
            } else if !machine.is_running() || Instant::now() > deadline {
                let why = fs::read_to_string(machine.place.path().join("setup.log")).unwrap_or_default();
                eprintln!("SKIPPED: no machine of its own can be made here: {}", why.trim());
                return None;
            } else {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // The first process is the machine's own once it has changed its root.
        while !machine.path("/.machine").exists() {
            assert!(Instant::now() < deadline, "the machine does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(machine)
    }

    fn is_running(&mut self) -> bool {
        matches!(self.unshare.try_wait(), Ok(None))
    }

    fn is_alive(&self) -> bool {
        Path::new(&format!("/proc/{}/ns", self.pid)).exists()
    }

    /// Where a path of the machine is for this process.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>, mode: u32) {
        let to = self.path(path);
        fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("make a folder");
        fs::write(&to, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).expect("set the mode");
    }

    /// A command that will run in the machine, as its root, with a login's environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let target = format!("--target={}", self.pid);
        command.args([&target, "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--root", "--wd", program]);
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root");
        command
    }

    pub fn run(&self, script: &str) -> Said {
        self.run_with(script, "")
    }

    /// With something on standard input.
    pub fn run_with(&self, script: &str, input: &str) -> Said {
        let mut command = self.command("sh");
        command
            .args(["-c", &format!("cd /root; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("run nsenter");
        let mut stdin = child.stdin.take().expect("standard input");
        // Who does not read it has decided without it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let Output { status, stdout, stderr } = child.wait_with_output().expect("wait for nsenter");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { status, stdout: text(stdout), stderr: text(stderr) }
    }

    /// Shows a folder of this machine at a path of the other.
    pub fn mount(&self, folder: &Path, at: &str) {
        let root = self.place.path().join("machine/root");
        self.arrange(&["mount", "--bind", &folder.to_string_lossy(), &format!("{}{at}", root.display())]);
    }

    /// From now on nothing outside mounted folders can be changed.
    pub fn make_read_only(&self) {
        let root = self.place.path().join("machine/root");
        for part in ["", "/run", "/tmp"] {
            self.arrange(&["mount", "-o", "remount,ro", &format!("{}{part}", root.display())]);
        }
    }

    fn arrange(&self, words: &[&str]) {
        let target = format!("--target={}", self.pid);
        let done =
            Command::new("nsenter").args([&target, "--mount"]).args(words).output().expect("run nsenter");
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Every file and folder of the machine that stays, with its mode and owner.
    pub fn files(&self) -> Vec<String> {
        let kept = r"find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp \) -prune \
                     -o -printf '%p %m %u\n' | sort";
        self.run(kept).done().lines().map(str::to_owned).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Its first process ends with it, and everything else in the machine with that.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.pid != 0 && self.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
