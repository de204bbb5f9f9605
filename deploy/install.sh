#!/bin/sh
# Makes this machine part of a Forge Fleet, or takes it out again. `--help` tells how.
# Everything happens in functions that the last line starts, so that a script which arrived only
# in part does nothing.
set -eu

# The hub writes its own address here where it knows it for certain.
served_by=''

program=/usr/local/bin/forge-agent
settings_folder=/etc/forge-fleet
settings=$settings_folder/agent.env
authority=$settings_folder/hub-ca.pem
unit_name=forge-agent.service
unit=/etc/systemd/system/$unit_name
account=forge-agent
data=/var/lib/forge-agent
pid_file=/run/forge-agent.pid
# How long the hub may take to see the machine, and the agent to end, in seconds.
seen_within=60
ended_within=60

usage() {
  cat <<'HELP'
Makes this machine part of a Forge Fleet: fetches the agent from the hub, checks it, and runs it
as a service under an account of its own. Running it again upgrades and repairs.

  sudo sh install.sh --hub https://hub.example.com --token-file token.txt
  sudo sh install.sh                     asks for what it does not know
  sudo sh install.sh --uninstall         removes all of it
  sh install.sh --cli                    installs the command line queuectl instead

  --hub URL          where the hub is                                  (or HUB_URL)
  --token-file FILE  a worker's token for this machine; - reads it from standard input
                                                                       (or FORGE_INGEST_SECRET)
  --token TOKEN      the same, but anybody on this machine can see it while this runs
  --id ID            this machine's id; the host name when left out    (or NODE_ID)
  --name NAME        its name for people; the id when left out         (or NODE_NAME)
  --ca-file FILE     a certificate (PEM) to trust the hub by           (or HUB_CA_FILE)
  --no-service       do not use systemd: start the agent now, but not at the next boot
  --wait SECONDS     how long the hub may take to see the machine (60)
  --cli              install queuectl: as root to /usr/local/bin, else to ~/.local/bin
  --uninstall        stop the agent, remove it, its settings, its data and its account;
                     with --cli remove queuectl
  --print-unit       print the systemd unit and do nothing else
HELP
}

say() { printf '%s\n' "$*"; }
warn() { printf 'Note: %s\n' "$*" >&2; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# What a person at the terminal answers, although the script itself may come through a pipe.
# The second argument `secretly` hides what is typed.
answer_to() {
  (: </dev/tty) 2>/dev/null || return 1
  printf '%s: ' "$1" >/dev/tty
  if [ "${2:-}" = secretly ]; then stty -echo </dev/tty; fi
  IFS= read -r answer </dev/tty || answer=
  if [ "${2:-}" = secretly ]; then
    stty echo </dev/tty
    printf '\n' >/dev/tty
  fi
  printf '%s' "$answer"
}

print_unit() {
  cat <<UNIT
[Unit]
Description=Forge Fleet agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=$program
EnvironmentFile=$settings
User=$account
Group=$account
StateDirectory=forge-agent
StateDirectoryMode=0700
WorkingDirectory=$data
Restart=always
RestartSec=5
# The agent ends with 3 when another machine goes by its id: to start again would be a fight.
RestartPreventExitStatus=3
# It finishes its jobs within SHUTDOWN_GRACE_MS (30 s), and ends what they started.
KillMode=mixed
TimeoutStopSec=60
# A job that took too much memory is that job's end, not the agent's.
OOMPolicy=continue

# Jobs run with these limits too. Two are left out on purpose: PrivateDevices would hide graphics
# cards, and MemoryDenyWriteExecute would stop every program that compiles as it runs.
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
UNIT
}

# --- what this machine is ---

find_platform() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) fail 'macOS is not supported yet. deploy/launchd in the sources has an untested draft.' ;;
    *) fail "$(uname -s) is not supported. For Windows, deploy/install.ps1 in the sources is an untested draft." ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) arch=$(uname -m) ;;
  esac
}

runs_systemd() { [ -d /run/systemd/system ] && has systemctl; }

need_root() {
  [ "$(id -u)" = 0 ] || fail "this changes the system: run it as root, for example with sudo."
}

