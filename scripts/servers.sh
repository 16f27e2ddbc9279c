# Database servers for tests, to be sourced after lib.sh: on free ports of the loopback address, with their data below
# $TMPDIR, run by an unprivileged user, started only where the plugin for one is in the tree. Tests find them by the
# connection strings in ALINEO_TEST_POSTGRES and ALINEO_TEST_REDIS.
postgres_folder="" redis_folder="" redis_pid=""

servers_wanted() {
    local name
    for name in postgres redis; do
        [ ! -f "plugins/storage/$name/CMakeLists.txt" ] || echo "$name"
    done
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# as_server USER COMMAND...: a server needs no root, and PostgreSQL refuses it.
as_server() {
    local user=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "$@"
    else
        "$@"
    fi
}

server_folder() {
    local folder
    folder=$(mktemp -d "$TMPDIR/$1.XXXXXX")
    [ "$(id -u)" -ne 0 ] || chown "$1" "$folder"
    echo "$folder"
}

postgres_program() {
    find /usr/lib/postgresql -path "*/bin/$1" | sort -V | tail -n 1
}

postgres_start() {
    local port
    port=$(free_port)
    postgres_folder=$(server_folder postgres)
    as_server postgres "$(postgres_program initdb)" -D "$postgres_folder/data" -A trust -U alineo -E UTF8 --no-sync || return 1
    as_server postgres "$(postgres_program pg_ctl)" -D "$postgres_folder/data" -l "$postgres_folder/log" -w -s \
        -o "-h 127.0.0.1 -p $port -k $postgres_folder" start || return 1
    export ALINEO_TEST_POSTGRES="postgresql://alineo@127.0.0.1:$port/postgres"
}

redis_start() {
    local port
    port=$(free_port)
    redis_folder=$(server_folder redis)
    as_server redis redis-server --bind 127.0.0.1 --port "$port" --dir "$redis_folder" --appendonly yes \
        --maxmemory-policy noeviction &
    redis_pid=$!
    until redis-cli -h 127.0.0.1 -p "$port" ping; do
        kill -0 "$redis_pid" || return 1
        sleep 0.05
    done
    export ALINEO_TEST_REDIS="redis://127.0.0.1:$port"
}

servers_start() {
    local name
    for name in $(servers_wanted); do
        "${name}_start" || return 1
    done
}

servers_stop() {
    if [ -n "$postgres_folder" ]; then
        as_server postgres "$(postgres_program pg_ctl)" -D "$postgres_folder/data" -m immediate -w -s stop || true
    fi
    if [ -n "$redis_pid" ]; then
        kill "$redis_pid" 2>/dev/null || true
        wait "$redis_pid" 2>/dev/null || true
    fi
    [ -z "$postgres_folder$redis_folder" ] || rm -rf "$postgres_folder" "$redis_folder"
    postgres_folder="" redis_folder="" redis_pid=""
}
