//! What a scheme may do where the radio of a mobile host ends: at its base station, access point, agent or router.
//!
//! The part of a scheme in this seat stands between the radio and the rest of the node. It sees each segment that is
//! about to be sent to a mobile host over the last hop, and each that has just come from one over the first. It may let
//! it pass, change it, or take it away; it may send segments of its own both ways, and messages to other parts of its
//! scheme. It hears what the MAC and the mobility service of its node know. It touches no connection: to its node,
//! segments are packets that pass.
//!
//! ## Driver
//! `poll_output` after every input until it gives `None`, then `poll_timeout`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::mobile_ip::Address;
use crate::schemes::MacCommand;
use crate::tcp::Segment;
use crate::time::Instant;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub address: Address,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.port)
    }
}

/// What the world calls a connection: its two ends. Of two mobile hosts, `mobile` is the one whose base station speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The end on the mobile host.
    pub mobile: Endpoint,
    /// The other end.
    pub fixed: Endpoint,
}

/// Which way a segment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Over the radio.
    Mobile,
    /// Into the network.
    Fixed,
}

/// What becomes of a segment that a base station's part was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on, with the changes made to it.
    Forward,
    /// It ends here.
    Take,
}

/// What a base station's part hears of its node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StationEvent {
    /// The MAC has had the acknowledgement of a packet for a mobile host.
    Delivered {
        /// The host.
        mobile: Address,
    },
    /// The MAC, or the mobility service before it, has given a packet for a mobile host up.
    Undelivered {
        /// The host.
        mobile: Address,
        /// Its segment, if it carried one.
        segment: Option<(Flow, Segment)>,
    },
    /// This node is the home agent of a mobile host; said once, at the start.
    HomeOf {
        /// The host.
        mobile: Address,
    },
    /// A mobile host speaks through this node from now on; with Mobile IP, it is registered, and this is said again at
    /// each renewal.
    Arrived {
        /// The host.
        mobile: Address,
        /// The node that it spoke through before, where it said so.
        previous: Option<Address>,
    },
    /// A mobile host does not speak through this node any more.
    Departed {
        /// The host.
        mobile: Address,
        /// The node that it speaks through now; `None`: it has fallen silent, or the mobility service does not know.
        to: Option<Address>,
    },
}

/// What a base station's part sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A segment of a connection, in the name of the end that `towards` does not name, or of the router which the
    /// mobile host's socket has for that end ([`Peer::Router`](crate::schemes::Peer::Router)).
    Segment {
        /// The connection.
        flow: Flow,
        /// Which way.
        towards: Towards,
        /// What.
        segment: Segment,
    },
    /// A segment for a mobile host, through a tunnel to another base station.
    Tunnel {
        /// The other base station.
        to: Address,
        /// The connection.
        flow: Flow,
        /// What.
        segment: Segment,
    },
    /// A message to another part of the scheme.
    Send {
        /// A host or base station.
        to: Address,
        /// What.
        message: Message,
    },
    /// An order to the MAC of each of this node's radios.
    Mac(MacCommand),
}

/// A scheme's part at one base station.
pub trait BaseStation: fmt::Debug + Send {
    /// The address of its node; said once, before everything else.
    fn handle_address(&mut self, own: Address) {
        let _ = own;
    }

    /// A segment passes.
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, now: Instant) -> Fate;

    /// A segment that a mobile host has addressed to `router` in place of the other end
    /// ([`Peer::Router`](crate::schemes::Peer::Router)) comes by, or has reached it. What nobody takes goes on to the
    /// router, and is lost there.
    fn handle_addressed(&mut self, router: Address, flow: Flow, segment: &Segment, now: Instant) -> Fate {
        let _ = (router, flow, segment, now);
        Fate::Forward
    }

    /// The node has something to say.
    fn handle_event(&mut self, event: &StationEvent, now: Instant) {
        let _ = (event, now);
    }

    /// Another part of the scheme, at `from`, has sent a message.
    fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        let _ = (from, message, now);
    }

    /// A deadline has passed.
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next deadline, and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }

    /// The next thing to send, if any.
    fn poll_output(&mut self) -> Option<Output>;
}

/// What the parts of one scheme tell each other by packets of their own. The scheme defines the content; the network
/// carries it, and may lose it.
#[derive(Clone)]
pub struct Message(Arc<dyn Body>);

/// The content of a [`Message`].
pub trait Body: Any + fmt::Debug + Send + Sync {
    /// The name in traces.
    fn name(&self) -> &'static str;

    /// The size of the IP packet that carries it, headers included.
    fn packet_bytes(&self) -> u32;
}

impl Message {
    /// A message with this content.
    pub fn new(body: impl Body) -> Self {
        Message(Arc::new(body))
    }

    /// The content, if it is of type `T`.
    pub fn body<T: Body>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The name in traces.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The size of the IP packet that carries it, headers included.
    pub fn packet_bytes(&self) -> u32 {
        self.0.packet_bytes()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Message {
    /// Whether it is the very same message, or a copy of it.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Greeting(u32);

    impl Body for Greeting {
        fn name(&self) -> &'static str {
            "greeting"
        }

        fn packet_bytes(&self) -> u32 {
            28
        }
    }

    #[test]
    fn a_message_gives_its_content_to_who_knows_its_type() {
        let message = Message::new(Greeting(7));
        assert_eq!(message.body::<Greeting>().map(|greeting| greeting.0), Some(7));
        assert_eq!((message.name(), message.packet_bytes()), ("greeting", 28));
        assert_eq!(message, message.clone());
        assert_ne!(message, Message::new(Greeting(7)));
    }
}