# --- the hub ---

find_hub() {
  hub=${hub:-${HUB_URL:-$(setting HUB_URL)}}
  hub=${hub:-$served_by}
  [ -n "$hub" ] || hub=$(answer_to 'Address of the hub, such as https://hub.example.com') || hub=
  hub=${hub%/}
  case $hub in
    '') fail 'where is the hub? Say --hub https://hub.example.com, or set HUB_URL.' ;;
    *[!A-Za-z0-9._:/%~\[\]-]*) fail "'$hub' is not the address of a hub; it looks like https://hub.example.com" ;;
    http://localhost* | http://127.* | http://\[::1\]*) ;;
    https://?*) ;;
    http://?*) warn 'plain http: the token and all jobs can be read on the way. Use https outside your own network.' ;;
    *) fail "'$hub' must begin with https:// or http://" ;;
  esac
}

find_token() {
  if [ -n "$token_file" ]; then
    if [ "$token_file" = - ]; then
      IFS= read -r token || [ -n "$token" ] || fail 'there was no token on standard input.'
    else
      [ -r "$token_file" ] || fail "cannot read $token_file."
      token=$(head -n 1 "$token_file")
    fi
  elif [ -n "$token" ]; then
    warn 'everybody on this machine can see the arguments of a program. Prefer --token-file.'
  else
    token=${FORGE_INGEST_SECRET:-$(setting FORGE_INGEST_SECRET)}
  fi
  if [ -z "$token" ]; then
    hidden=yes
    token=$(answer_to "A worker's token of $hub (not shown while you type)" secretly) || token=
    hidden=
  fi
  token=$(printf '%s' "$token" | tr -d ' \t\r')
  case $token in
    '') fail "there is no token. 'Add a machine' on the hub's dashboard makes one; say --token-file FILE." ;;
    *[!!-~]* | *\"* | *\\*) fail 'this is not a token: it has characters that no token has.' ;;
  esac
  # Programs that are started from here need not have it.
  unset FORGE_INGEST_SECRET
}

find_id() {
  id=${id:-${NODE_ID:-$(setting NODE_ID)}}
  [ -n "$id" ] || id=$(uname -n | tr -c 'A-Za-z0-9_\n-' - | cut -c 1-64)
  case $id in
    '' | *[!A-Za-z0-9_-]*) fail "'$id' cannot be an id: use letters, digits, - and _, at most 64. Say --id." ;;
  esac
  [ ${#id} -le 64 ] || fail 'the id is too long: at most 64 letters, digits, - and _.'
  name=${name:-${NODE_NAME:-$(setting NODE_NAME)}}
  case $name in *[[:cntrl:]]*) fail 'the name has control characters.' ;; esac
}

# The file at an address of the hub. Nothing secret is sent.
fetch() {
  if has curl; then
    curl --silent --show-error --location --fail --connect-timeout 20 --retry 2 \
      ${ca_file:+--cacert "$ca_file"} --output "$2" "$1"
  elif has wget; then
    wget -q -T 20 ${ca_file:+--ca-certificate="$ca_file"} -O "$2" "$1"
  else
    fail 'neither curl nor wget is here: install one of them.'
  fi
}

# What the hub answers to this machine's token. The token goes through a file that only root can
# read, not through arguments.
ask_hub() {
  if has curl; then
    (umask 077; printf 'header = "Authorization: Bearer %s"\n' "$token" >"$work/asking")
    curl --silent --fail --connect-timeout 5 --max-time 10 --config "$work/asking" \
      ${ca_file:+--cacert "$ca_file"} "$hub$1" 2>/dev/null
  else
    (umask 077; printf 'header = Authorization: Bearer %s\n' "$token" >"$work/asking")
    WGETRC=$work/asking wget -q -T 10 ${ca_file:+--ca-certificate="$ca_file"} -O - "$hub$1" 2>/dev/null
  fi
}

sha256_of() {
  if has sha256sum; then sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then shasum -a 256 "$1" | cut -d ' ' -f 1
  elif has openssl; then openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else fail 'no program here can check a sha256: install coreutils or openssl.'; fi
}

