#!/bin/sh
# A city of CELLS access points and HOSTS moving hosts, as a scenario on standard output.
# Usage: bench/city.sh CELLS HOSTS > city.toml
#
# The access points stand 200 m apart in the most nearly square rectangle that holds just CELLS of them; each is a foreign
# agent, reaches 120 m, and hangs on the router of its district of ten, which hangs on the core. There is one medium. Every
# host walks or drives through the whole area, keeps its address by Mobile IP, and uploads to one of ten servers by TCP.
set -eu
[ $# -eq 2 ] || { echo "usage: bench/city.sh CELLS HOSTS" >&2; exit 2; }
awk -v cells="$1" -v hosts="$2" '
function wire(a, b, rate, delay) {
    printf "[[links]]\nbetween = [\"%s\", \"%s\"]\nrate = \"%s\"\ndelay = \"%s\"\nqueue = 200\n", a, b, rate, delay
}
function names(prefix, count,    i, list) {
    for (i = 1; i <= count; i++) list = list (i > 1 ? ", " : "") "\"" prefix i "\""
    return list
}
BEGIN {
    servers = 10
    for (columns = int(sqrt(cells)); cells % columns; columns--);
    rows = cells / columns
    districts = int((cells + 9) / 10)
    printf "title = \"%d access points, %d hosts on the move\"\nduration = \"60 s\"\n", cells, hosts
    print "[scheme]\nname = \"ilc-tcp\""
    print "[mobile_ip]\nprofile = \"rfc-5944\"\nregistration_delay = \"100 ms\""
    print "foreign_agents = [" names("ap", cells) "]"
    print "[routers.core]\n[routers.home]"
    for (d = 1; d <= districts; d++) printf "[routers.district%d]\n", d
    for (c = 0; c < cells; c++)
        printf "[routers.ap%d]\nposition = [%d, %d]\n", c + 1, 100 + 200 * (c % columns), 100 + 200 * int(c / columns)
    for (s = 1; s <= servers; s++) printf "[hosts.server%d]\n", s
    for (h = 1; h <= hosts; h++) {
        printf "[hosts.host%d]\nmobile = true\nhome_agent = \"home\"\nmobility = { model = \"random-waypoint\", ", h
        printf "area = [0, 0, %d, %d], speed = [5, 15], warm_up = true }\n", 200 * columns, 200 * rows
    }
    print "[[cells]]\nname = \"city\"\nrate = \"11 Mb/s\"\nrts_threshold = \"off\"\nrange_m = 120"
    print "access_points = [" names("ap", cells) "]\nmembers = [" names("host", hosts) "]"
    for (c = 1; c <= cells; c++) wire("ap" c, "district" int((c + 9) / 10), "20 Mb/s", "2 ms")
    for (d = 1; d <= districts; d++) wire("district" d, "core", "200 Mb/s", "2 ms")
    wire("home", "core", "10 Gb/s", "2 ms")
    for (s = 1; s <= servers; s++) wire("server" s, "core", "1 Gb/s", "2 ms")
    for (h = 1; h <= hosts; h++)
        printf "[[flows]]\nfrom = \"host%d\"\nto = \"server%d\"\nstart = \"%d ms\"\n", h, h % servers + 1, 1000 + h * 4000 / hosts
}'
