#!/bin/bash
# Request Tracker 5 (Debian's request-tracker5), SQLite, its own Starlet server. rt.sh [start|stop|status|reset|truth|expire]
. "$(dirname "$0")/lib.sh"
init_site rt 9131
MAINPROC=rt-server
export RT_SITE_CONFIG=$RUN/RT_SiteConfig.pm RT_SITE_CONFIG_DIR=$RUN/conf.d
install() {
  # dbconfig off: the database lives under $RUN. opensmtpd only because the package wants a mail-transport-agent; it is not started, and RT sends no mail.
  command -v debconf-set-selections >/dev/null && debconf-set-selections <<X || true
request-tracker5 request-tracker5/dbconfig-install boolean false
request-tracker5 request-tracker5/install-cronjobs boolean false
request-tracker5 request-tracker5/handle-siteconfig-permissions boolean false
opensmtpd opensmtpd/mailname string example.test
opensmtpd opensmtpd/root_address string
X
  apt_need opensmtpd rt5-db-sqlite rt5-standalone request-tracker5 curl sqlite3
}
config() {
  mkdir -p "$RUN/conf.d" "$RUN/data/sessions" "$RUN/data/mason"
  chown www-data: "$RUN/data" "$RUN/data/sessions" "$RUN/data/mason"; chmod 750 "$RUN/data"; chmod 700 "$RUN/data/sessions"
  cat >"$RT_SITE_CONFIG" <<X
Set(\$rtname, 'example.test');
Set(\$Organization, 'example.test');
Set(\$WebDomain, '$HOST');
Set(\$WebPort, $PORT);
Set(\$WebPath, '');
Set(\$CorrespondAddress, 'rt\@example.test');
Set(\$CommentAddress, 'rt-comment\@example.test');
Set(\$DatabaseType, 'SQLite');
Set(\$DatabaseName, '$RUN/data/rt.sqlite');
Set(\$Timezone, 'UTC');
Set(\$MailCommand, sub { 1 });
Set(\$LogToSyslog, undef);
Set(\$LogToSTDERR, 'warning');
# RT keeps these two under /var/cache, shared by every instance of the machine
\$RT::MasonSessionDir = '$RUN/data/sessions';
\$RT::MasonDataDir = '$RUN/data/mason';
1;
X
}
seed() {
  config
  local pw; pw=$(mktemp); echo 'Secret-root-1' >"$pw"
  chmod 644 "$pw"
  runuser -u www-data -- env RT_SITE_CONFIG="$RT_SITE_CONFIG" RT_SITE_CONFIG_DIR="$RT_SITE_CONFIG_DIR" \
    rt-setup-database-5 --action init --skip-create --root-password-file "$pw" >"$RUN/setup.log" 2>&1 </dev/null \
    || { tail "$RUN/setup.log" >&2; die "rt-setup-database failed"; }
  rm -f "$pw"
  runuser -u www-data -- env RT_SITE_CONFIG="$RT_SITE_CONFIG" RT_SITE_CONFIG_DIR="$RT_SITE_CONFIG_DIR" \
    perl "$HERE/rt-seed.pl" "$DATASET" >"$RUN/seed.log" 2>&1 || { tail "$RUN/seed.log" >&2; die "seeding failed"; }
}
serve() {
  config
  start_bg rt-server runuser -u www-data -- env RT_SITE_CONFIG="$RT_SITE_CONFIG" RT_SITE_CONFIG_DIR="$RT_SITE_CONFIG_DIR" \
    /usr/share/request-tracker5/libexec/rt-server --host $HOST --port "$PORT" --max-workers=3
}
health() { wait_http "$BASE/" 'name="pass"' 90; }
credentials() { echo "$BASE/  login: root / Secret-root-1 (superuser), mlindqvist / Secret-mlindqvist-1 (staff; the other users likewise), norights / Secret-norights-1 (sees no ticket)"; }
truth() { RT_SITE_CONFIG=$RT_SITE_CONFIG perl "$HERE/rt-truth.pl"; }
expire() { rm -f "$RUN/data/sessions"/*; }
main "$@"
