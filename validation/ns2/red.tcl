# NewReno flows over one RED bottleneck. Words: flows N, wait true|false, max_p_inverse N, limit N, seed N.
# Prints: result ARRIVALS DROPS MEAN_QUEUE (packets that wait, averaged over time). See README.md.
array set arg {flows 4 wait true max_p_inverse 10 limit 60 seed 1}
array set arg $argv
set ns [new Simulator]
ns-random $arg(seed)
$defaultRNG seed $arg(seed)
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ $arg(max_p_inverse)
Queue/RED set gentle_ true
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1040
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
Queue/RED set wait_ $arg(wait)
Queue/RED set drop_tail_ true
set near [$ns node]
set far [$ns node]
$ns simplex-link $near $far 5Mb 20ms RED
$ns simplex-link $far $near 5Mb 20ms DropTail
$ns queue-limit $near $far $arg(limit)
$ns queue-limit $far $near 1000
set monitor [$ns monitor-queue $near $far [open /dev/null w] 0.1]
for {set i 0} {$i < $arg(flows)} {incr i} {
    set host [$ns node]
    $ns duplex-link $host $near 100Mb [expr 2 + $i]ms DropTail
    $ns queue-limit $host $near 1000
    $ns queue-limit $near $host 1000
    set tcp [new Agent/TCP/Newreno]
    $tcp set window_ 64
    $tcp set packetSize_ 1000
    set sink [new Agent/TCPSink]
    $ns attach-agent $host $tcp
    $ns attach-agent $far $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [expr 0.1 * $i] "$ftp start"
}
proc finish {} {
    global monitor ns
    set integral [$monitor get-pkts-integrator]
    puts "result [$monitor set parrivals_] [$monitor set pdrops_] [expr [$integral set sum_] / [$ns now]]"
    exit 0
}
$ns at 300 finish
$ns run
