//! Cells: from the file to stations and media.

use segue_proto::time::Duration;
use segue_proto::units::BitRate;
use segue_proto::wifi::association::Policy;
use segue_proto::wifi::dcf::AfterCts;
use segue_proto::wifi::phy::{DSSS_RATES, OFDM_RATES};
use segue_proto::wifi::power::from_db;
use segue_proto::wifi::retry::CountsOf;
use segue_proto::wifi::{self, Kind, Phy, Preamble, Rate, RateControl, StationId};

use super::super::check::require;
use super::super::file::cell as form;
use super::super::{Cell, Infrastructure, Member};
use super::{CheckError, Resolver};
use crate::radio::medium::{self, FrameErrors, PairError};
use crate::radio::propagation::{self, Transmitter};
use crate::radio::{Position, Propagation};

/// Carrier-sense range over receive range in ns-2: 550 m over 250 m.
const SENSE_RATIO: f64 = 2.2;

impl Resolver<'_> {
    pub(super) fn cell(&self, i: usize, cell: &form::Cell) -> Result<Cell, CheckError> {
        let key = format!("cells[{i}]");
        let mut members = Vec::new();
        for (list, names) in [("access_points", &cell.access_points), ("members", &cell.members)] {
            for (m, name) in names.iter().enumerate() {
                let node = self.node(&format!("{key}.{list}[{m}]"), name)?;
                // Side by side, a metre apart, unless said otherwise.
                let position = self.position(name).unwrap_or(Position { x: members.len() as f64, y: 0.0 });
                members.push(Member { node, position });
            }
        }
        let default_name = if i == 0 { "cell".to_owned() } else { format!("cell-{}", i + 1) };
        Ok(Cell {
            name: cell.name.clone().unwrap_or(default_name),
            station: station(&key, cell)?,
            medium: self.medium(&key, cell, &members)?,
            infrastructure: infrastructure(&key, cell)?,
            members,
        })
    }

    fn medium(&self, key: &str, cell: &form::Cell, members: &[Member]) -> Result<medium::Config, CheckError> {
        let named = medium::Config::default();
        let propagation = match &cell.propagation {
            None => named.propagation,
            Some(form) => propagation(&format!("{key}.propagation"), form, cell.range_m)?,
        };
        let transmitter = Transmitter {
            power_w: cell.transmit_power_dbm.map_or(named.transmitter.power_w, |dbm| from_db(dbm) / 1e3),
            frequency_hz: cell.frequency_mhz.map_or(named.transmitter.frequency_hz, |mhz| mhz * 1e6),
        };
        // The thresholds are the powers at the ranges, so that the ranges hold for every propagation model.
        let own_radio = cell.propagation.is_some()
            || cell.transmit_power_dbm.is_some()
            || cell.frequency_mhz.is_some()
            || cell.range_m.is_some()
            || cell.carrier_sense_m.is_some();
        let (receive_w, carrier_sense_w) = if own_radio {
            let range_m = cell.range_m.unwrap_or(250.0);
            let sense_m = cell.carrier_sense_m.unwrap_or(range_m * SENSE_RATIO);
            for (name, metres) in [("range_m", range_m), ("carrier_sense_m", sense_m)] {
                let message = format!("found {metres}; allowed: more than 0 m, and near enough for a signal");
                require(metres > 0.0 && metres.is_finite(), format!("{key}.{name}"), message)?;
            }
            let power = |metres: f64| propagation.received_w(transmitter, metres);
            match propagation {
                // Full power up to the range: any threshold below it will do.
                Propagation::FixedRange { range_m } => {
                    let message = "there is no signal beyond the range of this propagation model; allowed: without carrier_sense_m";
                    require(cell.carrier_sense_m.is_none(), format!("{key}.carrier_sense_m"), message)?;
                    (power(range_m) / 2.0, power(range_m) / 2.0)
                }
                _ => {
                    let message = format!(
                        "found {sense_m}, shorter than the range of {range_m} m: stations would decode what they do not sense; allowed: {range_m} or more"
                    );
                    require(sense_m >= range_m, format!("{key}.carrier_sense_m"), message)?;
                    (power(range_m), power(sense_m))
                }
            }
        } else {
            (named.receive_w, named.carrier_sense_w)
        };
        Ok(medium::Config {
            propagation,
            transmitter,
            receive_w,
            carrier_sense_w,
            capture_db: cell.capture_db.or(named.capture_db),
            errors: self.frame_errors(key, cell, members)?,
            ..named
        })
    }

    fn frame_errors(
        &self,
        key: &str,
        cell: &form::Cell,
        members: &[Member],
    ) -> Result<FrameErrors, CheckError> {
        let mut errors = FrameErrors::uniform(cell.frame_error.unwrap_or(0.0));
        for (e, error) in cell.frame_errors.iter().enumerate() {
            let station = |end: &str, name: &Option<String>| {
                let Some(name) = name else { return Ok(None) };
                let key = format!("{key}.frame_errors[{e}].{end}");
                let node = self.node(&key, name)?;
                let station = members.iter().position(|member| member.node == node);
                let message = format!("\"{name}\" is not in this cell; allowed: one of its members");
                station.map(|s| Some(s as u32)).ok_or_else(|| CheckError::new(key, message))
            };
            errors.by_pair.push(PairError {
                from: station("from", &error.from)?,
                to: station("to", &error.to)?,
                kind: error.kind.map(|kind| match kind {
                    form::Kind::Data => Kind::Data,
                    form::Kind::Rts => Kind::Rts,
                    form::Kind::Cts => Kind::Cts,
                    form::Kind::Ack => Kind::Ack,
                    form::Kind::Beacon => Kind::Beacon,
                }),
                p: error.p,
            });
        }
        Ok(errors)
    }
}

