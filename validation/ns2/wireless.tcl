# Runs one wireless case under ns-2 and prints one line a run: `result` and the quantities.
#
#   ns wireless.tcl key value key value ...
#
# The keys are the column names of wireless-cases.csv, plus `seed` and `trace FILE` (the MAC trace of the run).
# kind tcp:  one TCP flow from station 1 to station 0, without a limit. Prints segments acknowledged a second.
# kind dead: station 1 sends datagrams to station 0, which hears nothing from 1 s on. Prints attempts a packet dropped,
#            and milliseconds a packet dropped.
# kind cell: stations 1..n send datagrams to station 0. Prints kb/s received, and attempts a packet.

array set opt {
    name case  kind tcp  tcp new-reno  rate_bps 2000000  basic_rate_bps 2000000  rts on
    frame_error 0  stations 1  bytes 1000  short_limit 7  long_limit 4  window_segments 20  max_rto_s 60
    seconds 100  seed 1  trace {}
}
foreach {key value} $argv {
    if {![info exists opt($key)]} {
        puts stderr "wireless.tcl: unknown key `$key'; known: [lsort [array names opt]]"
        exit 2
    }
    if {$value ne ""} { set opt($key) $value }
}
array set agents {tahoe Agent/TCP reno Agent/TCP/Reno new-reno Agent/TCP/Newreno}

ns-random $opt(seed)
Mac/802_11 set dataRate_ $opt(rate_bps)
Mac/802_11 set basicRate_ $opt(basic_rate_bps)
Mac/802_11 set RTSThreshold_ [expr {$opt(rts) eq "on" ? 0 : 1000000}]
Mac/802_11 set ShortRetryLimit_ $opt(short_limit)
Mac/802_11 set LongRetryLimit_ $opt(long_limit)
Agent/TCP set window_ $opt(window_segments)
Agent/TCP set maxrto_ $opt(max_rto_s)
Agent/TCP set packetSize_ $opt(bytes)
Agent/UDP set packetSize_ 10000

# Until everybody knows the address of station 0.
set warm_up 5.0
set stop [expr {$warm_up + $opt(seconds)}]

set ns [new Simulator]
set counting [expr {$opt(kind) ne "tcp" || $opt(trace) ne ""}]
set file $opt(trace)
if {$file eq ""} { set file [expr {$counting ? "/tmp/wireless.[pid].tr" : "/dev/null"}] }
set trace [open $file w]
$ns trace-all $trace
set topography [new Topography]
$topography load_flatgrid 1000 1000
create-god [expr {$opt(stations) + 1}]

# Each node asks for one model of the frames that come to it.
set models {}
proc lose_frames {} {
    global opt models
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $opt(frame_error)
    $model ranvar [new RandomVariable/Uniform]
    lappend models $model
    return $model
}
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topography -agentTrace OFF -routerTrace OFF \
    -macTrace [expr {$counting ? "ON" : "OFF"}] -movementTrace OFF
if {$opt(frame_error) > 0 || $opt(kind) eq "dead"} { $ns node-config -IncomingErrProc lose_frames }
for {set i 0} {$i <= $opt(stations)} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    # On a circle of 10 m around station 0.
    set angle [expr {6.283185307 * $i / $opt(stations)}]
    $node($i) set X_ [expr {500 + ($i > 0) * 10 * cos($angle)}]
    $node($i) set Y_ [expr {500 + ($i > 0) * 10 * sin($angle)}]
    $node($i) set Z_ 0
}

proc start_tcp {} {
    global ns node opt agents tcp
    set tcp [new $agents($opt(tcp))]
    set sink [new Agent/TCPSink]
    $ns attach-agent $node(1) $tcp
    $ns attach-agent $node(0) $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0.0 "$ftp start"
}
# Twice as much as the channel could carry. Station i begins i milliseconds later, so that the requests for the address
# do not collide for ever.
proc start_datagrams {i} {
    global ns node opt monitors
    set udp [new Agent/UDP]
    set monitor [new Agent/LossMonitor]
    lappend monitors $monitor
    $ns attach-agent $node($i) $udp
    $ns attach-agent $node(0) $monitor
    $ns connect $udp $monitor
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $opt(bytes)
    $cbr set rate_ [expr {2 * $opt(rate_bps)}]
    $cbr attach-agent $udp
    $ns at [expr {0.001 * $i}] "$cbr start"
}
proc received {} {
    global monitors
    set sum 0
    foreach monitor $monitors { incr sum [$monitor set bytes_] }
    return $sum
}
# Attempts and drops of the senders from the end of the warm-up on.
proc count {file} {
    global opt warm_up
    array set n {attempts 0 drops 0 first 0 last 0 delivered 0 at_first 0 at_last 0}
    set first_frame [expr {$opt(rts) eq "on" ? "RTS" : "cbr"}]
    set in [open $file]
    while {[gets $in line] >= 0} {
        set f [regexp -all -inline {\S+} $line]
        if {[llength $f] < 8 || [lindex $f 3] ne "MAC" || [lindex $f 1] < $warm_up} continue
        foreach {op time where layer why id kind} $f break
        set sender [expr {$where ne "_0_"}]
        if {$op eq "s" && $sender && $kind eq $first_frame} { incr n(attempts) }
        if {$op eq "s" && !$sender && $kind eq "ACK"} { incr n(delivered) }
        if {$op eq "D" && $why eq "RET" && $kind eq "cbr"} {
            if {!$n(drops)} { set n(first) $time; set n(at_first) $n(attempts) }
            incr n(drops)
            set n(last) $time
            set n(at_last) $n(attempts)
        }
    }
    close $in
    return [array get n]
}

proc finish {} {
    global ns opt tcp trace file before
    flush $trace
    switch $opt(kind) {
        tcp { puts "result [expr {([$tcp set ack_] - $before) / double($opt(seconds))}]" }
        dead {
            array set n [count $file]
            set packets [expr {$n(drops) - 1}]
            puts "result [expr {double($n(at_last) - $n(at_first)) / $packets}] [expr {1000.0 * ($n(last) - $n(first)) / $packets}]"
        }
        cell {
            array set n [count $file]
            puts "result [expr {8.0 * ([received] - $before) / $opt(seconds) / 1000}] [expr {double($n(attempts)) / $n(delivered)}]"
        }
    }
    if {$opt(trace) eq "" && $file ne "/dev/null"} { file delete $file }
    exit 0
}

switch $opt(kind) {
    tcp { start_tcp; $ns at $warm_up { set before [$tcp set ack_] } }
    dead { start_datagrams 1; $ns at 1.0 { [lindex $models 0] set rate_ 1 } }
    cell {
        for {set i 1} {$i <= $opt(stations)} {incr i} { start_datagrams $i }
        $ns at $warm_up { set before [received] }
    }
    default { puts stderr "wireless.tcl: kind `$opt(kind)' is not one of tcp, dead, cell"; exit 2 }
}
$ns at $stop finish
# What ns-2 says of itself goes to standard output too: the line of the run begins with `result`.
$ns run
