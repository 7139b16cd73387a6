//! Bytes ⇄ meaning. Parsing never panics and never reads beyond its input; what is emitted parses to the same value.

pub mod mobile_ip;
