# Runs one case of the wired TCP comparison under ns-2 and prints one line of CSV.
#
#   ns wired.tcl key value key value ...
#
# Path: n0 --access-- n1 --bottleneck-- n2, duplex, DropTail; one one-way TCP agent at n0, its sink at n2.
# The keys are the column names of cases.csv, plus `dump 1` (every transmission, window change, drop and timeout
# on standard output, before the line of CSV) and `set "class variable value ..."` (override any ns-2 default).
# An empty value means the default.

array set opt {
    name case  tcp new-reno  era ns-2.35
    access_rate_bps 102400000  access_delay_ns 1003000
    bottleneck_rate_bps 10000000  bottleneck_delay_ns 20003000  queue_limit 50
    window_segments 20  packets 200
    drop_data {}  drop_ack {}  outages {}  delayed_ack_ns {}
    start_ns 0  stop_ns 2000000000000  seed 1
    dump 0  set {}
}
foreach {key value} $argv {
    if {![info exists opt($key)]} {
        puts stderr "wired.tcl: unknown key `$key'; known: [lsort [array names opt]]"
        exit 2
    }
    if {$value ne ""} { set opt($key) $value }
}

proc choose {what table} {
    global opt
    array set known $table
    if {![info exists known($opt($what))]} {
        puts stderr "wired.tcl: $what `$opt($what)' is not one of [lsort [array names known]]"
        exit 2
    }
    return $known($opt($what))
}
proc to_seconds {ns} { return [format %.17g [expr {$ns / 1e9}]] }
proc to_ns {seconds} { return [format %.0f [expr {$seconds * 1e9}]] }

# --- eras: the constants of the time, and the algorithms of the time (see README.md) ---
set early { Agent/TCP maxrto_ 64  Agent/TCP minrto_ 1  Agent/TCP rtxcur_init_ 6 }
set b9 "$early Agent/TCP tcpTick_ 0.01 Agent/TCP rfc2988_ true  Agent/TCP singledup_ 1 Agent/TCP useHeaders_ true"
set b8 "$early Agent/TCP tcpTick_ 0.1  Agent/TCP rfc2988_ false Agent/TCP singledup_ 0 Agent/TCP useHeaders_ false"
set algorithms_of_2001 {
    Agent/TCP precisionReduce_ false  Agent/TCP exitFastRetrans_ false
    Agent/TCP bugfix_ss_ 0  Agent/TCP updated_rttvar_ false
    Agent/TCP/Newreno newreno_changes1_ 0  Agent/TCP/Newreno partial_window_deflation_ 0
    Agent/TCPSink SYN_immediate_ack_ false
}
foreach {class variable value} [choose era [list \
    ns-2.35 {}  ns-2.1b9 $b9  ns-2.1b8 $b8  ns-2.1b8-as-released "$b8 $algorithms_of_2001" \
]] { $class set $variable $value }
foreach {class variable value} $opt(set) { $class set $variable $value }
Agent/TCP set overhead_ 0
Agent/TCP set window_ $opt(window_segments)

# --- path ---
set ns [new Simulator]
$ns use-scheduler Heap
Trace set callback_ 1
foreach n {n0 n1 n2} { set $n [$ns node] }
$ns duplex-link $n0 $n1 $opt(access_rate_bps) [to_seconds $opt(access_delay_ns)] DropTail
$ns duplex-link $n1 $n2 $opt(bottleneck_rate_bps) [to_seconds $opt(bottleneck_delay_ns)] DropTail
# ns-2's limit_ L lets L - 1 packets wait beside the one being transmitted.
$ns queue-limit $n0 $n1 1000000
$ns queue-limit $n1 $n0 1000000
$ns queue-limit $n1 $n2 [expr {$opt(queue_limit) + 1}]
$ns queue-limit $n2 $n1 1000000

# A list of drops sits before the queue: it counts every packet that the link accepts, from 0, and what it drops
# takes no place in the queue.
proc drop_list {from to list what} {
    global ns
    if {$list eq ""} return
    set model [new ErrorModel/List]
    $model droplist [lsort -integer [split $list ";"]]
    $ns lossmodel $model $from $to
    set sink [$ns create-trace Drop "" $from $to]
    $sink target [new Agent/Null]
    $sink proc handle {line} "say \"$what \[lindex \$line 10\]\""
    $model drop-target $sink
}
drop_list $n1 $n2 $opt(drop_data) lose-data
drop_list $n2 $n1 $opt(drop_ack) lose-ack

