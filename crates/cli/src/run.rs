//! `segue run`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use segue_proto::time::{Duration, Instant};
use segue_sim::World;
use segue_sim::results::{CsvTrace, FanOut, Observer, Results};
use segue_sim::scenario::{self, Scenario, ScenarioError, Setting};
use segue_sim::table::{Cell, Table};
use segue_sim::timeline::{Recorder, Timeline};
use serde_json::json;

use crate::args::{Format, RunArgs};
use crate::error::Refusal;
use crate::files::{self, NewFolder};
use crate::report::run_page::{self, Origin};
use crate::{DONE, output};

/// Runs the command.
///
/// # Errors
/// If the scenario is refused or a file cannot be written.
pub fn run(args: &RunArgs) -> Result<u8, Refusal> {
    let loaded = Loaded::new(args)?;
    if !args.quiet {
        tell_flows_that_keep_their_tcp(args, &loaded.scenario);
    }
    let results = run_and_write(&loaded, args)?;
    print(args, &loaded, &results)?;
    if !args.quiet {
        let page = args.report.as_ref().map(|folder| folder.join(files::INDEX));
        for written in args.out.iter().chain(&page) {
            output::note(format_args!("wrote {}", written.display()));
        }
    }
    Ok(DONE)
}

/// A scenario and where it came from.
struct Loaded {
    name: String,
    scenario: Scenario,
    seed: u64,
    settings: Vec<Setting>,
    /// Names and texts of the files that were read.
    files: Vec<(String, String)>,
}

impl Loaded {
    fn new(args: &RunArgs) -> Result<Self, Refusal> {
        let mut settings = Vec::new();
        if let Some(variant) = &args.tcp {
            settings.push(Setting { path: "tcp.variant".to_owned(), value: variant.clone() });
        }
        settings.extend(args.settings.iter().cloned());
        if let Some(name) = &args.scheme {
            // The parameters in the file belong to the scheme that it names.
            let keeps = load(&args.scenario, &settings).is_ok_and(|(s, _)| s.scheme.spec.name == name);
            if !keeps {
                let value = format!("{{ name = \"{name}\" }}");
                settings.insert(0, Setting { path: "scheme".to_owned(), value });
            }
        }
        let (scenario, files) = load(&args.scenario, &settings).map_err(|error| refusal(args, &error))?;
        let seed = args.seed.unwrap_or(scenario.seed);
        Ok(Loaded { name: args.scenario.clone(), scenario, seed, settings, files })
    }

    /// What people call it.
    fn title(&self) -> &str {
        if self.scenario.title.is_empty() { &self.name } else { &self.scenario.title }
    }
}

/// The scenario, and the names and texts of the files it is made of.
type ScenarioAndFiles = (Scenario, Vec<(String, String)>);

fn load(name: &str, settings: &[Setting]) -> Result<ScenarioAndFiles, ScenarioError> {
    let files = RefCell::new(Vec::new());
    let reader = |name: &str| {
        let text = read(name)?;
        files.borrow_mut().push((name.to_owned(), text.clone()));
        Ok(text)
    };
    let scenario = scenario::load(name, &reader, settings)?;
    Ok((scenario, files.into_inner()))
}

/// The text of a scenario file.
pub(crate) fn read(name: &str) -> Result<String, String> {
    let allowed = "allowed: a scenario file (TOML)";
    if Path::new(name).is_dir() {
        return Err(format!("is a folder; {allowed}"));
    }
    let bytes = std::fs::read(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no such file; {allowed}"),
        _ => format!("{error}; {allowed}"),
    })?;
    String::from_utf8(bytes).map_err(|_| format!("is not text in UTF-8; {allowed}"))
}

fn refusal(args: &RunArgs, error: &ScenarioError) -> Refusal {
    let mut error = error.clone();
    let in_setting = |setting: &Setting| error.key.starts_with(&setting.path);
    if error.file == "--set" && !args.settings.iter().any(in_setting) {
        // One of the settings that stand for options.
        error.file = if error.key.starts_with("scheme") { "--scheme" } else { "--tcp" }.to_owned();
    }
    let refusal = Refusal::new(error.to_string());
    if error.file == args.scenario && !Path::new(&args.scenario).is_file() {
        refusal.with_hint("segue list scenarios")
    } else {
        refusal
    }
}

