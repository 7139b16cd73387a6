//! Flows that stand beside a scheme, and what is counted to compare one.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use segue_proto::time::Duration;
use segue_sim::Results;
use segue_sim::scenario::{Setting, load_text};

/// Two uploads over a link of 1 Mb/s and 10 ms that is down from 5 s to 15 s.
const UPLOADS: &str = r#"
    duration = "60 s"
    tcp = { profile = "rfc" }
    hosts = { a = { mobile = true }, b = {} }
    links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "10 ms" }]
    flows = [{ from = "a", to = "b" }, { from = "a", to = "b" }]
    outages = [{ link = ["a", "b"], start = "5 s", duration = "10 s" }]
"#;

const ILC: &str = "scheme={ name = \"ilc-tcp\", layers = \"link\" }";

#[test]
fn a_flow_with_scheme_none_is_left_alone_by_the_scheme_of_its_host() {
    let results = run(&[ILC, "flows[1].scheme=none"]);
    let [schemed, plain] = &results.flows[..] else { panic!("two flows") };
    assert!(schemed.stats.freezes > 0 && schemed.interventions > 0 && !schemed.plain);
    assert_eq!((plain.stats.freezes, plain.interventions, plain.plain), (0, 0, true));
    assert!(schemed.idle < Duration::from_millis(10) && plain.idle > Duration::from_secs(1));
    let table = results.flow_table();
    let scheme = table.columns.iter().position(|column| column == "scheme").unwrap();
    let schemes: Vec<String> = table.rows.iter().map(|row| row[scheme].text()).collect();
    assert_eq!(schemes, ["ilc-tcp", "none"]);
}

#[test]
fn with_all_flows_plain_a_scheme_does_nothing() {
    let both_plain = run(&[ILC, "flows[0].scheme=none", "flows[1].scheme=none"]);
    let without = run(&[]);
    assert_eq!(both_plain.interventions(), 0);
    assert_eq!(both_plain.events, without.events);
    let bytes = |results: &Results| results.flows.iter().map(|flow| flow.delivered).collect::<Vec<_>>();
    assert_eq!(bytes(&both_plain), bytes(&without));
}

#[test]
fn a_retransmission_during_an_outage_is_sent_into_it() {
    let outage = run(&["flows=[{ from = \"a\", to = \"b\" }]"]);
    let flow = &outage.flows[0];
    // Each timeout of the outage sends one segment. The first after it may get through.
    assert!(flow.sent_into_outage >= 3, "{}", flow.sent_into_outage);
    assert!(flow.sent_into_outage <= flow.stats.timeouts);
    assert_eq!(flow.restorations, 1);
    let without = run(&["flows=[{ from = \"a\", to = \"b\" }]", "outages=[]"]);
    assert_eq!((without.flows[0].sent_into_outage, without.flows[0].restorations), (0, 0));
}

#[test]
fn a_segment_whose_ack_was_lost_is_a_duplicate_when_it_comes_again() {
    // Only the ACKs of four seconds are lost: all that was sent before arrives, and is sent again.
    let outages = "outages=[{ link = [\"a\", \"b\"], from = \"b\", start = \"5 s\", duration = \"4 s\" }]";
    let results = run(&["flows=[{ from = \"a\", to = \"b\" }]", outages]);
    assert!(results.flows[0].duplicates >= 2, "{}", results.flows[0].duplicates);
    let clean = run(&["flows=[{ from = \"a\", to = \"b\", bytes = \"100 kB\" }]", "outages=[]"]);
    assert_eq!(clean.flows[0].duplicates, 0);
}

#[test]
fn a_silence_that_the_next_outage_or_the_end_cuts_short_counts_as_far_as_it_goes() {
    // Plain TCP is silent for seconds after 15 s.
    let flows = "flows=[{ from = \"a\", to = \"b\" }]";
    let silence = run(&[flows]).flows[0].idle;
    assert!(silence > Duration::from_secs(1), "{silence}");
    let until_the_end = &run(&[flows, "duration=16 s"]).flows[0];
    assert_eq!((until_the_end.idle, until_the_end.restorations), (Duration::from_secs(1), 1));
    let outages = "outages=[{ link = [\"a\", \"b\"], start = \"5 s\", duration = \"10 s\", every = \"11 s\", count = 2 }]";
    let interrupted = &run(&[flows, outages]).flows[0];
    assert!(interrupted.idle >= Duration::from_secs(1), "{}", interrupted.idle);
    assert_eq!(interrupted.restorations, 2);
}

fn run(settings: &[&str]) -> Results {
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    let scenario = load_text("test.toml", UPLOADS, &settings).unwrap_or_else(|error| panic!("{error}"));
    segue_sim::run(&scenario, 1)
}
