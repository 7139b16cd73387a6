#!/bin/sh
# Runs every case of cases.csv, wireless-cases.csv and red-expected.csv under ns-2; writes expected.csv,
# wireless-expected.csv and red-expected.csv.
#
#   ./regenerate.sh            writes all (each only when every case of it has run)
#   ./regenerate.sh --check    compares with the committed files; exit 1 and a diff when one differs
#   ./regenerate.sh --dump NAME   prints every event of one wired case: "time_ns what ..."
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

# One line a case: "key value key value ..."; empty fields are left out. No field contains a space.
# Usage: arguments FILE [NAME]
arguments() {
    awk -F, -v only="${2-}" '
        NR == 1 { for (i = 1; i <= NF; i++) key[i] = $i; columns = NF; next }
        NF != columns { print FILENAME " line " NR ": " NF " fields, expected " columns > "/dev/stderr"; exit 1 }
        only != "" && $1 != only { next }
        { line = ""; for (i = 1; i <= NF; i++) if ($i != "") line = line " " key[i] " " $i; print line }
    ' "$1"
}

# Compares the new file $2 with the committed one $1 ($3 cases), or puts it in its place.
conclude() {
    if [ "$mode" != check ]; then
        mv "$2" "$1"
        echo "$1 written: $3 cases" >&2
    elif diff "$1" "$2"; then
        echo "$1 agrees with this ns-2: $3 cases" >&2
    else
        echo "$0: $1 differs from what this ns-2 gives (< committed, > now)" >&2
        exit 1
    fi
}

if [ "$mode" = dump ]; then
    line=$(arguments cases.csv "$2")
    [ -n "$line" ] || { echo "$0: no case named $2 in cases.csv" >&2; exit 2; }
    # shellcheck disable=SC2086  # the line is a list of words on purpose
    exec ns wired.tcl $line dump 1
fi

new=expected.csv.new
trap 'rm -f "$new" "$new.cases" "$new.runs"' EXIT
trap 'exit 130' INT TERM
arguments cases.csv >"$new.cases"
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

conclude expected.csv "$new" $((rows - 1))

# Wireless: random backoffs, so several runs a case; the mean of each quantity and its standard error.
arguments wireless-cases.csv >"$new.cases"
echo "name,quantity,runs,mean,standard_error" >"$new"
while read -r line; do
    name="" kind="" runs="" words=""
    # shellcheck disable=SC2086
    set -- $line
    while [ $# -gt 0 ]; do
        case "$1" in
        runs) runs=$2 ;;
        printed) ;;
        *) words="$words $1 $2" ;;
        esac
        case "$1" in name) name=$2 ;; kind) kind=$2 ;; esac
        shift 2
    done
    case "$kind" in
    tcp) quantities="segments_per_s" ;;
    dead) quantities="attempts_per_packet ms_per_packet" ;;
    cell) quantities="kilobits_per_s attempts_per_packet" ;;
    esac
    : >"$new.runs"
    seed=1
    while [ "$seed" -le "$runs" ]; do
        # shellcheck disable=SC2086
        ns wireless.tcl $words seed "$seed" </dev/null 2>/dev/null | grep '^result ' >>"$new.runs" ||
            { echo "$0: ns failed on:$words seed $seed" >&2; exit 1; }
        seed=$((seed + 1))
    done
    awk -v name="$name" -v quantities="$quantities" '
        { for (i = 2; i <= NF; i++) { sum[i] += $i; squares[i] += $i * $i } }
        END {
            count = split(quantities, quantity, " ")
            for (i = 2; i <= count + 1; i++) {
                mean = sum[i] / NR
                variance = (squares[i] - NR * mean * mean) / (NR - 1)
                error = variance > 0 ? sqrt(variance / NR) : 0
                printf "%s,%s,%d,%.6g,%.3g\n", name, quantity[i - 1], NR, mean, error
            }
        }' "$new.runs" >>"$new"
done <"$new.cases"
conclude wireless-expected.csv "$new" "$(wc -l <"$new.cases")"

# RED: the cases are the first columns of the committed file.
new=red-expected.csv.new
head -n 1 red-expected.csv >"$new"
tail -n +2 red-expected.csv | cut -d, -f1-5 >"$new.cases"
while IFS=, read -r flows wait inverse limit runs; do
    : >"$new.runs"
    seed=1
    while [ "$seed" -le "$runs" ]; do
        ns red.tcl flows "$flows" wait "$wait" max_p_inverse "$inverse" limit "$limit" seed "$seed" \
            </dev/null 2>/dev/null | grep '^result ' >>"$new.runs" ||
            { echo "$0: ns failed on red.tcl, $flows flows, seed $seed" >&2; exit 1; }
        seed=$((seed + 1))
    done
    awk -v words="$flows,$wait,$inverse,$limit,$runs" '
        { arrivals += $2; drops += $3; queue += $4 }
        END { printf "%s,%.1f,%.1f,%.4f\n", words, arrivals / NR, drops / NR, queue / NR }' "$new.runs" >>"$new"
done <"$new.cases"
conclude red-expected.csv "$new" "$(wc -l <"$new.cases")"
