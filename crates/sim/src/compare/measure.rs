//! What is taken from a run, and what is made of it.

use segue_proto::time::Duration;

use super::estimate::Estimate;
use crate::results::{FlowSummary, Results};
use crate::scenario::{NodeKind, Scenario};

/// Which flows of a scenario, seen from the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A mobile host sends.
    Upload,
    /// A mobile host receives, and the sender is not mobile.
    Download,
    /// Neither end is mobile.
    Fixed,
}

impl Direction {
    /// All of them, in the order of tables.
    pub const ALL: [Direction; 3] = [Direction::Upload, Direction::Download, Direction::Fixed];

    /// As it stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Upload => "upload",
            Direction::Download => "download",
            Direction::Fixed => "fixed",
        }
    }

    fn of(scenario: &Scenario, flow: usize) -> Direction {
        let is_mobile =
            |node: usize| matches!(scenario.nodes[node].kind, NodeKind::Host { mobile: true, .. });
        let flow = &scenario.flows[flow];
        match (is_mobile(flow.from), is_mobile(flow.to)) {
            (true, _) => Direction::Upload,
            (false, true) => Direction::Download,
            (false, false) => Direction::Fixed,
        }
    }
}

/// What a comparison tells of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Paired difference to plain TCP, in percent of plain TCP: more goodput, or less time.
    GainPct,
    /// Bytes delivered in order, per second from the start of each flow to the end of the run or of the flow.
    GoodputKbps,
    /// Time from start to finish of flows of fixed size.
    TransferS,
    /// Silence after each outage, on average.
    IdleS,
    /// The longest silence of a run.
    LongestIdleS,
    /// [`Quantity::Duplicates`] and [`Quantity::IntoOutage`].
    Useless,
    /// Segments that brought the receiver nothing that it had not.
    Duplicates,
    /// Segments sent again while an outage was on the way.
    IntoOutage,
    /// Expiries of the retransmission timer, whatever the scheme answered.
    Timeouts,
    /// Times that the scheme froze a sender.
    Freezes,
    /// What a flow has of what a flow beside it has, against the same with plain TCP only.
    Fairness,
    /// Paired difference of the goodput of the flows beside, in percent of theirs with plain TCP only.
    BesidePct,
    /// How often the scheme did anything.
    Interventions,
}

impl Quantity {
    /// All of them, in the order of tables.
    pub const ALL: [Quantity; 13] = [
        Quantity::GainPct,
        Quantity::GoodputKbps,
        Quantity::TransferS,
        Quantity::IdleS,
        Quantity::LongestIdleS,
        Quantity::Useless,
        Quantity::Duplicates,
        Quantity::IntoOutage,
        Quantity::Timeouts,
        Quantity::Freezes,
        Quantity::Fairness,
        Quantity::BesidePct,
        Quantity::Interventions,
    ];

    /// As it stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::GainPct => "gain_pct",
            Quantity::GoodputKbps => "goodput_kbps",
            Quantity::TransferS => "transfer_s",
            Quantity::IdleS => "idle_s",
            Quantity::LongestIdleS => "longest_idle_s",
            Quantity::Useless => "useless",
            Quantity::Duplicates => "duplicates",
            Quantity::IntoOutage => "into_outage",
            Quantity::Timeouts => "timeouts",
            Quantity::Freezes => "freezes",
            Quantity::Fairness => "fairness",
            Quantity::BesidePct => "beside_pct",
            Quantity::Interventions => "interventions",
        }
    }

    /// In words, for headings.
    pub fn title(self) -> &'static str {
        match self {
            Quantity::GainPct => "Gain over plain TCP, in percent",
            Quantity::GoodputKbps => "Goodput, in kb/s",
            Quantity::TransferS => "Time of a transfer, in seconds",
            Quantity::IdleS => "Silence after an outage, mean, in seconds",
            Quantity::LongestIdleS => "Longest silence after an outage, in seconds",
            Quantity::Useless => "Useless retransmissions, segments per run",
            Quantity::Duplicates => "Duplicates at the receiver, segments per run",
            Quantity::IntoOutage => "Sent again into an outage, segments per run",
            Quantity::Timeouts => "Timeouts per run",
            Quantity::Freezes => "Freezes per run",
            Quantity::Fairness => "Share against the flow beside, 1 as plain TCP",
            Quantity::BesidePct => "Gain of the flow beside, in percent",
            Quantity::Interventions => "Interventions per run",
        }
    }

    /// Decimals worth showing.
    pub fn decimals(self) -> usize {
        match self {
            Quantity::IdleS | Quantity::LongestIdleS | Quantity::TransferS | Quantity::Fairness => 2,
            _ => 1,
        }
    }
}