# Puts a program of the hub in its place, and says in `changed` whether it is another one now.
install_program() {
  file=$1-$os-$arch
  fetch "$hub/downloads/SHA256SUMS" "$work/sums" || fail \
    "$hub offers no downloads. Is the address right? Whoever runs the hub gets them by 'make dist' (DOWNLOADS_DIR)."
  wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$file\$/\1/p" "$work/sums" | head -n 1)
  [ -n "$wanted" ] || fail "the hub has no $1 for $os on $arch. It has: $(sed 's/^[0-9a-f]* [ *]//' "$work/sums" | tr '\n' ' ')"
  if [ -f "$2" ] && [ "$(sha256_of "$2")" = "$wanted" ]; then
    say "$2 is up to date."
    return
  fi
  fetch "$hub/downloads/$file" "$work/program" || fail "$file could not be fetched from $hub."
  found=$(sha256_of "$work/program")
  [ "$found" = "$wanted" ] || fail "what arrived as $file is not what the hub lists
  expected sha256 $wanted
  found           $found
Nothing was installed. Try again; if it stays so, something changes files on the way."
  mkdir -p "$(dirname "$2")"
  # Renamed into place: the old one may be running, and half of a program is never there.
  cp "$work/program" "$2.new"
  chmod 755 "$2.new"
  if ! version=$("$2.new" --version 2>&1); then
    rm -f "$2.new"
    fail "the program does not run on this machine: $version"
  fi
  mv -f "$2.new" "$2"
  changed=yes
  say "Installed $2: $version"
}

# --- the settings, kept as NAME="value" lines that systemd reads too ---

setting() {
  [ -r "$settings" ] || return 0
  sed -n "s/^$1=//p" "$settings" | tail -n 1 | sed -e 's/^"\(.*\)"$/\1/' -e 's/\\\(["\\]\)/\1/g'
}

put_setting() {
  if grep -q "^$1=" "$work/settings" && [ "$(setting "$1")" = "$2" ]; then return; fi
  grep -v "^$1=" "$work/settings" >"$work/other" || true
  printf '%s="%s"\n' "$1" "$(printf '%s' "$2" | sed 's/["\\]/\\&/g')" >>"$work/other"
  mv "$work/other" "$work/settings"
}

write_settings() {
  mkdir -p "$settings_folder"
  if [ -n "$ca_file" ]; then
    cp "$ca_file" "$work/authority"
    put_file "$work/authority" "$authority" 644
  fi
  (
    umask 077
    if [ -f "$settings" ]; then cat "$settings"; else
      say '# Settings of forge-agent; "forge-agent --help" lists all. After a change: systemctl restart forge-agent'
    fi >"$work/settings"
    [ -z "$ca_file" ] || put_setting HUB_CA_FILE "$authority"
    put_setting HUB_URL "$hub"
    put_setting FORGE_INGEST_SECRET "$token"
    put_setting NODE_ID "$id"
    [ -z "$name" ] || put_setting NODE_NAME "$name"
    for default in WORKER_ENABLED=true "SOLVER_CACHE_DIR=$data/solvers" "AGENT_STATE_DIR=$data/state"; do
      [ -n "$(setting "${default%%=*}")" ] || put_setting "${default%%=*}" "${default#*=}"
    done
  )
  put_file "$work/settings" "$settings" 600
}

# Replaces a file at once, if it differs.
put_file() {
  chmod "$3" "$1"
  if cmp -s "$1" "$2" 2>/dev/null; then
    chmod "$3" "$2"
    return
  fi
  cp -p "$1" "$2.new"
  mv -f "$2.new" "$2"
  changed=yes
}

make_account() {
  if ! id "$account" >/dev/null 2>&1; then
    if has useradd; then
      nologin=$(command -v nologin || echo /usr/sbin/nologin)
      useradd --system --user-group --no-create-home --home-dir "$data" --shell "$nologin" "$account"
    else
      addgroup -S "$account" && adduser -S -D -H -h "$data" -s /sbin/nologin -G "$account" "$account"
    fi
    say "Made the account $account."
  fi
  mkdir -p "$data"
  chown "$account:$account" "$data"
  chmod 700 "$data"
}

