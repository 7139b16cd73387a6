//! The schemes that the papers argue with, each doing in a real cell what it is known for.

use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_sim::results::{Observer, Place, Results};
use segue_sim::scenario::{Scenario, Setting, load_text};

/// A server behind a base station, and a laptop in its cell. The absence is long enough for plain TCP to back off. The
/// queues hold a whole window: whoever resumes with a window sends it at once.
const CELL: &str = r#"
duration = "60 s"
tcp = { profile = "rfc", variant = "new-reno" }
hosts = { laptop = { mobile = true }, server = {} }
routers = { base = {} }
cells = [{ members = ["laptop", "base"], rate = "2 Mb/s", basic_rate = "2 Mb/s", queue = 100 }]
links = [{ between = ["base", "server"], rate = "10 Mb/s", delay = "20 ms", queue = 100 }]
"#;

const DOWNLOAD: (&str, &str) = ("flows", "[{ from = \"server\", to = \"laptop\" }]");
const UPLOAD: (&str, &str) = ("flows", "[{ from = \"laptop\", to = \"server\" }]");
const ABSENCE: (&str, &str) = ("absences", "[{ node = \"laptop\", start = \"10 s\", duration = \"20 s\" }]");

/// The same cell with a radio that loses a data frame in 100 and a MAC that tries once, behind a longer way.
const NOISY: &str = r#"
duration = "60 s"
tcp = { profile = "rfc", variant = "new-reno", window = 20 }
hosts = { laptop = { mobile = true }, server = {} }
routers = { base = {} }
links = [{ between = ["base", "server"], rate = "10 Mb/s", delay = "60 ms" }]
[[cells]]
members = ["laptop", "base"]
rate = "2 Mb/s"
basic_rate = "2 Mb/s"
queue = 100
rts_threshold = "off"
short_retry_limit = 1
long_retry_limit = 1
frame_errors = [{ kind = "data", p = 0.01 }]
"#;

mod tcp_lcd {
    use super::*;

    #[test]
    fn a_sender_told_of_the_outage_tries_at_the_pace_of_its_first_timeout() {
        let plain = watch(CELL, "none", &[DOWNLOAD, ABSENCE]);
        let lcd = watch(CELL, "tcp-lcd", &[DOWNLOAD, ABSENCE]);
        assert!(plain.results.flows[0].idle > seconds(8.0), "{:?}", plain.results.flows[0]);
        // The first timeout of this path is below 2 s; what is left of one after the absence is idle time.
        assert!(lcd.results.flows[0].idle < seconds(2.0), "{:?}", lcd.results.flows[0]);
        assert!(lcd.results.flows[0].stats.timeouts >= 10, "{:?}", lcd.results.flows[0]);
        assert!(lcd.results.flows[0].delivered > plain.results.flows[0].delivered);
        assert!(lcd.messages.contains(&"destination-unreachable"));
    }

    #[test]
    fn a_link_that_refuses_packets_is_reported_and_one_that_swallows_them_is_not() {
        let links = r#"[{ between = ["base", "server"], rate = "10 Mb/s", delay = "20 ms" },
            { between = ["base", "desk"], rate = "1 Mb/s", delay = "5 ms", queue = 100 }]"#;
        for (effect, is_reported) in [("flush", true), ("black-hole", false)] {
            let outage = format!(
                "[{{ link = [\"base\", \"desk\"], start = \"10 s\", duration = \"20 s\", effect = \"{effect}\" }}]"
            );
            let settings = [
                ("hosts.desk.mobile", "true"),
                ("links", links),
                ("outages", outage.as_str()),
                ("flows", "[{ from = \"server\", to = \"desk\" }]"),
            ];
            let lcd = watch(CELL, "tcp-lcd", &settings);
            assert_eq!(lcd.messages.is_empty(), !is_reported, "{effect}");
            let quick = lcd.results.flows[0].idle < seconds(2.0);
            assert_eq!(quick, is_reported, "{effect}: {:?}", lcd.results.flows[0]);
        }
    }

    #[test]
    fn nobody_is_told_who_does_not_listen() {
        assert!(watch(CELL, "ilc-tcp", &[DOWNLOAD, ABSENCE]).messages.is_empty());
    }
}

mod freeze_tcp {
    use super::*;