fn tell_flows_that_keep_their_tcp(args: &RunArgs, scenario: &Scenario) {
    let Some(wanted) = &args.tcp else { return };
    for (index, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.variant.name != wanted) {
        output::note(format_args!(
            "flow \"{}\" keeps its own TCP, {} (flows[{index}].tcp.variant)",
            flow.name, flow.variant.name
        ));
    }
}

/// Runs the scenario to its end, with a bar on a terminal for runs that take long.
fn run_world(loaded: &Loaded, quiet: bool, observer: Option<&mut dyn Observer>) -> Results {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let seconds = |at: Duration| at.as_nanos() / 1_000_000_000;
    let bar = ProgressBar::with_draw_target(Some(seconds(loaded.scenario.duration)), target);
    if let Ok(style) =
        ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} s simulated, {elapsed}, {eta} left")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(loaded.name.clone());
    let mut progress = |now: Instant| bar.set_position(seconds(now.since(Instant::ZERO)));
    let mut world = World::new(&loaded.scenario, loaded.seed).with_progress(&mut progress);
    if let Some(observer) = observer {
        world = world.observed(observer);
    }
    let results = world.run();
    bar.finish_and_clear();
    results
}

/// Runs the scenario and writes the folders that were asked for, which appear when the last of them is complete.
fn run_and_write(loaded: &Loaded, args: &RunArgs) -> Result<Results, Refusal> {
    if let (Some(out), Some(report)) = (&args.out, &args.report)
        && files::overlap(out, report)
    {
        let message =
            format!("--report {}: is not apart from --out; allowed: another folder", report.display());
        return Err(Refusal::new(message));
    }
    let flow = args.report.as_ref().map(|_| flow_to_show(args, &loaded.scenario)).transpose()?;
    let create = |target: &PathBuf| NewFolder::create(target, args.force);
    let out = args.out.as_ref().map(create).transpose()?;
    let report = args.report.as_ref().map(create).transpose()?;

    let mut trace = out.as_ref().map(|folder| begin_trace(loaded, folder)).transpose()?;
    let mut recorder = flow.map(|flow| Recorder::new(&loaded.scenario, flow));
    let results = {
        let mut observers = FanOut::default();
        if let Some(trace) = &mut trace {
            observers.add(trace);
        }
        if let Some(recorder) = &mut recorder {
            observers.add(recorder);
        }
        let listens = out.is_some() || report.is_some();
        run_world(loaded, args.quiet, listens.then_some(&mut observers))
    };
    if let (Some(folder), Some(trace)) = (&out, trace) {
        trace.finish().map_err(|error| folder.failed(files::EVENTS, &error))?;
        write_results(loaded, folder, &results)?;
    }
    if let (Some(folder), Some(recorder)) = (&report, recorder) {
        write_report(loaded, folder, &recorder.finish(results.ended), &results)?;
    }
    for folder in [out, report].into_iter().flatten() {
        folder.publish()?;
    }
    Ok(results)
}

/// The flow of `--report`.
fn flow_to_show(args: &RunArgs, scenario: &Scenario) -> Result<usize, Refusal> {
    let Some(wanted) = &args.flow else {
        return if scenario.flows.is_empty() {
            Err(Refusal::new("--report: the scenario has no flow to show"))
        } else {
            Ok(0)
        };
    };
    scenario.flows.iter().position(|flow| flow.name == *wanted).ok_or_else(|| {
        let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        Refusal::new(format!("--flow: there is no flow \"{wanted}\"; allowed: {}", names.join(", ")))
    })
}

fn begin_trace<'a>(loaded: &'a Loaded, folder: &NewFolder) -> Result<CsvTrace<'a, BufWriter<File>>, Refusal> {
    let events = File::create(folder.path().join(files::EVENTS))
        .map_err(|error| folder.failed(files::EVENTS, &error))?;
    Ok(CsvTrace::new(&loaded.scenario, BufWriter::with_capacity(1 << 16, events)))
}