# --- the agent, with and without systemd ---

# Becomes a command with the agent's settings, under its account. Values go through the environment.
become_agent() {
  while IFS= read -r line; do
    case $line in
      [A-Z]*=*) value=$(setting "${line%%=*}") && export "${line%%=*}=$value" ;;
    esac
  done <"$settings"
  cd "$data"
  set -- env "HOME=$data" "$@"
  if has setpriv && setpriv --help 2>&1 | grep -q clear-groups; then
    exec setpriv --reuid "$account" --regid "$account" --clear-groups "$@"
  fi
  # shellcheck disable=SC2016
  exec su -s /bin/sh "$account" -c 'exec "$0" "$@"' "$@"
}

# The number of the agent that an earlier run started without systemd.
own_pid() {
  pid=$(cat "$pid_file" 2>/dev/null) || return 1
  case $(readlink "/proc/$pid/exe" 2>/dev/null) in "$program"*) echo "$pid" ;; *) return 1 ;; esac
}

stop_own() {
  if pid=$(own_pid); then
    say 'Stopping the agent; running jobs have 30 s to finish.'
    kill -TERM "$pid"
    waited=0
    while own_pid >/dev/null; do
      [ "$waited" -lt "$ended_within" ] || kill -KILL "$pid"
      sleep 1
      waited=$((waited + 1))
    done
  fi
  rm -f "$pid_file"
}

start_service() {
  print_unit >"$work/unit"
  put_file "$work/unit" "$unit" 644
  systemctl daemon-reload
  systemctl --quiet enable "$unit_name"
  if [ -n "$changed" ] || ! systemctl --quiet is-active "$unit_name"; then
    systemctl restart "$unit_name"
  fi
  agent_pid() { systemctl show --property MainPID --value "$unit_name"; }
}

remove_service() {
  [ -f "$unit" ] || return 0
  if runs_systemd; then
    say 'Stopping the agent; running jobs have 30 s to finish.'
    systemctl --quiet disable --now "$unit_name" || true
  fi
  rm -f "$unit"
  if runs_systemd; then systemctl daemon-reload; fi
}

start_own() {
  if [ -n "$changed" ] || ! own_pid >/dev/null; then
    stop_own
    touch "$data/agent.log"
    chown "$account:$account" "$data/agent.log"
    # The number is that of the shell which becomes the agent.
    # shellcheck disable=SC2016
    (become_agent sh -c 'echo $$; exec setsid "$0" 2>>agent.log >/dev/null </dev/null' "$program" >"$pid_file") &
    tries=0
    until own_pid >/dev/null || [ "$tries" -ge 50 ]; do
      sleep 0.1 2>/dev/null || sleep 1
      tries=$((tries + 1))
    done
  fi
  agent_pid() { own_pid || true; }
}

# Until the hub knows the very process that runs now.
wait_until_seen() {
  if [ "$(setting WORKER_ENABLED)" != true ]; then
    say "The agent runs and sends metrics to $hub. It takes no jobs, because WORKER_ENABLED is not true in $settings."
    return
  fi
  if ! has curl && wget --help 2>&1 | grep -q BusyBox; then
    say "The agent runs. With curl here, this would also wait until $hub sees it."
    return
  fi
  say "Waiting until $hub sees this machine ..."
  waited=0
  while [ "$waited" -lt "$seen_within" ]; do
    pid=$(agent_pid)
    case $(ask_hub "/api/workers/$id") in
      *"\"pid\":${pid:-none},"*)
        say "Done: '$id' is part of the fleet at $hub."
        return
        ;;
    esac
    sleep 1
    waited=$((waited + 1))
  done
  printf '%s\n' "The hub has not seen this machine after $seen_within s. What the agent finds:" >&2
  (become_agent "$program" doctor) >&2 || true
  if [ -n "$service" ]; then
    fail "the agent stays installed and goes on trying. Its log: journalctl -u forge-agent"
  fi
  fail "the agent stays installed and goes on trying. Its log: $data/agent.log"
}

