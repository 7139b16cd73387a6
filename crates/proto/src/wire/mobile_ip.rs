//! The messages of Mobile IPv4 as bytes: ICMP for agent discovery, UDP port 434 for all else.
//!
//! RFC 5944 §2.1 (advertisement: RFC 1256 router advertisement with the extension of type 16), §2.2 (solicitation),
//! §3.3 (request), §3.4 (reply). IP and UDP headers are the caller's.
//!
//! The binding messages (types 16 to 19) and the previous foreign agent notification (extension 96) follow
//! draft-ietf-mobileip-optim. That draft expired; IANA has since given the numbers 16 to 19 to other messages, so that
//! Wireshark shows these four under other names. Their layout here was written without the text of the draft at hand:
//! before talking to another implementation, compare it.
//!
//! ## Differences
//! * No authentication extension is emitted, though RFC 5944 §3.5.2 demands one; those received are skipped.
//! * Other extensions of type 0 to 127 refuse the message and those from 128 are skipped (RFC 5944 §1.8); in
//!   advertisements all others are skipped.
//! * The `D` flag of RFC 5944 §3.3 is carried, although no machine here uses it.

use crate::mobile_ip::message::{
    AgentAdvertisement, AgentFlags, BindingAcknowledgement, BindingRequest, BindingUpdate, BindingWarning,
    Lifetime, Message, PreviousAgentNotification, RegistrationReply, RegistrationRequest, ReplyCode,
    RequestFlags,
};
use crate::mobile_ip::{Address, Way};

/// The UDP port of registration (RFC 5944 §3.1).
pub const UDP_PORT: u16 = 434;

const ICMP_ROUTER_ADVERTISEMENT: u8 = 9;
const ICMP_ROUTER_SOLICITATION: u8 = 10;
/// Code of an advertisement of an agent that is not a router for others (RFC 5944 §2.1).
const CODE_NOT_A_ROUTER: u8 = 16;
const MOBILITY_AGENT_EXTENSION: u8 = 16;
const REGISTRATION_REQUEST: u8 = 1;
const REGISTRATION_REPLY: u8 = 3;
const BINDING_WARNING: u8 = 16;
const BINDING_REQUEST: u8 = 17;
const BINDING_UPDATE: u8 = 18;
const BINDING_ACKNOWLEDGEMENT: u8 = 19;
const PREVIOUS_AGENT_EXTENSION: u8 = 96;
/// Authentication extensions: mobile–home, mobile–foreign, foreign–home (RFC 5944 §3.5).
const AUTHENTICATION_EXTENSIONS: std::ops::RangeInclusive<u8> = 32..=34;

/// Which protocol carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// ICMP, directly above IP.
    Icmp,
    /// UDP port 434.
    Udp,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// They end too early.
    #[error("message cut short")]
    Truncated,
    /// The type is not one of Mobile IP.
    #[error("unknown message type {0}")]
    UnknownType(u8),
    /// The ICMP checksum is wrong.
    #[error("wrong checksum")]
    Checksum,
    /// A field has a value that it must not have.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// An extension that must not be ignored is not known.
    #[error("unknown extension {0}")]
    UnknownExtension(u8),
}

/// The protocol that carries `message`.
pub fn carrier(message: &Message) -> Carrier {
    match message {
        Message::AgentAdvertisement(_) | Message::AgentSolicitation => Carrier::Icmp,
        _ => Carrier::Udp,
    }
}

/// The IP time to live of a message: discovery stays on the link (RFC 5944 §2.1, §2.2).
pub fn time_to_live(way: Way, message: &Message) -> u8 {
    if way == Way::Link && carrier(message) == Carrier::Icmp { 1 } else { 64 }
}

