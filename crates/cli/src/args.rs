//! The words of the command line and their help.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use segue_proto::schemes;
use segue_proto::tcp::variant;
use segue_sim::scenario::Setting;

/// TCP on hosts that move: simulate it, and check it against the published results.
#[derive(Debug, Parser)]
#[command(
    name = "segue",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    subcommand_required = true,
    after_long_help = TOP_HELP
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const TOP_HELP: &str = "\
EXAMPLES
  segue reproduce                       the papers' tables: printed value, measured value, verdict
  segue list schemes                    what can be compared
  segue run scenarios/roam.toml         one run of a scenario
  segue compare scenarios/roam.toml     all schemes against plain TCP, on the same ten seeds

OUTPUT
  Results go to standard output, everything else to standard error. Wherever a table is printed,
  --format json and --format csv print the same for programs. Same scenario, seed and version:
  same output.

EXIT CODES
  0  done
  1  a criterion of a paper failed (segue reproduce)
  2  the input was refused, or a file could not be written

'segue help COMMAND' explains a command in full.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one scenario once and print what became of each flow
    #[command(long_about = RUN_ABOUT)]
    Run(RunArgs),
    /// Run a scenario with all schemes and compare them with plain TCP on the same seeds
    #[command(long_about = COMPARE_ABOUT)]
    Compare(CompareArgs),
    /// Repeat the experiments of the papers and compare with their printed numbers
    #[command(long_about = REPRODUCE_ABOUT)]
    Reproduce(ReproduceArgs),
    /// List what there is: schemes, TCPs, profiles, queues, loss models, scenarios, papers
    #[command(long_about = LIST_ABOUT)]
    List(ListArgs),
    /// Print the completion script of a shell
    #[command(
        long_about = "Print the completion script of a shell on standard output.",
        after_long_help = COMPLETIONS_HELP
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

const COMPLETIONS_HELP: &str = "\
EXAMPLES
  segue completions bash > ~/.local/share/bash-completion/completions/segue
  segue completions zsh > ~/.zfunc/_segue
  segue completions fish > ~/.config/fish/completions/segue.fish

EXIT CODES
  0  done
  2  the shell is not known";

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// Comma-separated values (RFC 4180), one heading line
    Csv,
}

/// `segue run`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = RUN_HELP)]
#[command(group(ArgGroup::new("folders").args(["out", "report"]).multiple(true)))]
pub struct RunArgs {
    /// The scenario, a TOML file
    pub scenario: String,

    /// The scheme on mobile hosts, in place of the scenario's
    ///
    /// If the scenario names the same scheme, its parameters stay; otherwise the scheme has its defaults, which
    /// --set scheme.KEY=VALUE changes. 'segue list schemes' shows the names.
    #[arg(long, value_name = "SCHEME", value_parser = scheme_names(), hide_possible_values = true)]
    pub scheme: Option<String>,

    /// The TCP of all flows for which the scenario does not name one
    #[arg(long, value_name = "VARIANT", value_parser = variant_names(), hide_possible_values = true)]
    #[arg(long_help = TCP_HELP)]
    pub tcp: Option<String>,

    /// The seed of all random draws, in place of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Set one key of the scenario; may be given many times
    #[arg(long = "set", value_name = "PATH=VALUE", long_help = SET_HELP)]
    pub settings: Vec<Setting>,

    /// Also print (with --format csv: print instead) what became of the packets on each link
    #[arg(long)]
    pub links: bool,

    /// Write flows.csv, datagrams.csv, links.csv, stations.csv, mobility.csv, events.csv and run.json into a new folder
    ///
    /// The folder appears under its name when all of it is written. events.csv has one line per event; run.json has
    /// what is needed to repeat the run.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write a page with a picture of the run over time into a new folder: index.html, timeline.svg
    ///
    /// The picture shows what one flow sent and what was acknowledged, its windows and its timeout, and below them through
    /// whom its mobile host spoke, when it was cut off and what its scheme heard and did. The page needs no network and no
    /// script.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    /// The flow that --report shows; default the first
    #[arg(long, value_name = "NAME", requires = "report")]
    pub flow: Option<String>,