    /// The laptop walks away from its access point, out of reach for some 20 s, and back. Frames weaker than 6 dB above the
    /// last that can be decoded are a warning.
    const WALK: &str = r#"
duration = "90 s"
tcp = { profile = "rfc", variant = "new-reno" }
routers = { base = { position = [0, 0] } }
links = [{ between = ["base", "server"], rate = "10 Mb/s", delay = "20 ms" }]
flows = [{ from = "server", to = "laptop" }]
[hosts.server]
[hosts.laptop]
mobile = true
link_quality = { margin_db = 6, silence = "2 s" }
mobility = { model = "waypoints", points = [["0 s", 0, 0], ["40 s", 80, 0], ["80 s", 0, 0]] }
[[cells]]
access_points = ["base"]
members = ["laptop"]
rate = "2 Mb/s"
range_m = 60
"#;

    #[test]
    fn a_sender_warned_by_falling_power_keeps_its_window_and_resumes_by_the_three_acks() {
        let plain = watch(WALK, "none", &[]);
        let freeze = watch(WALK, "freeze-tcp", &[]);
        assert!(plain.results.flows[0].stats.timeouts >= 3, "{:?}", plain.results.flows[0]);
        assert_eq!(freeze.results.flows[0].stats.timeouts, 0, "{:?}", freeze.results.flows[0]);
        let resumed = freeze.first_data_after(freeze.heard("link-ok"));
        assert!(resumed < seconds(0.2), "{resumed:?} after the news");
        let [before, after] = [freeze.heard("link-not-ok"), freeze.heard("link-ok") + seconds(0.5)];
        assert!(freeze.cwnd_at(after) >= freeze.cwnd_at(before), "the window is kept");
        assert!(plain.cwnd_at(after) < plain.cwnd_at(before));
    }

    #[test]
    fn a_warning_that_comes_with_the_loss_is_no_warning() {
        let freeze = watch(CELL, "freeze-tcp", &[DOWNLOAD, ABSENCE]);
        assert!(freeze.results.flows[0].stats.timeouts > 0, "{:?}", freeze.results.flows[0]);
    }
}

mod caceres_iftode {
    use super::*;

    #[test]
    fn both_directions_resume_at_once_after_an_absence() {
        for flow in [DOWNLOAD, UPLOAD] {
            let plain = watch(CELL, "none", &[flow, ABSENCE]);
            let resumed = watch(CELL, "caceres-iftode", &[flow, ABSENCE]);
            assert!(plain.results.flows[0].idle > seconds(3.0), "{:?}", plain.results.flows[0]);
            // One way for the ACKs, and the queue of the base station.
            assert!(resumed.results.flows[0].idle < seconds(0.1), "{:?}", resumed.results.flows[0]);
            assert!(resumed.results.flows[0].delivered > plain.results.flows[0].delivered);
        }
    }
}

mod eln {
    use super::*;

    #[test]
    fn frame_errors_do_not_cut_the_window_of_an_upload() {
        let plain = watch(NOISY, "none", &[UPLOAD]);
        let eln = watch(NOISY, "eln", &[UPLOAD]);
        assert!(plain.results.flows[0].stats.fast_retransmits > 20, "{:?}", plain.results.flows[0]);
        assert_eq!(eln.results.flows[0].stats.fast_retransmits, 0, "{:?}", eln.results.flows[0]);
        let ratio = eln.results.flows[0].delivered as f64 / plain.results.flows[0].delivered as f64;
        assert!(ratio > 1.1, "{ratio}");
    }

    #[test]
    fn congestion_behind_the_base_station_cuts_the_window_as_ever() {
        let narrow =
            "[{ between = [\"base\", \"server\"], rate = \"300 kb/s\", delay = \"20 ms\", queue = 5 }]";
        let [plain, eln] = ["none", "eln"].map(|scheme| watch(CELL, scheme, &[UPLOAD, ("links", narrow)]));
        assert!(plain.results.flows[0].stats.fast_retransmits > 5, "{:?}", plain.results.flows[0]);
        assert_eq!(eln.results.flows[0].stats, plain.results.flows[0].stats);
    }
}

mod snoop {
    use super::*;

    #[test]
    fn the_sender_sees_nothing_of_a_noisy_radio() {
        let plain = watch(NOISY, "none", &[DOWNLOAD]);
        let snoop = watch(NOISY, "snoop", &[DOWNLOAD]);
        let (dups, hidden) = (plain.results.flows[0].stats.dup_acks, snoop.results.flows[0].stats.dup_acks);
        assert!(dups > 100 && hidden * 20 < dups, "{hidden} of {dups} duplicate ACKs");
        assert_eq!(snoop.results.flows[0].stats.fast_retransmits, 0, "{:?}", snoop.results.flows[0]);
        let ratio = snoop.results.flows[0].delivered as f64 / plain.results.flows[0].delivered as f64;
        assert!(ratio > 1.1, "{ratio}");
    }