/// The bytes of `message`: an ICMP message with checksum, or a UDP payload.
///
/// An advertisement has room for at most 62 care-of addresses; more are left out.
pub fn emit(message: &Message) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.packet_bytes() as usize);
    match message {
        Message::AgentAdvertisement(advertisement) => emit_advertisement(advertisement, &mut out),
        Message::AgentSolicitation => out.extend([ICMP_ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0]),
        Message::RegistrationRequest(request) => emit_request(request, &mut out),
        Message::RegistrationReply(reply) => {
            out.extend([REGISTRATION_REPLY, reply.code.0]);
            out.extend(reply.lifetime.0.to_be_bytes());
            put_addresses(&[reply.home_address, reply.home_agent], &mut out);
            out.extend(reply.identification.to_be_bytes());
        }
        Message::BindingRequest(request) => {
            out.extend([BINDING_REQUEST, 0, 0, 0]);
            put_addresses(&[request.home_address], &mut out);
            out.extend(request.identification.to_be_bytes());
        }
        Message::BindingUpdate(update) => emit_update(update, &mut out),
        Message::BindingAcknowledgement(acknowledgement) => {
            out.extend([BINDING_ACKNOWLEDGEMENT, 0, 0, acknowledgement.status]);
            put_addresses(&[acknowledgement.home_address], &mut out);
            out.extend(acknowledgement.identification.to_be_bytes());
        }
        Message::BindingWarning(warning) => {
            out.extend([BINDING_WARNING, 0, 0, 0]);
            put_addresses(&[warning.home_address], &mut out);
            put_addresses(&warning.targets, &mut out);
        }
    }
    if carrier(message) == Carrier::Icmp {
        let sum = checksum(&out);
        out[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    out
}

/// Reads an ICMP message.
///
/// # Errors
/// If it is no agent advertisement or solicitation, or not a correct one.
pub fn parse_icmp(bytes: &[u8]) -> Result<Message, ParseError> {
    let mut reader = Reader(bytes);
    let kind = reader.byte()?;
    if !matches!(kind, ICMP_ROUTER_ADVERTISEMENT | ICMP_ROUTER_SOLICITATION) {
        return Err(ParseError::UnknownType(kind));
    }
    if bytes.len() < 8 {
        return Err(ParseError::Truncated);
    }
    if checksum(bytes) != 0 {
        return Err(ParseError::Checksum);
    }
    let code = reader.byte()?;
    reader.skip(2)?;
    if kind == ICMP_ROUTER_SOLICITATION {
        return if code == 0 { Ok(Message::AgentSolicitation) } else { Err(ParseError::Malformed("code")) };
    }
    if code != 0 && code != CODE_NOT_A_ROUTER {
        return Err(ParseError::Malformed("code"));
    }
    parse_advertisement(&mut reader)
}

/// Reads the payload of a datagram to or from UDP port 434.
///
/// # Errors
/// If it is no message of Mobile IP that is known here, or not a correct one.
pub fn parse_udp(bytes: &[u8]) -> Result<Message, ParseError> {
    let mut reader = Reader(bytes);
    match reader.byte()? {
        REGISTRATION_REQUEST => parse_request(&mut reader),
        REGISTRATION_REPLY => {
            let code = ReplyCode(reader.byte()?);
            let lifetime = Lifetime(reader.u16()?);
            let (home_address, home_agent) = (reader.address()?, reader.address()?);
            let identification = reader.u64()?;
            skip_extensions(&mut reader)?;
            Ok(RegistrationReply { code, lifetime, home_address, home_agent, identification }.into())
        }
        BINDING_WARNING => {
            reader.skip(3)?;
            let home_address = reader.address()?;
            let mut targets = Vec::new();
            while !reader.0.is_empty() {
                targets.push(reader.address()?);
            }
            Ok(BindingWarning { home_address, targets }.into())
        }
        BINDING_REQUEST => {
            reader.skip(3)?;
            let (home_address, identification) = (reader.address()?, reader.u64()?);
            skip_extensions(&mut reader)?;
            Ok(BindingRequest { home_address, identification }.into())
        }
        BINDING_UPDATE => parse_update(&mut reader),
        BINDING_ACKNOWLEDGEMENT => {
            reader.skip(2)?;
            let (status, home_address) = (reader.byte()?, reader.address()?);
            let identification = reader.u64()?;
            skip_extensions(&mut reader)?;
            Ok(BindingAcknowledgement { status, home_address, identification }.into())
        }
        other => Err(ParseError::UnknownType(other)),
    }
}

fn emit_advertisement(advertisement: &AgentAdvertisement, out: &mut Vec<u8>) {
    let care_of = &advertisement.care_of[..advertisement.care_of.len().min(62)];
    // One router address of two words, preference 0 (RFC 1256 §3).
    out.extend([ICMP_ROUTER_ADVERTISEMENT, 0, 0, 0, 1, 2]);
    out.extend(advertisement.lifetime_secs.to_be_bytes());
    put_addresses(&[advertisement.agent, Address(0)], out);
    // RFC 5944 §2.1.1: the length is 6 + 4·N; at most 62 addresses fit the byte.
    out.extend([MOBILITY_AGENT_EXTENSION, 6 + 4 * care_of.len() as u8]);
    out.extend(advertisement.sequence.to_be_bytes());
    out.extend(advertisement.registration_lifetime.0.to_be_bytes());
    let f = advertisement.flags;
    // R B H F M G r T, from the highest bit.
    let flags = [
        f.registration_required,
        f.busy,
        f.home_agent,
        f.foreign_agent,
        f.minimal_encapsulation,
        f.gre_encapsulation,
        false,
        f.reverse_tunnel,
    ];
    out.extend([pack(flags), 0]);
    put_addresses(care_of, out);
}

fn parse_advertisement(reader: &mut Reader<'_>) -> Result<Message, ParseError> {
    let (count, words) = (usize::from(reader.byte()?), usize::from(reader.byte()?));
    let lifetime_secs = reader.u16()?;
    if count == 0 || words < 2 {
        return Err(ParseError::Malformed("router addresses"));
    }
    let agent = reader.address()?;
    reader.skip(count * words * 4 - 4)?;
    let mut found = None;
    while !reader.0.is_empty() {
        let kind = reader.byte()?;
        if kind == 0 {
            continue; // One byte of padding (RFC 5944 §2.1.3).
        }
        let length = usize::from(reader.byte()?);
        let mut extension = reader.take(length)?;
        if kind == MOBILITY_AGENT_EXTENSION && found.is_none() {
            found = Some(parse_mobility_extension(&mut extension, agent, lifetime_secs)?);
        }
    }
    found.map(Message::from).ok_or(ParseError::Malformed("advertisement: no mobility extension"))
}

fn parse_mobility_extension(
    extension: &mut Reader<'_>,
    agent: Address,
    lifetime_secs: u16,
) -> Result<AgentAdvertisement, ParseError> {
    let (sequence, registration_lifetime) = (extension.u16()?, Lifetime(extension.u16()?));
    let bits = unpack(extension.byte()?);
    extension.skip(1)?;
    let mut care_of = Vec::new();
    while !extension.0.is_empty() {
        care_of.push(extension.address()?);
    }
    let flags = AgentFlags {
        registration_required: bits[0],
        busy: bits[1],
        home_agent: bits[2],
        foreign_agent: bits[3],
        minimal_encapsulation: bits[4],
        gre_encapsulation: bits[5],
        reverse_tunnel: bits[7],
    };
    Ok(AgentAdvertisement { agent, lifetime_secs, sequence, registration_lifetime, flags, care_of })
}

fn emit_request(request: &RegistrationRequest, out: &mut Vec<u8>) {
    let f = request.flags;
    // S B D M G r T x, from the highest bit.
    let flags = [
        f.simultaneous_bindings,
        f.broadcasts,
        f.decapsulates_itself,
        f.minimal_encapsulation,
        f.gre_encapsulation,
        false,
        f.reverse_tunnel,
        false,
    ];
    out.extend([REGISTRATION_REQUEST, pack(flags)]);
    out.extend(request.lifetime.0.to_be_bytes());
    put_addresses(&[request.home_address, request.home_agent, request.care_of], out);
    out.extend(request.identification.to_be_bytes());
    if let Some(previous) = request.previous_agent {
        // Cache lifetime, previous agent, new care-of address, and an SPI of 0 with an empty authenticator.
        out.extend([PREVIOUS_AGENT_EXTENSION, 14]);
        out.extend(previous.cache_lifetime.0.to_be_bytes());
        put_addresses(&[previous.agent, request.care_of, Address(0)], out);
    }
}

fn parse_request(reader: &mut Reader<'_>) -> Result<Message, ParseError> {
    let bits = unpack(reader.byte()?);
    let flags = RequestFlags {
        simultaneous_bindings: bits[0],
        broadcasts: bits[1],
        decapsulates_itself: bits[2],
        minimal_encapsulation: bits[3],
        gre_encapsulation: bits[4],
        reverse_tunnel: bits[6],
    };
    let lifetime = Lifetime(reader.u16()?);
    let (home_address, home_agent, care_of) = (reader.address()?, reader.address()?, reader.address()?);
    let identification = reader.u64()?;
    let mut previous_agent = None;
    while !reader.0.is_empty() {
        let (kind, mut extension) = reader.extension()?;
        if kind == PREVIOUS_AGENT_EXTENSION {
            let (cache_lifetime, agent) = (Lifetime(extension.u16()?), extension.address()?);
            if extension.address()? != care_of {
                return Err(ParseError::Malformed("previous agent notification: another care-of address"));
            }
            extension.skip(4)?;
            previous_agent = Some(PreviousAgentNotification { agent, cache_lifetime });
        } else {
            check_ignorable(kind)?;
        }
    }
    Ok(RegistrationRequest {
        flags,
        lifetime,
        home_address,
        home_agent,
        care_of,
        identification,
        previous_agent,
    }
    .into())
}

fn emit_update(update: &BindingUpdate, out: &mut Vec<u8>) {
    // A I M G, from the highest bit; the rest is reserved.
    let flags = [
        update.acknowledge,
        update.identification.is_some(),
        update.minimal_encapsulation,
        update.gre_encapsulation,
        false,
        false,
        false,
        false,
    ];
    out.extend([BINDING_UPDATE, pack(flags)]);
    out.extend(update.lifetime.0.to_be_bytes());
    put_addresses(&[update.home_address, update.care_of], out);
    if let Some(identification) = update.identification {
        out.extend(identification.to_be_bytes());
    }
}

fn parse_update(reader: &mut Reader<'_>) -> Result<Message, ParseError> {
    let bits = unpack(reader.byte()?);
    let lifetime = Lifetime(reader.u16()?);
    let (home_address, care_of) = (reader.address()?, reader.address()?);
    let identification = if bits[1] { Some(reader.u64()?) } else { None };
    skip_extensions(reader)?;
    Ok(BindingUpdate {
        acknowledge: bits[0],
        minimal_encapsulation: bits[2],
        gre_encapsulation: bits[3],
        lifetime,
        home_address,
        care_of,
        identification,
    }
    .into())
}

/// Skips the extensions to the end, if all may be skipped.
fn skip_extensions(reader: &mut Reader<'_>) -> Result<(), ParseError> {
    while !reader.0.is_empty() {
        let (kind, _) = reader.extension()?;
        check_ignorable(kind)?;
    }
    Ok(())
}

fn check_ignorable(kind: u8) -> Result<(), ParseError> {
    if kind >= 128 || AUTHENTICATION_EXTENSIONS.contains(&kind) {
        Ok(())
    } else {
        Err(ParseError::UnknownExtension(kind))
    }
}

fn put_addresses(addresses: &[Address], out: &mut Vec<u8>) {
    for address in addresses {
        out.extend(address.0.to_be_bytes());
    }
}

/// The byte with these bits, the highest first.
fn pack(bits: [bool; 8]) -> u8 {
    bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))
}

