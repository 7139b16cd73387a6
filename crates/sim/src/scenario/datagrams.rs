//! Sources of datagrams: constant bit rate, no feedback.

use std::collections::BTreeSet;

use segue_proto::time::{Duration, Instant};
use segue_proto::units::BitRate;

use super::check::{CheckError, require};
use super::{NodeKind, Scenario, file};
use crate::world::datagrams::first_unreachable_source;

/// Header of an IPv4 packet without options (RFC 791 §3.1).
const IP_HEADER_BYTES: u32 = 20;

/// Sends packets of one size at a constant rate from one host to another.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    /// Its name.
    pub name: String,
    /// Index of the sender in [`Scenario::nodes`].
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// When the first packet is sent.
    pub start: Instant,
    /// No packet is sent at this time or later; `None`: until the end of the run.
    pub stop: Option<Instant>,
    /// Bit rate of the payload.
    pub rate: BitRate,
    /// Payload of each IP packet.
    pub bytes: u32,
}

impl DatagramSource {
    /// When packet `number`, counted from 0, is sent; `None` if that is beyond all time. Rounded once, so that errors
    /// do not add up.
    pub fn due(&self, number: u64) -> Option<Instant> {
        let bits = u128::from(number) * u128::from(self.bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.rate.as_bps());
        let nanos = u64::try_from(nanos + u128::from(self.start.as_nanos())).ok()?;
        Some(Instant::from_nanos(nanos)).filter(|at| *at < Instant::MAX)
    }

    /// Size of its packets with their IP header.
    pub fn packet_bytes(&self) -> u32 {
        self.bytes + IP_HEADER_BYTES
    }

    /// Payload bits received per second of its activity, which a run that ended at `ended` has cut short.
    pub(crate) fn goodput_bps(&self, received: u64, ended: Instant) -> f64 {
        let active = self.stop.map_or(ended, |stop| stop.min(ended)).since(self.start).as_secs_f64();
        let bits = received as f64 * f64::from(self.bytes) * 8.0;
        if active > 0.0 { bits / active } else { 0.0 }
    }
}

/// The sources of a file; `node` gives the index of a node that stands under a key.
pub(super) fn resolve(
    sources: &[file::Datagrams],
    node: impl Fn(&str, &str) -> Result<usize, CheckError>,
) -> Result<Vec<DatagramSource>, CheckError> {
    let source = |(i, source): (usize, &file::Datagrams)| {
        let key = format!("datagrams[{i}]");
        let twins = sources[..i].iter().filter(|s| s.from == source.from && s.to == source.to).count();
        let number = if twins == 0 { String::new() } else { format!("-{}", twins + 1) };
        let default_name = format!("{}-{}{number}", source.from, source.to);
        let bytes = source.bytes.map_or(1000, |bytes| bytes.0.0);
        Ok(DatagramSource {
            name: source.name.clone().unwrap_or(default_name),
            from: node(&format!("{key}.from"), &source.from)?,
            to: node(&format!("{key}.to"), &source.to)?,
            start: Instant::ZERO + source.start.map_or(Duration::ZERO, |start| start.0),
            stop: source.stop.map(|stop| Instant::ZERO + stop.0),
            rate: source.rate.0,
            // What does not fit is out of range, and refused as such.
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        })
    };
    sources.iter().enumerate().map(source).collect()
}

/// Checks the rules of all sources.
pub(super) fn check(scenario: &Scenario) -> Result<(), CheckError> {
    let mut names = BTreeSet::new();
    for (i, source) in scenario.datagrams.iter().enumerate() {
        let key = format!("datagrams[{i}]");
        for (end, node) in [("from", source.from), ("to", source.to)] {
            let node = &scenario.nodes[node];
            let is_host = matches!(node.kind, NodeKind::Host { .. });
            let message = format!("\"{}\" is a router; allowed: a host", node.name);
            require(is_host, format!("{key}.{end}"), message)?;
        }
        let message =
            format!("datagrams from \"{}\" to itself; allowed: two hosts", scenario.nodes[source.from].name);
        require(source.from != source.to, format!("{key}.to"), message)?;
        let end = Instant::ZERO + scenario.duration;
        let message = format!("found {}, after the end of the run; allowed: before {end}", source.start);
        require(source.start < end, format!("{key}.start"), message)?;
        if let Some(stop) = source.stop {
            let message = format!("found {stop}; allowed: after the start at {}", source.start);
            require(stop > source.start, format!("{key}.stop"), message)?;
        }
        let bytes = source.bytes;
        let message = format!("found {bytes} B; allowed: 1 to 65515 B");
        require((1..=65_515).contains(&bytes), format!("{key}.bytes"), message)?;
        // A packet each nanosecond is as fast as time goes.
        let fastest = u64::from(bytes) * 8_000_000_000;
        let message = format!("found {} b/s; allowed: up to {fastest} b/s", source.rate.as_bps());
        require(source.rate.as_bps() <= fastest, format!("{key}.rate"), message)?;
        let message = format!("a second source \"{}\"; allowed: a name of its own", source.name);
        require(names.insert(source.name.as_str()), format!("{key}.name"), message)?;
    }
    if let Some(i) = first_unreachable_source(scenario) {
        let DatagramSource { from, to, .. } = scenario.datagrams[i];
        let message = format!(
            "no way from \"{}\" to \"{}\" over the links; hosts do not forward",
            scenario.nodes[from].name, scenario.nodes[to].name
        );
        return Err(CheckError::new(format!("datagrams[{i}]"), message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_sent_at_the_rate_without_drift() {
        let source = DatagramSource {
            name: String::new(),
            from: 0,
            to: 1,
            start: Instant::from_nanos(5),
            stop: None,
            rate: BitRate::from_bps(3_000_000).expect("a rate"),
            bytes: 1000,
        };
        // 8000 bits at 3 Mb/s are 2,666,666.67 ns.
        let due = |number| source.due(number).map(Instant::as_nanos);
        assert_eq!((due(0), due(1), due(3)), (Some(5), Some(2_666_671), Some(8_000_005)));
        assert_eq!(due(u64::MAX), None);
    }
}
