//! Mobile IPv4 with route optimisation: stories and properties over a small network of the machines.

mod network;
mod properties;
mod route_optimisation;
mod stories;