/// The flows of one direction in one run, taken together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    flows: usize,
    goodput_bps: f64,
    /// Sum over its flows, if all are of fixed size and finished.
    transfer_s: Option<f64>,
    idle: Duration,
    longest_idle: Duration,
    restorations: u64,
    duplicates: u64,
    into_outage: u64,
    timeouts: u64,
    freezes: u64,
    interventions: u64,
}

/// What a comparison needs of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    /// By [`Direction::ALL`].
    groups: [Group; 3],
    /// Goodput of the mean flow beside, if there is one.
    beside_bps: Option<f64>,
    /// What the scheme did outside the ends of flows.
    elsewhere: u64,
}

impl Facts {
    pub(super) fn of(scenario: &Scenario, results: &Results) -> Self {
        let mut groups = [Group::default(), Group::default(), Group::default()];
        let (mut beside, mut beside_bps) = (0u32, 0.0);
        for (index, flow) in results.flows.iter().enumerate() {
            let goodput_bps = goodput_bps(flow, results);
            if flow.plain {
                beside += 1;
                beside_bps += goodput_bps;
            } else {
                groups[Direction::of(scenario, index) as usize].add(flow, goodput_bps);
            }
        }
        let at_ends: u64 = results.flows.iter().map(|flow| flow.interventions).sum();
        Facts {
            groups,
            beside_bps: (beside > 0).then(|| beside_bps / f64::from(beside)),
            elsewhere: results.interventions() - at_ends,
        }
    }

    pub(super) fn of_direction(&self, direction: Direction) -> Option<&Group> {
        Some(&self.groups[direction as usize]).filter(|group| group.flows > 0)
    }

    /// What the scheme did for the flows of a direction, and what it did for nobody in particular.
    pub(super) fn interventions(&self, direction: Direction) -> u64 {
        self.groups[direction as usize].interventions + self.elsewhere
    }

    /// A flow's part of what a flow beside it has.
    fn share(&self, direction: Direction) -> Option<f64> {
        let group = self.of_direction(direction)?;
        let own = group.goodput_bps / group.flows as f64;
        self.beside_bps.filter(|beside| *beside > 0.0 && own > 0.0).map(|beside| own / beside)
    }

    #[cfg(test)]
    pub(super) fn with_interventions(direction: Direction, interventions: u64) -> Self {
        let mut facts = Facts { groups: Default::default(), beside_bps: None, elsewhere: 0 };
        facts.groups[direction as usize].interventions = interventions;
        facts
    }
}

impl Group {
    fn add(&mut self, flow: &FlowSummary, goodput_bps: f64) {
        let transfer_s = flow.finished.map(|at| at.since(flow.start).as_secs_f64());
        self.transfer_s = match (self.flows, self.transfer_s) {
            (0, _) => transfer_s,
            (_, before) => before.zip(transfer_s).map(|(before, own)| before + own),
        };
        self.flows += 1;
        self.goodput_bps += goodput_bps;
        self.idle = self.idle + flow.idle;
        self.longest_idle = self.longest_idle.max(flow.longest_idle);
        self.restorations += flow.restorations;
        self.duplicates += flow.duplicates;
        self.into_outage += flow.sent_into_outage;
        self.timeouts += flow.stats.timeouts;
        self.freezes += flow.stats.freezes;
        self.interventions += flow.interventions;
    }

