//! What a run gives of its datagram sources.

use segue_proto::time::{Duration, Instant};

use super::Results;
use crate::table::{Cell, Table};

/// Summary of one source of datagrams.
#[derive(Clone, Debug)]
pub struct DatagramSummary {
    /// Its name.
    pub name: String,
    /// Sender and receiver.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// When it began.
    pub start: Instant,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Their payload.
    pub received_bytes: u64,
    /// From sending to arrival, mean over those received; `None` if there were none.
    pub mean_delay: Option<Duration>,
    /// Payload bits received per second between start and stop, or the end of the run.
    pub goodput_bps: f64,
}

impl DatagramSummary {
    /// Packets sent and not received, those still under way at the end of the run included.
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }
}

impl Results {
    /// The sources of datagrams as a table.
    pub fn datagram_table(&self) -> Table {
        let columns = [
            "source",
            "from",
            "to",
            "start_s",
            "sent",
            "received",
            "lost",
            "received_bytes",
            "goodput_kbps",
            "mean_delay_s",
        ];
        let row = |source: &DatagramSummary| {
            vec![
                Cell::Text(source.name.clone()),
                Cell::Text(source.from.clone()),
                Cell::Text(source.to.clone()),
                Cell::Number(source.start.as_secs_f64(), 6),
                Cell::Integer(source.sent),
                Cell::Integer(source.received),
                Cell::Integer(source.lost()),
                Cell::Integer(source.received_bytes),
                Cell::Number(source.goodput_bps / 1e3, 3),
                Cell::number(source.mean_delay.map(Duration::as_secs_f64), 6),
            ]
        };
        Table {
            id: "datagrams".into(),
            caption: format!("Datagrams at {}", self.ended),
            columns: columns.map(str::to_owned).to_vec(),
            rows: self.datagrams.iter().map(row).collect(),
        }
    }
}
