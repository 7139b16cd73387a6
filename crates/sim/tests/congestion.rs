//! Where there is congestion and nothing else, a scheme leaves a plain TCP flow beside it its share.
//!
//! The standing comparison's situation, which has a drop-tail bottleneck, no outage and no frame error.

use segue_proto::schemes;
use segue_sim::compare::measure::Quantity;
use segue_sim::compare::{Case, Mark, Prepared, compare};
use segue_sim::scenario::load;

/// Share of the schemed flow relative to the plain one, against the same with plain TCP alone.
const FAIR: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// These break it, and docs/compare.md says so: Boosted TCP takes every loss for one of the radio where no queue reports
/// (boosted-tcp B5). I-TCP's routers have connections of their own, whose windows of 16 KB (i-tcp I9) get less.
const KNOWN_TO_BREAK_IT: [&str; 2] = ["boosted-tcp", "i-tcp"];

fn rows(direction: &str) -> Vec<(&'static str, Option<Mark>, f64)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/compare/");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}{file}")).map_err(|e| e.to_string());
    let scenario = load(&format!("congestion-{direction}.toml"), &read, &[]).expect("the situation");
    let names: Vec<&'static str> = schemes::ALL.iter().map(|spec| spec.name).collect();
    let case = Case { situation: "congestion".to_owned(), scenario };
    let prepared = Prepared::new(case, &names).expect("every scheme can run there");
    let comparison = compare(&[prepared], 12, &|_, _| {}).remove(0);
    let fairness =
        |row: &segue_sim::compare::Row| row.value(Quantity::Fairness).map_or(1.0, |value| value.mean);
    comparison.rows.iter().map(|row| (row.scheme, row.mark, fairness(row))).collect()
}

#[test]
fn a_plain_flow_beside_a_scheme_keeps_its_share_of_a_congested_queue() {
    for direction in ["upload", "download"] {
        for (scheme, mark, fairness) in rows(direction) {
            if KNOWN_TO_BREAK_IT.contains(&scheme) {
                continue;
            }
            let untouched = mark == Some(Mark::CannotAct);
            assert!(untouched || FAIR.contains(&fairness), "{scheme} {direction}: {fairness}");
        }
    }
}

#[test]
fn boosted_tcp_takes_the_losses_of_a_drop_tail_queue_for_the_radios() {
    let unfair = rows("download").into_iter().find(|row| row.0 == "boosted-tcp").map(|row| row.2);
    assert!(unfair.is_some_and(|fairness| !FAIR.contains(&fairness)), "{unfair:?}");
}