    /// The value of a quantity that needs no other run.
    fn value(&self, quantity: Quantity) -> Option<f64> {
        Some(match quantity {
            Quantity::GoodputKbps => self.goodput_bps / 1e3,
            Quantity::TransferS => self.transfer_s? / self.flows as f64,
            Quantity::IdleS if self.restorations == 0 => return None,
            Quantity::IdleS => self.idle.as_secs_f64() / self.restorations as f64,
            Quantity::LongestIdleS if self.restorations == 0 => return None,
            Quantity::LongestIdleS => self.longest_idle.as_secs_f64(),
            Quantity::Useless => (self.duplicates + self.into_outage) as f64,
            Quantity::Duplicates => self.duplicates as f64,
            Quantity::IntoOutage => self.into_outage as f64,
            Quantity::Timeouts => self.timeouts as f64,
            Quantity::Freezes => self.freezes as f64,
            Quantity::GainPct | Quantity::Fairness | Quantity::BesidePct | Quantity::Interventions => {
                return None;
            }
        })
    }
}

/// What was delivered over the time that the flow had.
fn goodput_bps(flow: &FlowSummary, results: &Results) -> f64 {
    let seconds = flow.finished.unwrap_or(results.ended).since(flow.start).as_secs_f64();
    if seconds > 0.0 { flow.delivered as f64 * 8.0 / seconds } else { 0.0 }
}

/// What a gain is a gain of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    Goodput,
    Transfer,
}

impl Speed {
    /// The time of transfers, if all flows of a direction are finished in all runs of all schemes; else goodput.
    pub(super) fn for_all(runs: &[&[Facts]], direction: Direction) -> Self {
        let mut all = runs.iter().copied().flatten().filter_map(|facts| facts.of_direction(direction));
        if all.all(|group| group.transfer_s.is_some()) { Speed::Transfer } else { Speed::Goodput }
    }
}

/// Everything about the flows of `direction`: `schemed` against `plain`, seed by seed.
pub(super) fn quantities(
    direction: Direction,
    speed: Speed,
    plain: &[Facts],
    schemed: &[Facts],
    is_plain: bool,
) -> Vec<(Quantity, Estimate)> {
    let pairs: Vec<(&Facts, &Facts)> = plain.iter().zip(schemed).collect();
    let estimate = |quantity: Quantity| match quantity {
        Quantity::GainPct | Quantity::Fairness | Quantity::BesidePct if is_plain => None,
        Quantity::GainPct => gain(&pairs, direction, speed),
        Quantity::TransferS if speed == Speed::Goodput => None,
        Quantity::Fairness => fairness(&pairs, direction),
        Quantity::BesidePct => gain_pct(&pairs, |facts| facts.beside_bps),
        Quantity::Interventions => {
            let counts: Vec<f64> =
                schemed.iter().map(|facts| facts.interventions(direction) as f64).collect();
            Estimate::of(&counts)
        }
        _ => {
            let groups = schemed.iter().filter_map(|facts| facts.of_direction(direction));
            Estimate::of(&groups.filter_map(|group| group.value(quantity)).collect::<Vec<_>>())
        }
    };
    Quantity::ALL.iter().filter_map(|quantity| Some((*quantity, estimate(*quantity)?))).collect()
}

fn gain(pairs: &[(&Facts, &Facts)], direction: Direction, speed: Speed) -> Option<Estimate> {
    match speed {
        Speed::Goodput => gain_pct(pairs, |facts| Some(facts.of_direction(direction)?.goodput_bps)),
        Speed::Transfer => gain_pct(pairs, |facts| facts.of_direction(direction)?.transfer_s)
            // Less time is gain.
            .map(|longer| longer.scaled(-1.0)),
    }
}

