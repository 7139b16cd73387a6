#!/bin/sh
# Runs the same work in Segue and in ns-2, in turn, and prints the median times and their ratio.
# Usage: bench/run.sh [RUNS]   (default 5; SEGUE may name the binary)
set -eu
cd "$(dirname "$0")/.."
runs=${1:-5}
segue=${SEGUE:-target/release/segue}
[ -x "$segue" ] || { echo "bench: $segue is missing; run: cargo build --release" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Seconds that a command takes; its output goes to the file named first.
seconds() {
    out=$1; shift
    start=$(date +%s%N)
    "$@" > "$out"
    end=$(date +%s%N)
    awk -v a="$start" -v b="$end" 'BEGIN { printf "%.4f\n", (b - a) / 1e9 }'
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# Sum of a column of a CSV file.
sum() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { s += $c } END { print s + 0 }' "$2"
}
ns2_version() { dpkg-query -W -f '${Version}' ns2 2>/dev/null || echo unknown; }

echo "machine: $(nproc) cores, $(uname -sm); runs: $runs, alternating; times are wall-clock medians in seconds"
echo "segue: $("$segue" --version)"
if command -v ns >/dev/null 2>&1; then
    have_ns2=1; echo "ns-2: $(ns2_version)"
else
    have_ns2=0; echo "ns-2: MISSING (Debian package ns2); its columns are empty"
fi
echo
# Runs work $1 in both, in turn; sets a and b to the median times, b to - without ns-2, and ratio.
time_both() {
    : > "$work/segue"; : > "$work/ns2"
    i=0
    while [ "$i" -lt "$runs" ]; do
        seconds "$work/segue.out" "$segue" run "bench/$1.toml" --format csv --quiet >> "$work/segue"
        if [ "$have_ns2" = 1 ]; then
            # What ns-2 says of itself on standard error matters only if it fails.
            seconds "$work/ns2.out" ns "bench/$1.tcl" >> "$work/ns2" 2> "$work/ns2.err" ||
                { cat "$work/ns2.err" >&2; exit 1; }
        fi
        i=$((i + 1))
    done
    a=$(median "$work/segue")
    b=-; ratio=-
    if [ "$have_ns2" = 1 ]; then
        b=$(median "$work/ns2")
        ratio=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", b / a }')
    fi
}

echo "work,segue_s,ns2_s,ns2/segue,segue_segments,ns2_segments,segue_retransmissions,ns2_retransmissions,segue_timeouts,ns2_timeouts,segue_drops,ns2_drops"
for work_name in wired-bulk; do
    time_both "$work_name"
    # The counts come from two runs more: a CSV holds one table.
    "$segue" run "bench/$work_name.toml" --format csv --quiet > "$work/flows.csv"
    "$segue" run "bench/$work_name.toml" --format csv --quiet --links > "$work/links.csv"
    ours="$(sum segments "$work/flows.csv") $(sum retransmissions "$work/flows.csv") $(sum timeouts "$work/flows.csv") $(sum dropped_queue "$work/links.csv")"
    theirs="- - - -"
    # ns-2 counts the SYN as a data packet.
    if [ "$have_ns2" = 1 ]; then theirs=$(awk '{ print $2 - 1, $3, $4, $5 }' "$work/ns2.out"); fi
    echo "$work_name $a $b $ratio $ours $theirs" |
        awk '{ print $1 "," $2 "," $3 "," $4 "," $5 "," $9 "," $6 "," $10 "," $7 "," $11 "," $8 "," $12 }'
done

echo
echo "work,segue_s,ns2_s,ns2/segue,segue_packets,ns2_packets,segue_kbps,ns2_kbps,segue_rts,ns2_rts"
for work_name in dcf-10; do
    time_both "$work_name"
    "$segue" run "bench/$work_name.toml" --quiet --out "$work/dcf" > /dev/null
    ours="$(sum received "$work/dcf/datagrams.csv") $(sum attempts "$work/dcf/stations.csv")"
    theirs="- -"
    if [ "$have_ns2" = 1 ]; then
        # The frames come from one run more, with a trace of the MAC.
        ns "bench/$work_name.tcl" "$work/ns2.tr" > "$work/ns2.out" 2> /dev/null
        theirs="$(awk '/^result / { print $2 }' "$work/ns2.out") $(grep -c '^s.* MAC .* RTS ' "$work/ns2.tr")"
    fi
    # Packets of 1000 bytes with their IP header, 100 s.
    echo "$work_name $a $b $ratio $ours $theirs" | awk '{
        kbps = ($7 == "-") ? "-" : $7 * 0.08
        print $1 "," $2 "," $3 "," $4 "," $5 "," $7 "," $5 * 0.08 "," kbps "," $6 "," $8 }'
done
