//! The examples of the user's pages are accepted as they are printed.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use segue_sim::mobility;
use segue_sim::scenario::load;

const MOBILITY: &str = include_str!("../../../docs/mobility.md");

#[test]
fn every_example_of_the_page_on_mobility_is_accepted() {
    let mut models = Vec::new();
    for example in examples(MOBILITY) {
        let name = example.lines().find_map(|line| line.strip_prefix("[hosts.")?.strip_suffix(']')).unwrap();
        let text = format!(
            "duration = \"10 s\"\n\
             cells = [{{ members = [\"{name}\", \"other\"], rate = \"1 Mb/s\" }}]\n\
             flows = [{{ from = \"{name}\", to = \"other\" }}]\n\
             [hosts.other]\n{example}"
        );
        let reader = |file: &str| match file {
            "move.tcl" => Ok("$node_(3) set X_ 83.4\n".to_owned()),
            "fcd.xml" => Ok(FCD.to_owned()),
            _ => Ok(text.clone()),
        };
        let scenario = load("example.toml", &reader, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let node = scenario.nodes.iter().find(|node| node.name == name).unwrap();
        models.push(node.mobility.as_ref().unwrap().name());
    }
    let all: Vec<&str> = mobility::ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(models, all);
}

#[test]
fn the_page_on_mobility_has_the_table_of_the_code() {
    for (name, text) in mobility::ALL {
        let row = format!("| `{name}` | {text} |");
        assert!(MOBILITY.contains(&row), "{row}");
    }
}

const FCD: &str =
    r#"<fcd-export><timestep time="0"><vehicle id="veh0" x="0" y="0"/></timestep></fcd-export>"#;

/// What stands between ```` ```toml ```` and ```` ``` ````.
fn examples(page: &str) -> Vec<&str> {
    page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}
