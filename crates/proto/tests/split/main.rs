//! Split connections: the handoff by itself, and whole networks.

mod handoff;
mod network;
mod properties;
mod stories;