    /// Replace DIR if it holds an earlier run, and nothing else
    #[arg(long, requires = "folders")]
    pub force: bool,

    /// How to print the results
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_possible_values = true)]
    #[arg(help = "How to print the results: table, json or csv")]
    pub format: Format,

    /// No notes on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

const TCP_HELP: &str = "\
The TCP of all flows for which the scenario does not name one

Sets tcp.variant. A flow with a variant of its own in the scenario keeps it, and a note says so; \
--set flows[0].tcp.variant=V changes it. 'segue list tcp' shows the names.";

const SET_HELP: &str = "\
Set one key of the scenario; may be given many times

PATH is the key as in the file: duration, tcp.window, links[0].rate, outages[1].start, scheme.layers. VALUE is \
written as in the file; words and quantities need no quotes of their own. Applied last, in the given order.";

const RUN_ABOUT: &str = "\
Run one scenario once and print what became of each flow.

The scenario says which hosts, routers, links, flows and outages there are; see 'segue list scenarios' for examples. \
A scenario that is wrong in any way is refused before anything runs.";

const RUN_HELP: &str = "\
EXAMPLES
  segue run scenarios/roam.toml
  segue run scenarios/roam.toml --scheme ilc-tcp --set scheme.layers=link --seed 7
  segue run scenarios/roam.toml --set 'links[0].rate=2 Mb/s' --set 'duration=60 s'
  segue run scenarios/roam.toml --format json | jq '.flows[].goodput_kbps'
  segue run scenarios/roam.toml --out results/roam
  segue run scenarios/roam.toml --scheme ilc-tcp --report roam-ilc-tcp

UNITS
  In scenarios and in --set every quantity carries its unit:
    times   ns us ms s min h        200 ms, 1.5 s; some keys also take 'for ever' or 'off'
    rates   b/s kb/s Mb/s Gb/s      2 Mb/s is 2,000,000 bits per second
    sizes   B kB MB GB KiB MiB GiB  1 kB is 1,000 bytes, 1 KiB is 1,024 bytes
  Windows, queues and initial_ssthresh are counted in segments or packets and have no unit.
  In results the name of a column ends in its unit: finish_s in seconds, goodput_kbps in 1,000 bits
  per second; times in events.csv are whole nanoseconds.

EXIT CODES
  0  done
  2  the scenario or an option was refused (the message says where, what was found and what is
     allowed), or a file could not be written";

/// `segue compare`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// The scenario, a TOML file, or a folder of them
    ///
    /// Of a folder all files NAME.toml are taken, in the order of their names, and none of the folders in it. NAME-upload and
    /// NAME-download are the situation NAME.
    pub scenario: String,

    /// The schemes to compare with plain TCP, with commas between; default all
    ///
    /// A scheme that the scenario names keeps its parameters; the others have their defaults. 'segue list schemes' shows
    /// the names.
    #[arg(long, value_name = "SCHEMES", value_delimiter = ',', value_parser = scheme_names())]
    #[arg(hide_possible_values = true)]
    pub schemes: Vec<String>,

    /// How many seeds each scheme runs with, from the scenario's on
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,

    /// Set one key of the scenario, or of each in the folder; may be given many times
    #[arg(long = "set", value_name = "PATH=VALUE", long_help = SET_HELP)]
    pub settings: Vec<Setting>,

    /// How to print the results: table, json or csv
    ///
    /// table is a row for each scheme, or with a folder a matrix of gains; csv and json have all quantities.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Format,

    /// Also write DIR/index.html: the matrices and all tables on one page
    ///
    /// The page needs no network and no script. An index.html that stands there is replaced.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    /// No progress bar and no notes on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

const COMPARE_ABOUT: &str = "\
Run a scenario with all schemes and compare them with plain TCP on the same seeds.

The gain is the mean of the paired differences, seed by seed, with its 95 % confidence interval (Student). It is a gain \
of goodput, or of time where all flows are of fixed size and finish. Flows with scheme = \"none\" stand beside the \
others and tell whether a scheme is fair. docs/compare.md says what each number means.";

