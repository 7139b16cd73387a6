#!/bin/sh
# Runs every case of cases.csv under ns-2 and writes expected.csv.
#
#   ./regenerate.sh            writes expected.csv (only when every case has run)
#   ./regenerate.sh --check    compares with the committed expected.csv; exit 1 and a diff when it differs
#   ./regenerate.sh --dump NAME   prints every event of one case: "time_ns what ..."
#
# Exit code 2: wrong usage, or `ns` is not installed.
set -euf
export LC_ALL=C

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cd "$here"

mode=write
case "${1-}" in
'') [ $# -eq 0 ] || { echo "usage: $0 [--check | --dump NAME]" >&2; exit 2; } ;;
--check) mode=check ;;
--dump) mode=dump; [ $# -eq 2 ] || { echo "usage: $0 --dump NAME" >&2; exit 2; } ;;
*) echo "usage: $0 [--check | --dump NAME]" >&2; exit 2 ;;
esac

if ! command -v ns >/dev/null 2>&1; then
    echo "$0: the program \`ns' (ns-2.35) is not installed." >&2
    echo "Install the Debian or Ubuntu package ns2:  apt-get install ns2" >&2
    exit 2
fi

# One line a case: "key value key value ..."; empty fields are left out. No field of cases.csv contains a space.
arguments() {
    awk -F, -v only="${1-}" '
        NR == 1 { for (i = 1; i <= NF; i++) key[i] = $i; columns = NF; next }
        NF != columns { print "cases.csv line " NR ": " NF " fields, expected " columns > "/dev/stderr"; exit 1 }
        only != "" && $1 != only { next }
        { line = ""; for (i = 1; i <= NF; i++) if ($i != "") line = line " " key[i] " " $i; print line }
    ' cases.csv
}

if [ "$mode" = dump ]; then
    line=$(arguments "$2")
    [ -n "$line" ] || { echo "$0: no case named $2 in cases.csv" >&2; exit 2; }
    # shellcheck disable=SC2086  # the line is a list of words on purpose
    exec ns wired.tcl $line dump 1
fi

new=expected.csv.new
trap 'rm -f "$new" "$new.cases"' EXIT
trap 'exit 130' INT TERM
arguments >"$new.cases"
echo "name,clock_phase_ns,data_packets,retransmissions,timeouts,finish_ns,queue_drops,timeout_instants_ns,outage_drops" >"$new"
while read -r line; do
    # shellcheck disable=SC2086
    ns wired.tcl $line </dev/null >>"$new" || { echo "$0: ns failed on: $line" >&2; exit 1; }
done <"$new.cases"

rows=$(($(wc -l <"$new.cases") + 1))
if [ "$(wc -l <"$new")" -ne "$rows" ] || [ "$(awk -F, '{ print NF }' "$new" | sort -u)" != 9 ]; then
    echo "$0: unexpected output of ns; see the lines without 9 fields:" >&2
    awk -F, 'NF != 9' "$new" >&2
    exit 1
fi

if [ "$mode" = check ]; then
    if diff expected.csv "$new"; then
        echo "expected.csv agrees with this ns-2: $((rows - 1)) cases" >&2
    else
        echo "$0: expected.csv differs from what this ns-2 gives (< committed, > now)" >&2
        exit 1
    fi
else
    mv "$new" expected.csv
    echo "expected.csv written: $((rows - 1)) cases" >&2
fi
