# Two nodes.
$node_(0) set X_ 10.0
$node_(0) set Y_ 20.0
$node_(0) set Z_ 0.0
$node_(1) set X_ 0.0
$node_(1) set Y_ 0.0
$node_(1) set Z_ 0.0
$ns_ at 2.0 "$node_(0) setdest 10.0 50.0 3.0"