fn write_results(loaded: &Loaded, folder: &NewFolder, results: &Results) -> Result<(), Refusal> {
    let texts = [
        (files::FLOWS, results.flow_table().csv()),
        (files::DATAGRAMS, results.datagram_table().csv()),
        (files::LINKS, results.link_table(&loaded.scenario).csv()),
        (files::STATIONS, results.station_table(&loaded.scenario).csv()),
        (files::MOBILITY, results.mobility_table(&loaded.scenario).csv()),
        (files::RUN, format!("{:#}\n", record(loaded, results))),
    ];
    texts.iter().try_for_each(|(name, text)| folder.write(name, text))
}

fn write_report(
    loaded: &Loaded,
    folder: &NewFolder,
    timeline: &Timeline,
    results: &Results,
) -> Result<(), Refusal> {
    let origin = Origin { title: loaded.title(), scenario: &loaded.name, seed: loaded.seed };
    folder.write(files::INDEX, &run_page::page(origin, timeline, results))?;
    folder.write(files::TIMELINE, &run_page::svg(origin, timeline, results))
}

/// What is needed to repeat the run.
fn record(loaded: &Loaded, results: &Results) -> serde_json::Value {
    let settings = loaded.settings.iter().map(|s| json!({ "path": s.path, "value": s.value }));
    let files = loaded.files.iter().map(|(name, text)| json!({ "name": name, "text": text }));
    json!({
        "segue": env!("CARGO_PKG_VERSION"),
        "scenario": loaded.name,
        "title": loaded.scenario.title,
        "scheme": results.scheme,
        "seed": loaded.seed,
        "settings": settings.collect::<Vec<_>>(),
        "simulated_s": simulated_s(results).json(),
        "events": results.events,
        "files": files.collect::<Vec<_>>(),
    })
}

fn simulated_s(results: &Results) -> Cell {
    Cell::Number(results.ended.as_secs_f64(), 6)
}

fn print(args: &RunArgs, loaded: &Loaded, results: &Results) -> Result<(), Refusal> {
    let flows = results.flow_table();
    let datagrams = results.datagram_table();
    let links = args.links.then(|| results.link_table(&loaded.scenario));
    let has_cells = !loaded.scenario.cells.is_empty();
    let stations = (args.links && has_cells).then(|| results.station_table(&loaded.scenario));
    let mobility = (!results.mobility.is_empty()).then(|| results.mobility_table(&loaded.scenario));
    match args.format {
        Format::Table => {
            let tables =
                [Some(&flows), Some(&datagrams), mobility.as_ref(), links.as_ref(), stations.as_ref()];
            output::print(&text(loaded, results, &tables))
        }
        Format::Csv => {
            let traffic = if flows.rows.is_empty() { &datagrams } else { &flows };
            output::print(&links.as_ref().unwrap_or(traffic).csv())
        }
        Format::Json => {
            let mut document = json!({
                "scenario": loaded.name,
                "title": loaded.scenario.title,
                "scheme": results.scheme,
                "seed": loaded.seed,
                "simulated_s": simulated_s(results).json(),
                "events": results.events,
                "flows": flows.json_rows(),
            });
            if !datagrams.rows.is_empty() {
                document["datagrams"] = datagrams.json_rows();
            }
            if let Some(links) = links {
                document["links"] = links.json_rows();
            }
            if let Some(stations) = stations {
                document["stations"] = stations.json_rows();
            }
            if let Some(mobility) = mobility {
                document["mobility"] = mobility.json_rows();
            }
            output::print_json(&document)
        }
    }
}

fn text(loaded: &Loaded, results: &Results, tables: &[Option<&Table>]) -> String {
    let width = output::terminal_width();
    let mut text = format!(
        "{}\nscheme {}, seed {}, {:.3} s simulated, {} events\n",
        loaded.title(),
        results.scheme,
        loaded.seed,
        results.ended.as_secs_f64(),
        results.events
    );
    for table in tables.iter().flatten().filter(|table| !table.rows.is_empty()) {
        text.push('\n');
        text.push_str(&output::text_table(table, width));
    }
    text
}
