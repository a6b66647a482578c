# Common parts of the site scripts: sourced, not run. Needs bash, Debian 12, root.
# Every site keeps all it writes under $SITES_DIR/<site>; nothing runs as a system service.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SITES_DIR=${SITES_DIR:-$(dirname "$HERE")/run}
DATASET=${DATASET:-$HERE/dataset.json}
HOST=127.0.0.1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
say() { printf '%s: %s\n' "$SITE" "$*" >&2; }
die() { say "$*"; exit 1; }
init_site() { # NAME DEFAULT_PORT
  SITE=$1; PORT=${PORT:-$2}; BASE=http://$HOST:$PORT; RUN=$SITES_DIR/$SITE
  mkdir -p "$RUN"; chmod 755 "$RUN"
}
need_root() { [ "$(id -u)" = 0 ] || die "must be run as root"; }
apt_install() { # PACKAGE...   waits for another apt-get
  apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" >>"$RUN/apt.log" 2>&1 </dev/null
}
apt_need() { # PACKAGE...   installs what is missing; starts no service
  local p miss=()
  for p in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || miss+=("$p")
  done
  [ ${#miss[@]} = 0 ] && return 0
  say "installing ${miss[*]}"
  local guard=
  if [ ! -e /usr/sbin/policy-rc.d ]; then # keep maintainer scripts from starting services
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; guard=1
  fi
  # a list of packages is needed once
  ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || apt-get update -qq
  local rc=0
  apt_install "${miss[@]}" || { apt-get update -qq && apt_install "${miss[@]}"; } || rc=$? # a stale list names versions that are gone
  [ -z "$guard" ] || rm -f /usr/sbin/policy-rc.d
  [ $rc = 0 ] || { tail -n 20 "$RUN/apt.log" >&2; die "apt-get install failed ($rc)"; }
}
port_free() { ! (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }
starttime() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
start_bg() { # NAME CMD...   own session; remembers pid and its start time
  local name=$1; shift
  setsid "$@" >>"$RUN/$name.log" 2>&1 </dev/null &
  local pid=$!
  sleep 0.2
  kill -0 $pid 2>/dev/null || { tail -n 20 "$RUN/$name.log" >&2; die "$name did not start"; }
  echo "$name $pid $(starttime $pid)" >>"$RUN/pids"
}
alive() { # NAME   true when the process this script started still runs
  local n p t
  [ -s "$RUN/pids" ] || return 1
  while read -r n p t; do
    [ "$n" = "$1" ] && [ "$(starttime "$p")" = "$t" ] && return 0
  done <"$RUN/pids"
  return 1
}
stop_site() { # ends the sessions recorded in pids, no other process
  local n p t i
  [ -s "$RUN/pids" ] || { say "not running"; return 0; }
  tac "$RUN/pids" | while read -r n p t; do
    [ -n "$t" ] && [ "$(starttime "$p")" = "$t" ] || continue
    kill -TERM -- "-$p" 2>/dev/null || kill -TERM "$p" 2>/dev/null || true
    for i in $(seq 100); do [ "$(starttime "$p")" = "$t" ] || break; sleep 0.1; done
    [ "$(starttime "$p")" = "$t" ] && { kill -KILL -- "-$p" 2>/dev/null || kill -KILL "$p" || true; }
    say "stopped $n ($p)"
  done
  rm -f "$RUN/pids"
}
wait_http() { # URL TEXT [SECONDS]   until the page answers 200 and holds TEXT
  local i
  for i in $(seq $(( ${3:-60} * 4 ))); do
    curl -fsSL --max-time 20 "$1" 2>/dev/null | grep -qF -- "$2" && return 0
    sleep 0.25
  done
  tail -n 20 "$RUN"/*.log >&2; die "no healthy answer from $1"
}
apache_php() { # DOCROOT_DIRECTIVES...   writes a private apache configuration and starts it as www-data
  local mods so m v
  v=$(ls /usr/lib/apache2/modules/ | sed -n 's/^libphp\(.*\)\.so$/\1/p' | tail -1)
  mkdir -p "$RUN/apache"; chown www-data: "$RUN/apache"
  {
    echo "ServerRoot $RUN/apache"; echo "PidFile $RUN/apache/pid"; echo "ServerName $HOST"
    echo "Listen $HOST:$PORT"; echo "DefaultRuntimeDir $RUN/apache"
    echo "ErrorLog $RUN/apache-error.log"; echo "LogLevel warn"
    for m in mpm_prefork authz_core authz_host alias dir mime rewrite env setenvif log_config headers access_compat; do
      so=/usr/lib/apache2/modules/mod_$m.so
      [ -e $so ] && echo "LoadModule ${m}_module $so"
    done
    echo "LoadModule php_module /usr/lib/apache2/modules/libphp$v.so"
    cat <<X
User www-data
Group www-data
StartServers 2
MinSpareServers 1
MaxSpareServers 3
MaxRequestWorkers 8
LogFormat "%h %t \"%r\" %>s %b \"%{Referer}i\"" short
CustomLog $RUN/access.log short
TypesConfig /etc/mime.types
DirectoryIndex index.php index.html
<FilesMatch "\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
<Directory />
  Require all denied
  AllowOverride None
  Options FollowSymLinks
</Directory>
php_admin_value session.save_path $RUN/sessions
php_admin_value upload_tmp_dir $RUN/sessions
php_admin_flag display_errors off
php_admin_value error_log $RUN/php-error.log
php_admin_flag log_errors on
X
    printf '%s\n' "$@"
  } >"$RUN/apache2.conf"
  mkdir -p "$RUN/sessions"; chown www-data: "$RUN/sessions"; chmod 700 "$RUN/sessions"
  touch "$RUN/php-error.log"; chown www-data: "$RUN/php-error.log"
  apache2 -t -f "$RUN/apache2.conf" >/dev/null 2>"$RUN/apache-test.log" || { cat "$RUN/apache-test.log" >&2; die "bad apache configuration"; }
  start_bg apache env APACHE_RUN_DIR="$RUN/apache" apache2 -f "$RUN/apache2.conf" -DFOREGROUND
}
APACHE_PHP_PKGS="apache2-bin libapache2-mod-php php-cli curl media-types"
main() { # ACTION   start (default) | stop | status | reset | truth | expire
  case "${1:-start}" in
    start)
      need_root
      if [ -e "$RUN/seeded" ] && alive "$MAINPROC"; then say "already running"; health; else
        [ ! -s "$RUN/pids" ] || stop_site # what a failed start left
        port_free "$PORT" || die "port $PORT is taken by another program"
        local t0=$SECONDS t1 t2
        install; t1=$SECONDS
        [ -e "$RUN/seeded" ] || { rm -rf "${RUN:?}/data"; seed; touch "$RUN/seeded"; }
        t2=$SECONDS
        serve; health
        say "install $((t1-t0)) s, seed $((t2-t1)) s, start $((SECONDS-t2)) s, data $(du -sh "$RUN" | cut -f1)"
      fi
      credentials ;;
    stop) stop_site ;;
    status) if alive "$MAINPROC"; then say "running"; credentials; else say "not running"; return 3; fi ;;
    reset) stop_site; rm -rf "${RUN:?}"; say "removed $RUN" ;;
    truth) truth ;;
    expire) expire; say "all logins ended on the server's side" ;;
    *) die "usage: $0 [start|stop|status|reset|truth|expire]" ;;
  esac
}