/// The bits of a byte, the highest first.
fn unpack(byte: u8) -> [bool; 8] {
    std::array::from_fn(|index| byte >> (7 - index) & 1 == 1)
}

/// The Internet checksum (RFC 1071); 0 over bytes that contain a correct one.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Takes fields from the front of a slice.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(ParseError::Truncated)?;
        self.0 = tail;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8, ParseError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, ParseError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, ParseError> {
        self.array().map(u64::from_be_bytes)
    }

    fn address(&mut self) -> Result<Address, ParseError> {
        self.array().map(|bytes| Address(u32::from_be_bytes(bytes)))
    }

    fn take(&mut self, length: usize) -> Result<Reader<'a>, ParseError> {
        let (head, tail) = self.0.split_at_checked(length).ok_or(ParseError::Truncated)?;
        self.0 = tail;
        Ok(Reader(head))
    }

    fn skip(&mut self, length: usize) -> Result<(), ParseError> {
        self.take(length).map(|_| ())
    }

    /// Type and contents of the extension at the front (RFC 5944 §1.9).
    fn extension(&mut self) -> Result<(u8, Reader<'a>), ParseError> {
        let (kind, length) = (self.byte()?, self.byte()?);
        Ok((kind, self.take(usize::from(length))?))
    }
}

#[cfg(test)]
mod tests;
