//! The queue of a link: a number of packets, or a table.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// `queue` of a link.
#[derive(Clone, Debug)]
pub enum Queue {
    /// Drop-tail, and the packets that may wait.
    Packets(u32),
    /// `discipline`, and its parameters.
    Table(BTreeMap<String, toml::Value>),
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueueVisitor;
        impl<'de> Visitor<'de> for QueueVisitor {
            type Value = Queue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}, or a table with the key \"discipline\"", u32::MAX)
            }
            fn visit_i64<E: de::Error>(self, packets: i64) -> Result<Queue, E> {
                let refuse = |_| E::invalid_value(de::Unexpected::Signed(packets), &self);
                packets.try_into().map(Queue::Packets).map_err(refuse)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Queue, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(table)).map(Queue::Table)
            }
        }
        deserializer.deserialize_any(QueueVisitor)
    }
}