/// The mean of the paired differences, in percent of the mean of plain TCP, which is taken as known.
fn gain_pct(pairs: &[(&Facts, &Facts)], value: impl Fn(&Facts) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<(f64, f64)> =
        pairs.iter().filter_map(|(plain, schemed)| value(plain).zip(value(schemed))).collect();
    let plain = values.iter().map(|(plain, _)| plain).sum::<f64>() / values.len() as f64;
    let differences: Vec<f64> = values.iter().map(|(plain, schemed)| schemed - plain).collect();
    Estimate::of(&differences).filter(|_| plain > 0.0).map(|estimate| estimate.scaled(100.0 / plain))
}

/// The mean share, in parts of that with plain TCP: one and the gain of the share. A mean of ratios would favour noise.
fn fairness(pairs: &[(&Facts, &Facts)], direction: Direction) -> Option<Estimate> {
    let gain = gain_pct(pairs, |facts| facts.share(direction))?.scaled(0.01);
    Some(Estimate { mean: 1.0 + gain.mean, ..gain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(own_bps: f64, beside_bps: f64) -> Facts {
        let group = Group { flows: 1, goodput_bps: own_bps, ..Group::default() };
        let groups = [group, Group::default(), Group::default()];
        Facts { groups, beside_bps: Some(beside_bps), elsewhere: 0 }
    }

    fn value(of: &[(Quantity, Estimate)], quantity: Quantity) -> Option<Estimate> {
        of.iter().find(|(own, _)| *own == quantity).map(|(_, estimate)| *estimate)
    }

    #[test]
    fn a_gain_is_the_paired_difference_and_its_spread_not_that_of_the_runs() {
        // Runs differ by a factor of ten, each pair by the same 100 b/s.
        let plain = [facts(1_000.0, 1.0), facts(10_000.0, 1.0)];
        let schemed = [facts(1_100.0, 1.0), facts(10_100.0, 1.0)];
        let all = quantities(Direction::Upload, Speed::Goodput, &plain, &schemed, false);
        let gain = value(&all, Quantity::GainPct).unwrap();
        assert!((gain.mean - 100.0 * 100.0 / 5_500.0).abs() < 1e-9);
        assert_eq!(gain.half, Some(0.0));
        assert!(value(&all, Quantity::GoodputKbps).unwrap().half.unwrap() > 1.0);
    }

    #[test]
    fn fairness_is_a_share_against_that_of_plain_tcp() {
        let plain = [facts(1_000.0, 2_000.0)];
        let schemed = [facts(1_500.0, 1_500.0)];
        let all = quantities(Direction::Upload, Speed::Goodput, &plain, &schemed, false);
        assert!((value(&all, Quantity::Fairness).unwrap().mean - 2.0).abs() < 1e-12);
        assert!((value(&all, Quantity::BesidePct).unwrap().mean + 25.0).abs() < 1e-12);
    }

    #[test]
    fn less_time_is_gain() {
        let finished = |seconds: f64| {
            let mut facts = facts(1.0, 1.0);
            facts.groups[0].transfer_s = Some(seconds);
            facts
        };
        let (plain, schemed) = ([finished(10.0)], [finished(8.0)]);
        let speed = Speed::for_all(&[&plain, &schemed], Direction::Upload);
        let all = quantities(Direction::Upload, speed, &plain, &schemed, false);
        assert!((value(&all, Quantity::GainPct).unwrap().mean - 20.0).abs() < 1e-12);
        let unfinished = [facts(1.0, 1.0)];
        assert_eq!(Speed::for_all(&[&plain, &unfinished], Direction::Upload), Speed::Goodput);
    }

    #[test]
    fn plain_tcp_has_no_gain_over_itself_and_no_idle_time_without_an_outage() {
        let plain = [facts(1.0, 1.0)];
        let all = quantities(Direction::Upload, Speed::Goodput, &plain, &plain, true);
        for quantity in [Quantity::GainPct, Quantity::Fairness, Quantity::IdleS, Quantity::TransferS] {
            assert_eq!(value(&all, quantity), None, "{}", quantity.name());
        }
        assert!(value(&all, Quantity::Useless).is_some());
    }
}