foreach outage [split $opt(outages) ";"] {
    foreach {start duration} [split $outage ":"] {}
    $ns rtmodel-at [to_seconds $start] down $n1 $n2
    $ns rtmodel-at [to_seconds [expr {$start + $duration}]] up $n1 $n2
}

# --- the only random draw: the phase of the sender's clock, uniform in [0, tick) ---
ns-random $opt(seed)
set twin [new RNG]
$twin seed $opt(seed)
# An agent draws at its creation and again when it first sends; the second draw is the phase in force (see README.md).
$twin uniform 0 1
set phase [$twin uniform 0 [Agent/TCP set tcpTick_]]

# --- sender and sink ---
set tcp [new [choose tcp {tahoe Agent/TCP reno Agent/TCP/Reno new-reno Agent/TCP/Newreno}]]
if {$opt(delayed_ack_ns) eq ""} {
    set sink [new Agent/TCPSink]
} else {
    set sink [new Agent/TCPSink/DelAck]
    $sink set interval_ [to_seconds $opt(delayed_ack_ns)]
}
$ns attach-agent $n0 $tcp
$ns attach-agent $n2 $sink
$ns connect $tcp $sink

# --- what is observed ---
set timeouts {}
set seen_timeouts 0
set queue_drops 0
set outage_drops 0
set finish {}
proc say {text} {
    global opt ns
    if {$opt(dump)} { puts "[to_ns [$ns now]] $text" }
}
proc is_down {} {
    global ns n1 n2
    return [expr {[[$ns link $n1 $n2] up?] eq "down"}]
}
# A timeout sends at once, so the first packet that enters the first link after nrexmit_ has grown bears its instant.
proc note_timeout {} {
    global tcp seen_timeouts timeouts ns
    set count [$tcp set nrexmit_]
    if {$count != $seen_timeouts} {
        set seen_timeouts $count
        lappend timeouts [to_ns [$ns now]]
        say "timeout $count backoff [$tcp set backoff_] cwnd [$tcp set cwnd_] ssthresh [$tcp set ssthresh_]"
    }
}
set window {}
proc note_window {} {
    global tcp window
    set new "cwnd [$tcp set cwnd_] ssthresh [$tcp set ssthresh_] rtt [$tcp set rtt_] srtt [$tcp set srtt_] rttvar [$tcp set rttvar_] backoff [$tcp set backoff_] dupacks [$tcp set dupacks_]"
    if {$new ne $window} { say [set window $new] }
}
proc hook {link member body} {
    $link instvar $member
    [set $member] proc handle {line} $body
}
set null [open /dev/null w]
$ns trace-queue $n0 $n1 $null
$ns trace-queue $n1 $n0 $null
$ns trace-queue $n1 $n2 $null
$ns trace-queue $n2 $n1 $null
Trace instproc handle {line} {}
hook [$ns link $n0 $n1] enqT_ { note_timeout; say "send [lindex $line 10] [lindex $line 5]" }
hook [$ns link $n1 $n0] rcvT_ { note_window; say "ack [lindex $line 10]" }
hook [$ns link $n0 $n1] rcvT_ {
    global outage_drops
    if {[is_down]} { incr outage_drops; say "refuse-data [lindex $line 10]" }
}
hook [$ns link $n1 $n2] drpT_ {
    global queue_drops outage_drops
    if {[is_down]} {
        incr outage_drops
        say "flush-data [lindex $line 10]"
    } else {
        incr queue_drops
        say "overflow-data [lindex $line 10]"
    }
}
hook [$ns link $n2 $n1] drpT_ { say "flush-ack [lindex $line 10]" }
hook [$ns link $n1 $n2] rcvT_ { say "arrive [lindex $line 10]" }

$tcp proc done {} {
    global ns finish
    set finish [to_ns [$ns now]]
    say done
    $ns at [$ns now] report
}
proc report {} {
    global opt phase tcp finish queue_drops outage_drops timeouts
    puts [join [list $opt(name) [to_ns $phase] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_] \
        $finish $queue_drops [join $timeouts ";"] $outage_drops] ,]
    exit 0
}
$ns at [to_seconds $opt(start_ns)] "$tcp advanceby $opt(packets)"
$ns at [to_seconds $opt(stop_ns)] report
$ns run
