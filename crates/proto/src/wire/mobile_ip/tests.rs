//! Byte tests written out field by field, and properties.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

const HOST: Address = Address::new(10, 1, 0, 9);
const HOME_AGENT: Address = Address::new(10, 1, 0, 1);
const CARE_OF: Address = Address::new(10, 2, 0, 1);

fn parse(message: &Message, bytes: &[u8]) -> Result<Message, ParseError> {
    match carrier(message) {
        Carrier::Icmp => parse_icmp(bytes),
        Carrier::Udp => parse_udp(bytes),
    }
}

/// Checks that `message` has exactly these bytes, both ways, and the size that the simulator gives it.
#[track_caller]
fn check(message: impl Into<Message>, bytes: &[u8]) {
    let message = message.into();
    assert_eq!(emit(&message), bytes);
    assert_eq!(parse(&message, bytes), Ok(message.clone()));
    let headers = if carrier(&message) == Carrier::Udp { 28 } else { 20 };
    assert_eq!(message.packet_bytes() as usize, headers + bytes.len());
}

#[test]
fn agent_advertisement() {
    let flags = AgentFlags { registration_required: true, foreign_agent: true, ..AgentFlags::default() };
    let advertisement = AgentAdvertisement {
        agent: CARE_OF,
        lifetime_secs: 2,
        sequence: 258,
        registration_lifetime: Lifetime(300),
        flags,
        care_of: vec![CARE_OF],
    };
    // Words of the checksum: 0900 0102 0002 0a02 0001 1000+0a (=100a) 0102 012c 9000 0a02 0001, summed by hand:
    // 0900+0102+0002+0a02+0001+0000+0000+100a+0102+012c+9000+0a02+0001 = c042; its complement is 3fbd.
    #[rustfmt::skip]
    let bytes = [
        9, 0, 0x3f, 0xbd,       // type: router advertisement, code, checksum
        1, 2, 0, 2,             // number of addresses, words per address, lifetime 2 s
        10, 2, 0, 1,            // router address
        0, 0, 0, 0,             // preference
        16, 10, 1, 2,           // type: mobility agent, length 6 + 4·1, sequence 0x0102
        1, 44, 0b1001_0000, 0,  // registration lifetime 300 s, R..F...., reserved
        10, 2, 0, 1,            // care-of address
    ];
    check(advertisement, &bytes);
    assert_eq!(bytes.len() + 20, 48, "as in ns-2: 48 B");
}

#[test]
fn agent_solicitation() {
    check(Message::AgentSolicitation, &[10, 0, 0xf5, 0xff, 0, 0, 0, 0]);
}

#[test]
fn registration_request() {
    let request = RegistrationRequest {
        flags: RequestFlags { broadcasts: true, reverse_tunnel: true, ..RequestFlags::default() },
        lifetime: Lifetime(1_800),
        home_address: HOST,
        home_agent: HOME_AGENT,
        care_of: CARE_OF,
        identification: 0x0102_0304_0506_0708,
        previous_agent: None,
    };
    #[rustfmt::skip]
    let bytes = [
        1, 0b0100_0010, 0x07, 0x08, // type, .B....T., lifetime 1800 s
        10, 1, 0, 9,                // home address
        10, 1, 0, 1,                // home agent
        10, 2, 0, 1,                // care-of address
        1, 2, 3, 4, 5, 6, 7, 8,     // identification
    ];
    check(request, &bytes);
    assert_eq!(bytes.len() + 28, 52, "as in ns-2: 52 B");
}

#[test]
fn previous_agent_notification() {
    let notification =
        PreviousAgentNotification { agent: Address::new(10, 3, 0, 1), cache_lifetime: Lifetime(10) };
    let request = RegistrationRequest {
        flags: RequestFlags::default(),
        lifetime: Lifetime(2),
        home_address: HOST,
        home_agent: HOME_AGENT,
        care_of: CARE_OF,
        identification: 1,
        previous_agent: Some(notification),
    };
    #[rustfmt::skip]
    let bytes = [
        1, 0, 0, 2,
        10, 1, 0, 9,
        10, 1, 0, 1,
        10, 2, 0, 1,
        0, 0, 0, 0, 0, 0, 0, 1,
        96, 14, 0, 10, // type: previous foreign agent notification, length 14, cache lifetime 10 s
        10, 3, 0, 1,   // previous agent
        10, 2, 0, 1,   // new care-of address
        0, 0, 0, 0,    // security parameter index: none
    ];
    check(request, &bytes);
}