# --- what can be asked for ---

install_agent() {
  need_root
  find_platform
  find_hub
  find_token
  find_id
  ca_file=${ca_file:-${HUB_CA_FILE:-$(setting HUB_CA_FILE)}}
  [ -z "$ca_file" ] || [ -r "$ca_file" ] || fail "cannot read $ca_file."
  if [ -n "$service" ] && ! runs_systemd; then
    service=
    warn 'systemd does not run here: the agent is started without it. After a reboot, run this again.'
  fi
  install_program forge-agent "$program"
  make_account
  write_settings
  if [ -n "$service" ]; then
    stop_own
    start_service
  else
    remove_service
    start_own
  fi
  wait_until_seen
  say "Settings: $settings"
  if [ -n "$service" ]; then
    say 'Log:      journalctl -u forge-agent'
  else
    say "Log:      $data/agent.log"
  fi
}

install_cli() {
  find_platform
  find_hub
  ca_file=${ca_file:-${HUB_CA_FILE:-}}
  find_cli_folder
  install_program queuectl "$folder/queuectl"
  case ":$PATH:" in
    *":$folder:"*) say "Try: queuectl --help" ;;
    *)
      say "$folder is not in PATH. Mend that for this terminal and those to come:"
      case ${SHELL:-} in
        */fish) say "  fish_add_path $folder" ;;
        */zsh) say "  echo 'export PATH=\"$folder:\$PATH\"' >>~/.zshrc; export PATH=\"$folder:\$PATH\"" ;;
        *) say "  echo 'export PATH=\"$folder:\$PATH\"' >>~/.profile; export PATH=\"$folder:\$PATH\"" ;;
      esac
      ;;
  esac
}

find_cli_folder() {
  folder=/usr/local/bin
  [ "$(id -u)" = 0 ] || folder=${HOME:?there is no home folder}/.local/bin
}

uninstall_agent() {
  need_root
  remove_service
  stop_own
  rm -f "$program" "$settings" "$authority"
  rmdir "$settings_folder" 2>/dev/null || true
  rm -rf "$data"
  if id "$account" >/dev/null 2>&1; then
    if has userdel; then userdel "$account"; else deluser "$account"; fi
  fi
  say 'Removed the agent, its settings, its data and its account.'
  say 'The hub shows the machine as lost until it is forgotten there; revoke its token too.'
  if [ -x /usr/local/bin/queuectl ]; then say 'queuectl is still here; --uninstall --cli removes it.'; fi
}

uninstall_cli() {
  find_cli_folder
  rm -f "$folder/queuectl"
  say "Removed $folder/queuectl."
}

main() {
  hub='' token='' token_file='' id='' name='' ca_file='' changed='' hidden=''
  service=yes task=install what=agent
  while [ $# -gt 0 ]; do
    case $1 in
      --hub | --token | --token-file | --id | --name | --ca-file | --wait)
        [ $# -ge 2 ] || fail "$1 needs a value; see --help."
        case $1 in
          --hub) hub=$2 ;;
          --token) token=$2 ;;
          --token-file) token_file=$2 ;;
          --id) id=$2 ;;
          --name) name=$2 ;;
          --ca-file) ca_file=$2 ;;
          --wait) seen_within=$2 ;;
        esac
        shift
        ;;
      --no-service) service= ;;
      --cli) what=cli ;;
      --uninstall) task=uninstall ;;
      --print-unit) print_unit; exit ;;
      --help | -h) usage; exit ;;
      *) fail "there is no option '$1'; see --help." ;;
    esac
    shift
  done
  # A hub on this machine is never asked for through a proxy, which would look at its own machine.
  no_proxy=${no_proxy:+$no_proxy,}localhost,127.0.0.1,::1
  export no_proxy
  work=$(mktemp -d)
  # Whoever gives up while typing a token wants to see again what is typed.
  trap 'rm -rf "$work"; [ -z "$hidden" ] || stty echo </dev/tty' EXIT
  trap 'exit 1' HUP INT TERM
  "${task}_$what"
}

main "$@"
