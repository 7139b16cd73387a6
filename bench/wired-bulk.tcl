# The work of wired-bulk.toml under ns-2. Usage: ns wired-bulk.tcl
# Prints: acknowledged packets, data packets sent, retransmissions, timeouts, drops at the bottleneck.
Agent/TCP set window_ 64
set ns [new Simulator]
foreach n {sender router receiver} { set $n [$ns node] }
$ns duplex-link $sender $router 100Mb 1ms DropTail
$ns duplex-link $router $receiver 10Mb 20ms DropTail
$ns queue-limit $sender $router 50
$ns queue-limit $router $receiver 50
set tcp [new Agent/TCP/Newreno]
set sink [new Agent/TCPSink]
$ns attach-agent $sender $tcp
$ns attach-agent $receiver $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
set monitor [$ns monitor-queue $router $receiver [open /dev/null w]]
$ns at 0.0 "$ftp start"
$ns at 2000.0 {
    puts "[$tcp set ack_] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_] [$monitor set pdrops_]"
    exit 0
}
$ns run
