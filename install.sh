#!/bin/sh
# Installs the engine from this directory, or removes it again. docs/guide/install.md explains all of it.
set -eu

usage() {
  cat <<'TEXT'
Usage: ./install.sh               install; below PREFIX the program is linked to, at / it is copied
       ./install.sh copy          install copies, so that this directory may go
       ./install.sh clean         remove the engine; configuration, logs and data stay
       ./install.sh clean purge   remove everything; ./install.sh purge is the same

The environment may say more:
  PREFIX                   install below this directory instead of /
  DESTDIR                  put the files below this directory, for a package that is unpacked at / later
  PROVISION_ENGINE_BINARY  the program to install; else target/release, else target/debug
  PROVISION_ENGINE_USER    the user that the service runs as; else the one who installs, and the system user
                           provision-engine if that is root
TEXT
}

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

# What to do ----------------------------------------------------------------------------------------------

action=install mode=link
case "$*" in
  '' | install | link | 'install link') ;;
  copy | 'install copy') mode=copy ;;
  clean) action=clean ;;
  purge | 'clean purge') action=purge ;;
  *) usage; exit 1 ;;
esac

# Where ---------------------------------------------------------------------------------------------------

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

# A directory of the caller without a slash at its end. Nothing means the root of the file system.
place() { # NAME VALUE
  case $2 in
    '' | /) return ;;
    *[\'\"\\\ \	\$\`%]* | *'
'*) fail "$1 must be a path without spaces, quotes and other special characters" ;;
    /*) printf '%s' "${2%/}" ;;
    *) fail "$1 must be an absolute path, such as /srv/engine" ;;
  esac
}

prefix=$(place PREFIX "${PREFIX:-}")
root=$(place DESTDIR "${DESTDIR:-}")$prefix
final=$prefix/opt/provision-engine
opt=$root/opt/provision-engine
etc=$root/etc/provision-engine
bin=$root/usr/local/bin
logs=$root/var/log/provision-engine
data=$root/var/lib/provision-engine
units=$root/etc/systemd/system
unit=provision-engine.service
system_user=provision-engine
user=${PROVISION_ENGINE_USER:-${SUDO_USER:-$(id -un)}}
[ "$user" != root ] || user=$system_user

# With rights ---------------------------------------------------------------------------------------------

# Runs a command that changes PATH, with sudo only if this user cannot change it.
for_path() { # PATH COMMAND...
  above=$(dirname -- "$1")
  while [ ! -d "$above" ]; do above=$(dirname -- "$above"); done
  shift
  if [ -w "$above" ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "cannot write to $above: run this as root, or install sudo"
  fi
}

make_dir() { [ -d "$1" ] || for_path "$1" mkdir -p -- "$1"; }

# Beside its place first and then moved, so that a running program is never half overwritten.
put() { # MODE SOURCE TARGET
  make_dir "$(dirname -- "$3")"
  for_path "$3" cp -- "$2" "$3.new"
  for_path "$3" chmod "$1" "$3.new"
  for_path "$3" mv -f -- "$3.new" "$3"
}

link() { # TO TARGET
  make_dir "$(dirname -- "$2")"
  for_path "$2" rm -f -- "$2.new"
  for_path "$2" ln -s -- "$1" "$2.new"
  for_path "$2" mv -f -- "$2.new" "$2"
}

remove() { # PATH...
  for path do
    if [ -e "$path" ] || [ -L "$path" ]; then for_path "$path" rm -rf -- "$path"; fi
  done
}

has_systemd() { [ -z "$root" ] && [ -d /run/systemd/system ] && command -v systemctl >/dev/null; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Whether a path is in the folder of a person. What belongs to the system must not depend on such a folder.
is_home() { # PATH
  case $1/ in
    /home/* | /root/* | "${HOME:-/root}"/*) return 0 ;;
    *) return 1 ;;
  esac
}

# Installing ----------------------------------------------------------------------------------------------

find_binary() {
  if [ -n "${PROVISION_ENGINE_BINARY:-}" ]; then
    binary=$PROVISION_ENGINE_BINARY
    [ -x "$binary" ] || fail "PROVISION_ENGINE_BINARY: $binary is not a program"
  else
    target=${CARGO_TARGET_DIR:-$here/target}
    binary=$target/release/provision-engine
    [ -x "$binary" ] || binary=$target/debug/provision-engine
    [ -x "$binary" ] || fail 'there is nothing to install yet: run "cargo build --release" here, which needs Rust and a C compiler, or name a program with PROVISION_ENGINE_BINARY'
  fi
  binary=$(CDPATH='' cd -- "$(dirname -- "$binary")" && pwd -P)/$(basename -- "$binary")
  "$binary" --version >/dev/null || fail "$binary does not run on this machine"
}

install_program() {
  if [ -z "$prefix" ]; then mode=copy; fi
  if ! is_home "$opt" && { is_home "$binary" || is_home "$here"; }; then mode=copy; fi
  if [ "$mode" = copy ]; then
    put 755 "$binary" "$opt/bin/provision-engine"
  else
    link "$binary" "$opt/bin/provision-engine"
  fi
  link provision-engine "$opt/bin/provision-engine-server"
}

# The tools of the original read its schemas beside the configuration.
install_schemas() {
  # Where earlier releases had them.
  remove "$opt/schemas"
  for schema in serverless_runtime error config; do
    file=$here/packaging/schemas/$schema.json
    if [ "$schema" = serverless_runtime ]; then file=$here/crates/products/serverless/src/api/schema.json; fi
    if [ "$mode" = copy ]; then
      put 644 "$file" "$etc/schemas/$schema.json"
    else
      link "$file" "$etc/schemas/$schema.json"
    fi
  done
}

# Manual pages and completions come from the program itself.
install_manuals() {
  "$binary" man --dir "$draft/man" 2>/dev/null
  for page in "$draft"/man/*.1; do put 644 "$page" "$opt/share/man/man1/$(basename -- "$page")"; done
  for shell in bash zsh fish; do
    "$binary" completions "$shell" >"$draft/completions"
    put 644 "$draft/completions" "$opt/share/completions/provision-engine.$shell"
  done
}

# Below a prefix the program has to be told where its files are, so there the commands are small scripts.
install_commands() {
  for name in provision-engine provision-engine-server; do
    if [ -z "$prefix" ]; then
      link "$final/bin/$name" "$bin/$name"
    else
      printf '#!/bin/sh\nPROVISION_ENGINE_PREFIX=%s\nexport PROVISION_ENGINE_PREFIX\nexec %s "$@"\n' \
        "$prefix" "$final/bin/$name" >"$draft/command"
      # A link of an earlier installation must not be followed.
      remove "$bin/$name"
      put 755 "$draft/command" "$bin/$name"
    fi
  done
}

# The configuration is always a copy, because people and scripts edit it.
install_configuration() {
  if [ -e "$etc/engine.conf" ] || [ -L "$etc/engine.conf" ]; then
    say "kept        $etc/engine.conf"
  else
    put 644 "$here/packaging/engine.conf" "$etc/engine.conf"
  fi
}

# A service never runs as root. In a package or below a prefix the user is only named.
install_user() {
  if [ -n "$root" ] || [ "$user" != "$system_user" ] || id "$user" >/dev/null 2>&1; then return; fi
  as_root useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin "$user"
  say "created     the system user $user"
}

# Gives a directory to the user of the service, also one that an earlier service of root has left.
install_owner() { # PATH
  make_dir "$1"
  if ! id "$user" >/dev/null 2>&1 || [ "$(stat -c %U "$1")" = "$user" ]; then return; fi
  if [ -z "$root" ] || [ "$(id -un)" != "$user" ]; then for_path "$1" chown -R "$user" "$1"; fi
}

install_logs() {
  install_owner "$logs"
  if [ -z "$root" ] && [ "$user" = "$system_user" ]; then
    install_owner "$data"
    for_path "$data" chmod 700 "$data"
  fi
}

install_unit() {
  environment=
  if [ "$user" = "$system_user" ]; then environment=PROVISION_ENGINE_DATA_DIR=/var/lib/provision-engine; fi
  if [ -n "$prefix" ]; then environment=PROVISION_ENGINE_PREFIX=$prefix; fi
  sed -e "s|@PREFIX@|$prefix|" -e "s|@USER@|$user|" -e "s|@ENVIRONMENT@|$environment|" -e '/^Environment=$/d' \
    "$here/packaging/$unit" >"$draft/$unit"
  put 644 "$draft/$unit" "$units/$unit"
  if has_systemd; then as_root systemctl daemon-reload; fi
}

# Before anything is changed, so that no half of an installation is left behind.
check_rights() {
  for dir in "$opt" "$bin" "$etc" "$logs" "$units"; do for_path "$dir/any" true; done
}

install_all() {
  find_binary
  check_rights
  draft=$(mktemp -d)
  trap 'rm -rf -- "$draft"' EXIT
  trap 'exit 1' HUP INT TERM
  install_program
  install_schemas
  install_manuals
  install_commands
  install_configuration
  install_user
  install_logs
  install_unit
  say "installed   $("$binary" --version) ($mode)"
  say "configure   $etc/engine.conf"
  say "start       $bin/provision-engine-server start"
  say "logs        $logs"
}

# Removing ------------------------------------------------------------------------------------------------

# Calls the installed program as the user that it runs for.
ask() { # VARIABLE=VALUE... WORD
  if [ "$(id -un)" = "$user" ] || [ "$user" = "$system_user" ]; then
    env PROVISION_ENGINE_PREFIX="$prefix" "$@" >/dev/null 2>&1
  else
    sudo -u "$user" -H env PROVISION_ENGINE_PREFIX="$prefix" "$@" >/dev/null 2>&1
  fi
}

# A configuration that cannot be read is no reason to leave the engine running.
control() { # WORD
  if [ ! -x "$opt/bin/provision-engine" ]; then return 3; fi
  code=0
  ask "$opt/bin/provision-engine" "$1" || code=$?
  if [ "$code" != 1 ]; then return "$code"; fi
  ask PROVISION_ENGINE_CONFIG=/dev/null PROVISION_ENGINE_ENGINE_CONF=/dev/null "$opt/bin/provision-engine" "$1"
}

stop_engine() {
  if has_systemd && [ -e "$units/$unit" ]; then as_root systemctl disable --now "$unit" >/dev/null 2>&1 || true; fi
  # A tree that is only put together for a package runs nowhere.
  if [ -n "${DESTDIR:-}" ] || ! control status; then return 0; fi
  control stop || fail "the engine is running and does not stop: stop it with $bin/provision-engine stop --force, then try again"
  say 'stopped     the running engine'
}

remove_engine() {
  stop_engine
  remove "$opt" "$etc/schemas" "$bin/provision-engine" "$bin/provision-engine-server" "$units/$unit"
  if has_systemd; then as_root systemctl daemon-reload; fi
}

# Without a prefix, the engine of a user who is not root keeps its data in the home of that user.
data_at_home() {
  if [ "$(id -un)" = "$user" ]; then
    printf '%s' "${XDG_STATE_HOME:-$HOME/.local/state}/provision-engine"
  else
    printf '%s' "$(getent passwd "$user" | cut -d : -f 6)/.local/state/provision-engine"
  fi
}

remove_rest() {
  remove "$etc" "$logs" "$data"
  if [ -z "$root" ] && [ "$user" != "$system_user" ]; then remove "$(data_at_home)"; fi
  # Directories that were made on the way; one with something else in it stays.
  if [ -n "$root" ]; then
    for dir in etc/systemd/system etc/systemd etc opt usr/local/bin usr/local usr var/log var/lib var; do
      rmdir -- "$root/$dir" 2>/dev/null || true
    done
  fi
}

case $action in
  install) install_all ;;
  clean)
    remove_engine
    say "removed     the engine; $etc, $logs and its data stay"
    ;;
  purge)
    remove_engine
    remove_rest
    say 'removed     everything'
    ;;
esac