fn station(key: &str, cell: &form::Cell) -> Result<wifi::Config, CheckError> {
    let rate = wifi_rate(&format!("{key}.rate"), cell.rate.0)?;
    let preamble = if cell.short_preamble { Preamble::Short } else { Preamble::Long };
    let phy = if rate.is_ofdm() { Phy::Ofdm } else { Phy::Dsss(preamble) };
    let mut station = wifi::Config::new(StationId(0), phy, rate);
    if let Some(basic) = cell.basic_rate {
        station.basic_rate = wifi_rate(&format!("{key}.basic_rate"), basic.0)?;
    }
    if cell.rate_control == Some(form::RateControl::Arf) {
        station.rate_control = RateControl::Arf(rate);
    }
    if let Some(threshold) = cell.rts_threshold {
        // "off" is longer than any frame.
        station.rts_threshold =
            threshold.0.map_or(u32::MAX, |bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX));
    }
    station.retry_limits.short = cell.short_retry_limit.unwrap_or(station.retry_limits.short);
    station.retry_limits.long = cell.long_retry_limit.unwrap_or(station.retry_limits.long);
    station.queue_limit = cell.queue.map_or(station.queue_limit, |queue| queue as usize);
    station.use_eifs = cell.eifs.unwrap_or(station.use_eifs);
    station.difs_after_eifs = cell.difs_after_eifs.unwrap_or(station.difs_after_eifs);
    station.retry_counts_of = match cell.retry_counts_of {
        None | Some(form::CountsOf::Frame) => CountsOf::Frame,
        Some(form::CountsOf::Station) => CountsOf::Station,
    };
    station.after_cts = match cell.after_cts {
        None | Some(form::AfterCts::Free) => AfterCts::Free,
        Some(form::AfterCts::Wait) => AfterCts::Wait,
    };
    Ok(station)
}

fn infrastructure(key: &str, cell: &form::Cell) -> Result<Option<Infrastructure>, CheckError> {
    if cell.access_points.is_empty() {
        let given = [
            ("beacon_interval", cell.beacon_interval.is_some()),
            ("missed_beacons", cell.missed_beacons.is_some()),
            ("hysteresis_db", cell.hysteresis_db.is_some()),
        ];
        return match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(None),
            Some((name, _)) => {
                let message = "found in a cell without access points; allowed: with access_points = [\"…\"]";
                Err(CheckError::new(format!("{key}.{name}"), message))
            }
        };
    }
    let interval = cell.beacon_interval.map_or(Some(Duration::from_millis(100)), |interval| interval.0);
    Ok(Some(Infrastructure {
        access_points: cell.access_points.len(),
        association: interval.map(|beacon_period| Policy {
            beacon_period,
            missed_beacons: cell.missed_beacons.unwrap_or(8),
            hysteresis_db: cell.hysteresis_db.unwrap_or(4.0),
        }),
    }))
}

fn propagation(key: &str, form: &form::Propagation, range_m: Option<f64>) -> Result<Propagation, CheckError> {
    let given = [
        ("antenna_height_m", form.antenna_height_m.is_some()),
        ("reference_m", form.reference_m.is_some()),
        ("exponent", form.exponent.is_some()),
        ("shadowing_db", form.shadowing_db.is_some()),
    ];
    let (model, fields): (Propagation, &[&str]) = match form.model.as_str() {
        "friis" => (Propagation::Friis, &[]),
        "two-ray-ground" => {
            let antenna_height_m = form.antenna_height_m.unwrap_or(1.5);
            (Propagation::TwoRayGround { antenna_height_m }, &["antenna_height_m"])
        }
        "log-distance" => {
            let message = "the key \"exponent\" of this propagation model is missing";
            let exponent = form.exponent.ok_or_else(|| CheckError::new(key, message))?;
            let reference_m = form.reference_m.unwrap_or(1.0);
            let shadowing_db = form.shadowing_db.unwrap_or(0.0);
            let model = Propagation::LogDistance { reference_m, exponent, shadowing_db };
            (model, &["reference_m", "exponent", "shadowing_db"])
        }
        "fixed-range" => (Propagation::FixedRange { range_m: range_m.unwrap_or(250.0) }, &[]),
        other => {
            let names = propagation::ALL.iter().map(|(name, _)| *name);
            return Err(CheckError::not_one_of(&format!("{key}.model"), "propagation model", other, names));
        }
    };
    match given.iter().find(|(name, is_given)| *is_given && !fields.contains(name)) {
        None => Ok(model),
        Some((name, _)) => {
            let allowed = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
            let message = format!("not a field of this propagation model; allowed: {allowed}");
            Err(CheckError::new(format!("{key}.{name}"), message))
        }
    }
}

/// The 802.11 rate of so many bits per second.
fn wifi_rate(key: &str, rate: BitRate) -> Result<Rate, CheckError> {
    let all = || DSSS_RATES.iter().chain(OFDM_RATES);
    all().find(|r| r.bps() == rate.as_bps()).copied().ok_or_else(|| {
        let allowed: Vec<String> =
            all().filter_map(|r| BitRate::from_bps(r.bps())).map(|r| format!("\"{r}\"")).collect();
        CheckError::new(key, format!("found \"{rate}\"; allowed: {}", allowed.join(", ")))
    })
}
