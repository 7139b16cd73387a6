$node_(1) set X_ 0.0
$ns_ at 2.0 "$node_(1) setdest 10.0 50.0 fast"