#[test]
fn registration_reply() {
    let reply = RegistrationReply {
        code: ReplyCode::IDENTIFICATION_MISMATCH,
        lifetime: Lifetime::FOR_EVER,
        home_address: HOST,
        home_agent: HOME_AGENT,
        identification: 0x8000_0000_0000_0001,
    };
    #[rustfmt::skip]
    let bytes = [
        3, 133, 0xff, 0xff,         // type, code, lifetime: for ever
        10, 1, 0, 9,                // home address
        10, 1, 0, 1,                // home agent
        0x80, 0, 0, 0, 0, 0, 0, 1,  // identification
    ];
    check(reply, &bytes);
}

#[test]
fn binding_request() {
    #[rustfmt::skip]
    let bytes = [
        17, 0, 0, 0,            // type, reserved
        10, 1, 0, 9,            // home address
        0, 0, 0, 7, 0, 0, 0, 8, // identification
    ];
    check(BindingRequest { home_address: HOST, identification: 0x0000_0007_0000_0008 }, &bytes);
}

#[test]
fn binding_update() {
    let update = BindingUpdate {
        acknowledge: true,
        minimal_encapsulation: false,
        gre_encapsulation: true,
        lifetime: Lifetime(5),
        home_address: HOST,
        care_of: CARE_OF,
        identification: Some(6),
    };
    #[rustfmt::skip]
    let bytes = [
        18, 0b1101_0000, 0, 5,  // type, AI.G...., lifetime 5 s
        10, 1, 0, 9,            // home address
        10, 2, 0, 1,            // care-of address
        0, 0, 0, 0, 0, 0, 0, 6, // identification
    ];
    check(update, &bytes);
    check(
        BindingUpdate { acknowledge: false, gre_encapsulation: false, identification: None, ..update },
        &[18, 0, 0, 5, 10, 1, 0, 9, 10, 2, 0, 1],
    );
}

#[test]
fn binding_acknowledgement() {
    #[rustfmt::skip]
    let bytes = [
        19, 0, 0, 128,          // type, reserved, status
        10, 1, 0, 9,            // home address
        0, 0, 0, 0, 0, 0, 0, 6, // identification
    ];
    check(BindingAcknowledgement { status: 128, home_address: HOST, identification: 6 }, &bytes);
}

#[test]
fn binding_warning() {
    #[rustfmt::skip]
    let bytes = [
        16, 0, 0, 0,    // type, reserved
        10, 1, 0, 9,    // home address
        10, 2, 0, 1,    // target node
    ];
    check(BindingWarning { home_address: HOST, targets: vec![CARE_OF] }, &bytes);
    check(BindingWarning { home_address: HOST, targets: vec![] }, &bytes[..8]);
}

#[test]
fn extensions_are_skipped_or_refused_by_their_number() {
    let mut bytes = emit(&BindingRequest { home_address: HOST, identification: 1 }.into());
    let plain = bytes.clone();
    bytes.extend([32, 6, 0, 0, 1, 0, 9, 9, 200, 0]);
    assert_eq!(parse_udp(&bytes), parse_udp(&plain), "authentication, and any from 128");
    bytes.extend([100, 0]);
    assert_eq!(parse_udp(&bytes), Err(ParseError::UnknownExtension(100)));
}

#[test]
fn one_flipped_bit_in_an_advertisement_is_noticed() {
    let mut bytes = emit(&Message::AgentSolicitation);
    bytes[5] ^= 4;
    assert_eq!(parse_icmp(&bytes), Err(ParseError::Checksum));
}

fn address() -> impl Strategy<Value = Address> {
    any::<u32>().prop_map(Address)
}

fn lifetime() -> impl Strategy<Value = Lifetime> {
    any::<u16>().prop_map(Lifetime)
}

