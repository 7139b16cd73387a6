//! The part at a router: its daemon, with what the world calls the connections.

use std::collections::{BTreeMap, VecDeque};

use super::message::{Control, Tunnelled, control};
use crate::base_station::{self, BaseStation, Fate, Message, Output, Towards};
use crate::mobile_ip::Address;
use crate::params::Params;
use crate::split::message::{Call, Request};
use crate::split::msr::{Config, Msr, Packet, Way};
use crate::split::{self, Endpoint, Flow};
use crate::tcp::{Flags, Profile, Restart, Segment, State, Variant};
use crate::time::{Duration, Instant};

/// One router.
#[derive(Debug)]
pub(super) struct Router {
    params: Params,
    connect_timeout: Duration,
    /// Its daemon, once it knows its address.
    msr: Option<Msr>,
    address: Address,
    header_bytes: [u32; 2],
    /// Connections whose mobile host has still to take them up, and when they are given up.
    unclaimed: BTreeMap<Flow, Instant>,
    outputs: VecDeque<Output>,
}

impl Router {
    pub(super) fn new(params: &Params) -> Self {
        Router {
            params: params.clone(),
            connect_timeout: params.duration("connect_timeout"),
            msr: None,
            address: Address::UNSPECIFIED,
            header_bytes: [0, 0],
            unclaimed: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Hands a packet to the daemon. Whether it was one of ours.
    fn take(&mut self, packet: &Packet, now: Instant) -> bool {
        let taken = self.msr.as_mut().is_some_and(|msr| msr.handle_packet(packet, now));
        if taken {
            self.settle(now);
        }
        taken
    }

    /// What follows every input: what the daemon sends, and who has not been claimed.
    fn settle(&mut self, now: Instant) {
        let Some(msr) = &mut self.msr else { return };
        while let Some((way, packet)) = msr.poll_packet() {
            let meant = |flow: &Flow| match way {
                Way::Radio => (flow.mobile, flow.wireless) == (packet.dst, packet.src),
                _ => (flow.mobile, flow.fixed) == (packet.src, packet.dst),
            };
            let output = match way {
                Way::Tunnel(to) => {
                    let [data, control] = self.header_bytes;
                    let stamps = if packet.segment.options.timestamps.is_some() { 12 } else { 0 };
                    let header = if packet.segment.len > 0 { data } else { control };
                    let bytes = packet.segment.len + header + stamps;
                    Output::Send { to, message: Message::new(Tunnelled { packet, bytes }) }
                }
                Way::Radio => {
                    let Some(flow) = msr.lookup(packet.dst.address, meant) else { continue };
                    outgoing(flow, Towards::Mobile, packet.segment)
                }
                Way::Fixed => {
                    let Some(flow) = msr.lookup(packet.src.address, meant) else { continue };
                    outgoing(flow, Towards::Fixed, packet.segment)
                }
            };
            self.outputs.push_back(output);
        }
        while let Some(outgoing) = msr.poll_message() {
            self.outputs.push_back(Output::Send { to: outgoing.to, message: control(outgoing.message) });
        }
        let unclaimed = |flow: &Flow| {
            let sockets = msr.split(*flow);
            sockets.is_some_and(|(fixed, wireless, _)| {
                wireless.state() == State::Listen && !wireless.is_exported() && fixed.end_reason().is_none()
            })
        };
        let waiting: Vec<Flow> = msr.flows().into_iter().filter(unclaimed).collect();
        self.unclaimed.retain(|flow, _| waiting.contains(flow));
        for flow in waiting {
            self.unclaimed.entry(flow).or_insert(now + self.connect_timeout);
        }
    }
}

fn outgoing(flow: Flow, towards: Towards, segment: Segment) -> Output {
    let [mobile, fixed] =
        [flow.mobile, flow.fixed].map(|end| base_station::Endpoint { address: end.address, port: end.port });
    Output::Segment { flow: base_station::Flow { mobile, fixed }, towards, segment }
}

fn endpoint(end: base_station::Endpoint) -> Endpoint {
    Endpoint { address: end.address, port: end.port }
}

/// The constants of the daemon of the router at `address`.
fn config(params: &Params, address: Address) -> Config {
    // Tests hold the choices to the tables.
    let profile = Profile::named(params.choice("profile")).unwrap_or(&crate::tcp::profile::ALL[0]);
    let variant = Variant::named(params.choice("variant")).unwrap_or(&crate::tcp::variant::ALL[0]);
    let buffer = params.integer("buffer");
    // The declared ranges are far inside 32 bits.
    let mss = params.integer("mss") as u32;
    let window = (buffer as u32 / mss).max(1);
    let own = Profile { mss, window, ..profile.clone() };
    let restart = if params.bool("reset_timer") { Restart::SlowStart } else { Restart::AsItWas };
    Config {
        fixed: own.clone(),
        wireless: own,
        send_buffer: buffer,
        copy_buffer: params.integer("copy_buffer"),
        restart,
        kick_mobile: params.bool("mh_kick"),
        processing: params.duration("processing"),
        ..Config::new(address, profile, variant)
    }
}

impl BaseStation for Router {
    fn handle_address(&mut self, address: Address) {
        let config = config(&self.params, address);
        self.header_bytes = [config.fixed.data_header_bytes, config.fixed.control_bytes];
        self.address = address;
        self.msr = Some(Msr::new(config));
    }

    fn handle_segment(
        &mut self,
        flow: base_station::Flow,
        towards: Towards,
        segment: &mut Segment,
        now: Instant,
    ) -> Fate {
        // What a mobile host sends to a fixed host itself is none of ours.
        let packet = Packet { src: endpoint(flow.fixed), dst: endpoint(flow.mobile), segment: *segment };
        if towards == Towards::Mobile && self.take(&packet, now) { Fate::Take } else { Fate::Forward }
    }

    fn handle_addressed(
        &mut self,
        router: Address,
        flow: base_station::Flow,
        segment: &Segment,
        now: Instant,
    ) -> Fate {
        let (mobile, fixed) = (endpoint(flow.mobile), endpoint(flow.fixed));
        let meant = |flow: &Flow| (flow.mobile, flow.fixed, flow.wireless.address) == (mobile, fixed, router);
        let known = self.msr.as_ref().and_then(|msr| msr.lookup(mobile.address, meant));
        if let Some(split) = known {
            let packet = Packet { src: mobile, dst: split.wireless, segment: *segment };
            if self.take(&packet, now) {
                return Fate::Take;
            }
        } else if router == self.address && !segment.flags.contains(Flags::RST) {
            // No such socket: its own kernel answers.
            let reset = Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() };
            self.outputs.push_back(Output::Segment { flow, towards: Towards::Mobile, segment: reset });
            return Fate::Take;
        }
        Fate::Forward
    }

    fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        if let Some(Control(message)) = message.body() {
            if let Some(msr) = &mut self.msr {
                msr.handle_message(from, message.clone(), now);
            }
            self.settle(now);
        } else if let Some(tunnelled) = message.body::<Tunnelled>() {
            // None of ours: its connection is over.
            let _taken = self.take(&tunnelled.packet, now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let Some(msr) = &mut self.msr else { return };
        msr.handle_timeout(now);
        let late: Vec<Flow> =
            self.unclaimed.iter().filter(|(_, at)| **at <= now).map(|(flow, _)| *flow).collect();
        for flow in late {
            let mobile = flow.mobile.address;
            // As if its host had closed it; to this number nobody waits for an answer.
            let close = Request { mobile, id: u32::MAX, call: Call::Close { flow } };
            msr.handle_message(mobile, split::Message::Request(close), now);
            self.unclaimed.remove(&flow);
        }
        self.settle(now);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let unclaimed = self.unclaimed.values().min().map(|at| (*at, "connection unclaimed"));
        let daemon = self.msr.as_ref().and_then(Msr::poll_timeout);
        unclaimed.into_iter().chain(daemon).min_by_key(|(at, _)| *at)
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}
