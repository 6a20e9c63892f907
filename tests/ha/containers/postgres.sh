#!/bin/sh
# One of two PostgreSQL servers: the primary, or a synchronous standby that pg_basebackup makes from it.
#
#   postgres.sh            start; which of the two is the primary stands in /cluster/primary
#   postgres.sh promote    make this server the primary
#   postgres.sh healthy    exit code 0 if it serves: as the primary, or as a standby that receives
#
# /cluster is a volume that both share: for a test it does what the agreement of Patroni, or an operator, does elsewhere.
# A former primary that is started again is made anew from the present one.
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
data=/var/lib/postgresql/data
me=$(cat /proc/sys/kernel/hostname)
primary=$(cat /cluster/primary 2>/dev/null || echo "$FIRST_PRIMARY")
user=$(cat /run/secrets/ha_user)
PGPASSWORD=$(cat /run/secrets/ha_password)
export PGPASSWORD

local_sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 -h /tmp -U postgres "$@"; }

make_primary() {
  initdb -D "$data" -U postgres --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C \
    --no-instructions
  cat >>"$data/postgresql.conf" <<END
listen_addresses = '*'
unix_socket_directories = '/tmp'
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
# Each commit waits until the standby has it on its disk. While there is none, commits wait: nothing is lost.
synchronous_standby_names = '*'
END
  echo "host all,replication all all scram-sha-256" >>"$data/pg_hba.conf"
  pg_ctl -D "$data" -w -o "-c listen_addresses=''" start
  export PGOPTIONS='-c synchronous_commit=local' # there is no standby yet
  local_sql <<END
CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$PGPASSWORD';
CREATE ROLE $user LOGIN PASSWORD '$PGPASSWORD';
GRANT pg_read_all_stats TO $user;
CREATE DATABASE coordinator OWNER $user;
END
  unset PGOPTIONS
  pg_ctl -D "$data" -w -m fast stop
}

make_standby() {
  until [ "$(psql -X -A -t -h "$primary" -U replicator -d postgres -c 'SELECT NOT pg_is_in_recovery()')" = t ]; do
    echo "waiting for the primary $primary"
    sleep 0.5
  done
  find "$data" -mindepth 1 -delete
  pg_basebackup -h "$primary" -U replicator -D "$data" -R -X stream --checkpoint=fast
  chmod 700 "$data"
}

case ${1:-start} in
promote)
  echo "$me" >/cluster/primary
  pg_ctl promote -w -D "$data"
  ;;
healthy)
  [ "$(local_sql -c "SELECT NOT pg_is_in_recovery() OR EXISTS (SELECT FROM pg_stat_wal_receiver
                                                              WHERE status = 'streaming')")" = t ]
  ;;
start)
  if [ "$primary" = "$me" ]; then
    [ -e "$data/PG_VERSION" ] || make_primary
    echo "$me" >/cluster/primary
  elif [ ! -e "$data/standby.signal" ]; then
    make_standby
  fi
  exec postgres -D "$data"
  ;;
esac