    #[test]
    fn congestion_before_the_base_station_is_the_senders() {
        let narrow =
            "[{ between = [\"base\", \"server\"], rate = \"300 kb/s\", delay = \"20 ms\", queue = 5 }]";
        let [plain, snoop] =
            ["none", "snoop"].map(|scheme| watch(CELL, scheme, &[DOWNLOAD, ("links", narrow)]));
        assert!(plain.results.flows[0].stats.fast_retransmits > 5, "{:?}", plain.results.flows[0]);
        assert_eq!(snoop.results.flows[0].stats, plain.results.flows[0].stats);
    }
}

mod m_tcp {
    use super::*;

    #[test]
    fn the_sender_waits_in_persist_mode_and_goes_on_at_its_old_window() {
        let m_tcp = watch(CELL, "m-tcp", &[DOWNLOAD, ABSENCE]);
        let flow = &m_tcp.results.flows[0];
        assert_eq!(flow.stats.timeouts, 0, "{flow:?}");
        assert!(m_tcp.probes >= 3, "{} probes", m_tcp.probes);
        assert!(flow.idle < seconds(0.1), "{flow:?}");
        let (before, after) = (Instant::ZERO + seconds(10.0), Instant::ZERO + seconds(30.5));
        assert!(m_tcp.cwnd_at(after) >= m_tcp.cwnd_at(before));
        assert!(flow.delivered > watch(CELL, "none", &[DOWNLOAD, ABSENCE]).results.flows[0].delivered);
    }

    #[test]
    fn without_disconnections_it_costs_next_to_nothing() {
        let [plain, m_tcp] = ["none", "m-tcp"].map(|scheme| watch(CELL, scheme, &[DOWNLOAD]));
        let ratio = m_tcp.results.flows[0].delivered as f64 / plain.results.flows[0].delivered as f64;
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
        assert_eq!(m_tcp.probes, 0);
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

/// A run and what was seen of it.
struct Watched {
    results: Results,
    seen: Watcher,
}

impl std::ops::Deref for Watched {
    type Target = Watcher;
    fn deref(&self) -> &Watcher {
        &self.seen
    }
}

#[derive(Default)]
struct Watcher {
    /// Messages sent, by name.
    messages: Vec<&'static str>,
    /// Probes of closed windows.
    probes: u64,
    signals: Vec<(Instant, &'static str)>,
    /// When data left a sender.
    data: Vec<Instant>,
    /// The first sender's window with each ACK.
    cwnd: Vec<(Instant, f64)>,
}

impl Watcher {
    /// When a signal was heard first.
    fn heard(&self, name: &str) -> Instant {
        let first = self.signals.iter().find(|(_, signal)| *signal == name);
        first.unwrap_or_else(|| panic!("no {name} was heard: {:?}", self.signals)).0
    }

    fn first_data_after(&self, when: Instant) -> Duration {
        self.data.iter().find(|at| **at >= when).map_or(Duration::MAX, |at| at.since(when))
    }

    fn cwnd_at(&self, when: Instant) -> f64 {
        self.cwnd.iter().rfind(|(at, _)| *at <= when).map_or(0.0, |(_, cwnd)| *cwnd)
    }
}

impl Observer for Watcher {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        match (place, *event) {
            (_, Event::MessageSent { message, .. }) => self.messages.push(message),
            (_, Event::SignalHeard(signal)) => self.signals.push((at, signal.kind.name())),
            (_, Event::WindowProbed) => self.probes += 1,
            (Place::End(0), Event::SegmentSent { .. }) => self.data.push(at),
            (Place::End(0), Event::AckReceived { cwnd, .. }) => self.cwnd.push((at, cwnd)),
            _ => {}
        }
    }
}

fn watch(text: &str, scheme: &str, settings: &[(&str, &str)]) -> Watched {
    let scenario = scenario(text, scheme, settings);
    let mut seen = Watcher::default();
    let results = segue_sim::run_observed(&scenario, 1, &mut seen);
    Watched { results, seen }
}

fn scenario(text: &str, scheme: &str, settings: &[(&str, &str)]) -> Scenario {
    let setting =
        |(path, value): &(&str, &str)| Setting { path: (*path).to_owned(), value: (*value).to_owned() };
    let scheme = ("scheme.name", scheme);
    let settings: Vec<Setting> = settings.iter().chain([&scheme]).map(setting).collect();
    load_text("peers.toml", text, &settings).unwrap_or_else(|error| panic!("{error}"))
}