const COMPARE_HELP: &str = "\
EXAMPLES
  segue compare scenarios/roam.toml
  segue compare scenarios/compare --report comparison
  segue compare scenarios/compare/long-outage-upload.toml --schemes ilc-tcp --seeds 30
  segue compare scenarios/compare --format csv > comparison.csv

MARKS
  cannot act    the scheme did nothing in any run
  harms         the interval of its gain lies below zero, and the gain below -0.5 %

UNITS
  The name of a column ends in its unit: _s seconds, _pct percent, _kbps 1,000 bits per second.
  useless, timeouts, freezes and interventions are counts per run; fairness is a ratio.

EXIT CODES
  0  done
  2  a scenario or an option was refused (the message says where, what was found and what is
     allowed), or a file could not be written";

/// `segue reproduce`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = REPRODUCE_HELP)]
pub struct ReproduceArgs {
    /// The papers; all if none is given ('segue list papers' shows the names)
    #[arg(value_name = "PAPER")]
    pub papers: Vec<String>,

    /// How to print the results: table, json or csv
    ///
    /// csv has the criteria only, one per line; json has the criteria and all tables.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Format,

    /// Also write DIR/index.html: tables, criteria and charts on one page
    ///
    /// The page needs no network and no script. An index.html that stands there is replaced.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    /// No progress bar and no notes on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

const REPRODUCE_ABOUT: &str = "\
Repeat the experiments of the papers and compare with their printed numbers.

For each paper: its tables with printed and measured values side by side, then its criteria, each with a verdict: \
pass, fail, or negative. A negative is a criterion that nothing can meet because the paper contradicts itself; the \
arithmetic that shows it is recorded with the paper. It counts neither as passed nor as failed.";

const REPRODUCE_HELP: &str = "\
EXAMPLES
  segue reproduce
  segue reproduce ilc-tcp --report report
  segue reproduce --format json | jq '.papers[].criteria[] | select(.verdict == \"fail\")'

UNITS
  The name of a column ends in its unit: _s seconds, _pct percent.

EXIT CODES
  0  no criterion failed
  1  a criterion failed
  2  there is no such paper, or a file could not be written";

/// `segue list`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = LIST_HELP)]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub what: Kind,

    /// Only the entry of this name; of a scheme also its parameters
    pub name: Option<String>,

    /// Also the parameters of schemes
    #[arg(long, short)]
    pub verbose: bool,

    /// How to print the list: table, json or csv
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Format,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Policies on mobile hosts: scheme.name, --scheme
    Schemes,
    /// Recovery and congestion control: tcp.variant, --tcp
    Tcp,
    /// Sets of TCP constants: tcp.profile
    Profiles,
    /// Queues of links
    Queues,
    /// Loss models
    #[value(help = "Loss models of links: links[N].loss.model")]
    Losses,
    /// The scenario files in ./scenarios
    Scenarios,
    /// Papers whose experiments can be repeated: segue reproduce
    Papers,
}

impl Kind {
    /// The name of the list, and of one entry.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::Schemes => ("schemes", "scheme"),
            Kind::Tcp => ("tcp", "TCP"),
            Kind::Profiles => ("profiles", "profile"),
            Kind::Queues => ("queues", "queue"),
            Kind::Losses => ("losses", "loss model"),
            Kind::Scenarios => ("scenarios", "scenario"),
            Kind::Papers => ("papers", "paper"),
        }
    }
}

const LIST_ABOUT: &str = "List what there is, one line each: the name, and what it is.";

const LIST_HELP: &str = "\
EXAMPLES
  segue list schemes
  segue list schemes ilc-tcp            its parameters, with defaults and what is allowed
  segue list scenarios
  segue list tcp --format json

UNITS
  Defaults of parameters are written as one writes them in a scenario, with their unit ('200 ms').

EXIT CODES
  0  done
  2  there is no entry of that name";

fn scheme_names() -> PossibleValuesParser {
    schemes::ALL.iter().map(|spec| PossibleValue::new(spec.name).help(spec.summary)).into()
}

fn variant_names() -> PossibleValuesParser {
    variant::ALL.iter().map(|variant| PossibleValue::new(variant.name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
