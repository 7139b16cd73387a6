# The work of dcf-10.toml under ns-2. Usage: ns dcf-10.tcl [FILE]
# Prints `result` and the packets received; writes a trace of the MAC to FILE.
Mac/802_11 set dataRate_ 2Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ 0
Agent/UDP set packetSize_ 2000
set ns [new Simulator]
set file [expr {$argc > 0 ? [lindex $argv 0] : "/dev/null"}]
set trace [open $file w]
$ns trace-all $trace
set topography [new Topography]
$topography load_flatgrid 1000 1000
create-god 11
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topography -agentTrace OFF -routerTrace OFF \
    -macTrace [expr {$argc > 0 ? "ON" : "OFF"}] -movementTrace OFF
for {set i 0} {$i <= 10} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    set angle [expr {6.283185307 * ($i - 1) / 10}]
    $node($i) set X_ [expr {500 + ($i > 0) * 10 * cos($angle)}]
    $node($i) set Y_ [expr {500 + ($i > 0) * 10 * sin($angle)}]
    $node($i) set Z_ 0
}
set monitors {}
for {set i 1} {$i <= 10} {incr i} {
    set udp [new Agent/UDP]
    set monitor [new Agent/LossMonitor]
    lappend monitors $monitor
    $ns attach-agent $node($i) $udp
    $ns attach-agent $node(0) $monitor
    $ns connect $udp $monitor
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ 306122
    $cbr attach-agent $udp
    # Not all at once, or the requests for the address of the receiver collide.
    $ns at [expr {0.001 * $i}] "$cbr start"
}
$ns at 100.0 {
    set received 0
    foreach monitor $monitors { incr received [$monitor set npkts_] }
    puts "result $received"
    flush $trace
    exit 0
}
$ns run