fn advertisement() -> impl Strategy<Value = Message> {
    let fields = (address(), any::<u16>(), any::<u16>(), lifetime(), any::<[bool; 7]>());
    (fields, vec(address(), 0..=62)).prop_map(
        |((agent, lifetime_secs, sequence, registration_lifetime, f), care_of)| {
            let flags = AgentFlags {
                registration_required: f[0],
                busy: f[1],
                home_agent: f[2],
                foreign_agent: f[3],
                minimal_encapsulation: f[4],
                gre_encapsulation: f[5],
                reverse_tunnel: f[6],
            };
            AgentAdvertisement { agent, lifetime_secs, sequence, registration_lifetime, flags, care_of }
                .into()
        },
    )
}

fn request() -> impl Strategy<Value = Message> {
    let previous = option::of((address(), lifetime()));
    let fields = (any::<[bool; 6]>(), lifetime(), address(), address(), address(), any::<u64>());
    (fields, previous).prop_map(
        |((f, lifetime, home_address, home_agent, care_of, identification), previous)| {
            let flags = RequestFlags {
                simultaneous_bindings: f[0],
                broadcasts: f[1],
                decapsulates_itself: f[2],
                minimal_encapsulation: f[3],
                gre_encapsulation: f[4],
                reverse_tunnel: f[5],
            };
            let previous_agent =
                previous.map(|(agent, cache_lifetime)| PreviousAgentNotification { agent, cache_lifetime });
            RegistrationRequest {
                flags,
                lifetime,
                home_address,
                home_agent,
                care_of,
                identification,
                previous_agent,
            }
            .into()
        },
    )
}

fn small_messages() -> impl Strategy<Value = Message> {
    let reply = (any::<u8>(), lifetime(), address(), address(), any::<u64>()).prop_map(
        |(code, lifetime, home_address, home_agent, identification)| {
            let code = ReplyCode(code);
            RegistrationReply { code, lifetime, home_address, home_agent, identification }.into()
        },
    );
    let update = (any::<[bool; 3]>(), lifetime(), address(), address(), option::of(any::<u64>())).prop_map(
        |(f, lifetime, home_address, care_of, identification)| {
            BindingUpdate {
                acknowledge: f[0],
                minimal_encapsulation: f[1],
                gre_encapsulation: f[2],
                lifetime,
                home_address,
                care_of,
                identification,
            }
            .into()
        },
    );
    let asked = (address(), any::<u64>()).prop_map(|(home_address, identification)| {
        Message::from(BindingRequest { home_address, identification })
    });
    let acknowledged =
        (any::<u8>(), address(), any::<u64>()).prop_map(|(status, home_address, identification)| {
            BindingAcknowledgement { status, home_address, identification }.into()
        });
    let warning = (address(), vec(address(), 0..5))
        .prop_map(|(home_address, targets)| BindingWarning { home_address, targets }.into());
    prop_oneof![reply, update, asked, acknowledged, warning]
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(message in prop_oneof![advertisement(), request(), small_messages()]) {
        let bytes = emit(&message);
        prop_assert_eq!(parse(&message, &bytes), Ok(message.clone()));
        let headers = if carrier(&message) == Carrier::Udp { 28 } else { 20 };
        prop_assert_eq!(message.packet_bytes() as usize, headers + bytes.len());
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = parse_udp(&bytes);
        let _ = parse_icmp(&bytes);
    }

    #[test]
    fn no_damage_makes_the_parser_panic(
        message in prop_oneof![advertisement(), request(), small_messages()],
        cut in any::<usize>(),
        place in any::<usize>(),
        value in any::<u8>(),
    ) {
        let mut bytes = emit(&message);
        let place = place % bytes.len();
        bytes[place] = value;
        // With a correct checksum, so that the inner parser is reached.
        if carrier(&message) == Carrier::Icmp {
            bytes[2..4].fill(0);
            let sum = checksum(&bytes);
            bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        bytes.truncate(cut % (bytes.len() + 1));
        let parsed = [parse_udp(&bytes), parse_icmp(&bytes)];
        prop_assert!(parsed.len() == 2);
    }
}
