#!/bin/sh
# How the cost of a simulated 802.11 frame grows with the number of stations in one cell, with the number of cells, and with
# the size of a city.
# Usage: bench/scaling.sh [RUNS]   (default 3; SEGUE may name the binary)
#
# Every cell has one receiver; all others always have a packet of 1000 bytes for it, without RTS. Costs are medians of
# the wall-clock time of `segue run`, less that of a run of 1 ms, which is building and is given apart.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
segue=${SEGUE:-target/release/segue}
[ -x "$segue" ] || { echo "scaling: $segue is missing; run: cargo build --release" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A scenario of $1 cells with $2 stations each; offers twice what a cell carries.
scenario() {
    awk -v cells="$1" -v stations="$2" 'BEGIN {
        print "duration = \"1 ms\""
        for (c = 1; c <= cells; c++)
            for (s = 1; s <= stations; s++)
                printf "[hosts.h%d-%d]\nposition = [%.3f, %.3f]\n", c, s, (s > 1) * 10 * cos(s), (s > 1) * 10 * sin(s)
        for (c = 1; c <= cells; c++) {
            printf "[[cells]]\nname = \"c%d\"\nrate = \"2 Mb/s\"\nrts_threshold = \"off\"\nmembers = [", c
            for (s = 1; s <= stations; s++) printf "\"h%d-%d\",", c, s
            print "]"
            for (s = 2; s <= stations; s++)
                printf "[[datagrams]]\nfrom = \"h%d-%d\"\nto = \"h%d-1\"\nrate = \"%d b/s\"\n", c, s, c, 4e6 / (stations - 1)
        }
    }'
}
# Median of the nanoseconds that a run of $2 of scenario $1 takes.
nanoseconds() {
    i=0
    while [ "$i" -lt "$runs" ]; do
        start=$(date +%s%N)
        "$segue" run "$1" --set "duration=$2" --quiet > /dev/null
        end=$(date +%s%N)
        echo $((end - start))
        i=$((i + 1))
    done | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
# Frames on air in a run of $2 of scenario $1: every attempt is a data frame, every data frame received is answered.
frames() {
    "$segue" run "$1" --set "duration=$2" --quiet --force --out "$work/out" > /dev/null
    awk -F, 'NR > 1 { n += $3 + $5 + $8 } END { print n }' "$work/out/stations.csv"
}

echo "cells,stations_in_each,frames,build_ms,ns_per_frame,ratio_to_first,ns_per_frame_and_hearer,ratio_to_first"
# Each argument: cells x stations in each x simulated seconds, so that the work is about the same.
measure() {
    for shape in "$@"; do
        cells=${shape%%x*}; rest=${shape#*x}; stations=${rest%%x*}; seconds=${rest#*x}
        scenario "$cells" "$stations" > "$work/scaling.toml"
        build=$(nanoseconds "$work/scaling.toml" "1 ms")
        all=$(nanoseconds "$work/scaling.toml" "$seconds s")
        echo "$cells $stations $(frames "$work/scaling.toml" "$seconds s") $build $all"
    done | awk '{
        frame = ($5 - $4) / $3; hearer = frame / ($2 - 1)
        if (NR == 1) { first_frame = frame; first_hearer = hearer }
        printf "%d,%d,%d,%.1f,%.0f,%.2f,%.1f,%.2f\n",
            $1, $2, $3, $4 / 1e6, frame, frame / first_frame, hearer, hearer / first_hearer
    }'
}
measure 1x2x1000 1x10x400 1x50x100 1x200x50
measure 1x10x400 10x10x40 100x10x4

# The city of bench/city.sh, ten hosts to each access point: everything at once.
echo
echo "access_points,hosts,events,seconds,ns_per_event,ratio_to_first"
for shape in 10x100 30x300 100x1000 300x3000; do
    bench/city.sh "${shape%x*}" "${shape#*x}" > "$work/city.toml"
    start=$(date +%s%N)
    "$segue" run "$work/city.toml" --quiet > "$work/city.out"
    end=$(date +%s%N)
    events=$(sed -n 's/.* \([0-9]*\) events$/\1/p' "$work/city.out")
    echo "${shape%x*} ${shape#*x} $events $((end - start))"
done | awk '{
    event = $4 / $3
    if (NR == 1) first = event
    printf "%d,%d,%d,%.2f,%.1f,%.2f\n", $1, $2, $3, $4 / 1e9, event, event / first
}'
