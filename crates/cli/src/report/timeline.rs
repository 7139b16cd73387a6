//! The picture of a run: sequence numbers, windows and the retransmission timeout of one flow over the strips of its
//! mobile host, all on one time axis; outages are shaded through all of them.

mod strips;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use segue_proto::time::Instant;
use segue_sim::timeline::{Burst, Point, Span, Timeline};

use super::chart::{tick_text, ticks};
use super::{PALETTE, escape};

/// What the elements of the picture look like; a page that holds one needs it too.
pub(super) const STYLE: &str = include_str!("timeline.css");

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 8.0;
/// Room for the line with title and legend above a panel.
const HEADER: f64 = 26.0;
const GAP: f64 = 12.0;
/// Room for the time axis.
const BOTTOM: f64 = 44.0;
/// Share of a panel that stays free above the highest value.
const HEADROOM: f64 = 1.04;
/// A window above this makes its panel logarithmic.
const DWARFING: f64 = 500.0;
/// Signs in legends.
const LINE: &str = "\u{2501}\u{2501}";
/// See [`LINE`].
const DOT: &str = "\u{25cf}";

/// From time to places on the page.
#[derive(Clone, Copy)]
struct Axis {
    seconds: f64,
}

impl Axis {
    fn x(self, at: Instant) -> f64 {
        LEFT + at.as_secs_f64() / self.seconds * (WIDTH - LEFT - RIGHT)
    }

    /// Left edge and width.
    fn stretch(self, span: Span) -> (f64, f64) {
        let x = self.x(span.from);
        (x, self.x(span.until) - x)
    }
}

/// The vertical scale of a panel: from zero, or logarithmic from one.
#[derive(Clone, Copy)]
struct Scale {
    top: f64,
    height: f64,
    highest: f64,
    logarithmic: bool,
}

impl Scale {
    fn y(self, value: f64) -> f64 {
        let share = if self.logarithmic {
            value.max(1.0).log10() / self.highest.log10()
        } else {
            value / self.highest
        };
        self.top + (1.0 - share) * self.height
    }

    /// Round values along it.
    fn ticks(self) -> Vec<f64> {
        if self.logarithmic {
            return (0..).map(|n| 10f64.powi(n)).take_while(|value| *value <= self.highest).collect();
        }
        // Low panels have room for few numbers.
        round_values(self.highest, if self.height < 100.0 { 0.6 } else { 1.0 })
    }
}

/// The SVG file; `caption` stands above the picture.
pub fn file(timeline: &Timeline, caption: &str) -> String {
    let style = format!("<style>\n{PALETTE}{STYLE}</style>\n");
    let heading = format!("<text class=\"title\" x=\"{LEFT}\" y=\"22\">{}</text>\n", escape(caption));
    draw(timeline, caption, " xmlns=\"http://www.w3.org/2000/svg\"", &(style, heading))
}

/// The element for a page that has the style and says what the picture is of.
pub fn element(timeline: &Timeline, caption: &str) -> String {
    draw(timeline, caption, "", &Default::default())
}

fn draw(timeline: &Timeline, caption: &str, namespace: &str, (style, heading): &(String, String)) -> String {
    let axis = Axis { seconds: timeline.ended.as_secs_f64().max(1e-6) };
    let mut panels = String::new();
    let top = if heading.is_empty() { TOP } else { TOP + HEADER };
    let mut y = top;
    draw_sequence(&mut panels, axis, timeline, &mut y);
    draw_windows(&mut panels, axis, timeline, &mut y);
    draw_rto(&mut panels, axis, timeline, &mut y);
    strips::draw(&mut panels, axis, timeline, &mut y);
    let height = y + BOTTOM;
    let mut svg = format!(
        "<svg{namespace} class=\"timeline\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">\n{style}\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n{heading}",
        escape(caption)
    );
    draw_outages(&mut svg, axis, timeline, (top + HEADER, y));
    svg.push_str(&panels);
    draw_time(&mut svg, axis, y);
    svg.push_str("</svg>\n");
    svg
}

/// Shaded through all panels, behind what they show.
fn draw_outages(svg: &mut String, axis: Axis, timeline: &Timeline, (top, bottom): (f64, f64)) {
    for span in strips::merged(axis, timeline.outages.iter().map(|outage| outage.span)) {
        let (x, width) = axis.stretch(span);
        let _ = writeln!(
            svg,
            "<rect class=\"cut\" x=\"{x:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            width.max(1.0),
            bottom - top,
            strips::story("cut off", span)
        );
    }
}

/// A unit in which `highest` has few digits: its name and size.
fn bytes_unit(highest: f64) -> (&'static str, f64) {
    match highest {
        h if h >= 2e9 => ("GB", 1e9),
        h if h >= 2e6 => ("MB", 1e6),
        h if h >= 2e3 => ("kB", 1e3),
        _ => ("bytes", 1.0),
    }
}

fn draw_sequence(svg: &mut String, axis: Axis, timeline: &Timeline, y: &mut f64) {
    let highest = timeline.sent.iter().chain(&timeline.resent).map(|burst| burst.high).max();
    let (name, size) = bytes_unit(highest.unwrap_or_default() as f64);
    let in_units = |bytes: u64| bytes as f64 / size;
    let legend = [("sent", "c0", LINE), ("acknowledged", "c2", LINE), ("sent again", "c1", DOT)];
    let title = format!("Position in the stream ({name})");
    let shown = if timeline.resent.is_empty() { &legend[..2] } else { &legend };
    let scale = Scale::linear(300.0, highest.map_or(1.0, in_units)).draw(svg, y, &title, shown);
    let path = |bursts: &[Burst]| {
        let mut path = String::new();
        for burst in bursts {
            let (x, low) = (axis.x(burst.from), scale.y(in_units(burst.low)));
            let _ = write!(path, "M{x:.1} {low:.1}");
            push_line(&mut path, (axis.x(burst.until), scale.y(in_units(burst.high))), (x, low));
        }
        path
    };
    draw_path(svg, "c0", 2.5, &path(&timeline.sent));
    let acknowledged: Vec<Point> =
        timeline.acknowledged.iter().map(|p| Point { value: p.value / size, ..*p }).collect();
    draw_steps(svg, axis, scale, "c2", 1.2, &acknowledged);
    draw_path(svg, "c1", 3.5, &path(&timeline.resent));
}

/// A line in as few letters as it takes; one without length becomes a dot.
fn push_line(path: &mut String, (x, y): (f64, f64), from: (f64, f64)) {
    let same = |a: f64, b: f64| format!("{a:.1}") == format!("{b:.1}");
    let _ = match (same(x, from.0), same(y, from.1)) {
        (true, true) => write!(path, "h0"),
        (true, false) => write!(path, "V{y:.1}"),
        (false, true) => write!(path, "H{x:.1}"),
        (false, false) => write!(path, "L{x:.1} {y:.1}"),
    };
}

fn draw_windows(svg: &mut String, axis: Axis, timeline: &Timeline, y: &mut f64) {
    let highest = highest(&timeline.cwnd).unwrap_or(1.0);
    // A threshold that is never near would flatten the window.
    let threshold = timeline.ssthresh.iter().map(|p| p.value).filter(|v| *v <= 2.0 * highest);
    let top = threshold.clone().fold(highest, f64::max);
    let legend = [("congestion window", "c0", LINE), ("slow-start threshold", "c3", LINE)];
    let shown = if threshold.count() == 0 { &legend[..1] } else { &legend };
    // A window that nothing bounds dwarfs what it is after a loss.
    let (scale, title) = if top > DWARFING {
        (Scale { logarithmic: true, ..Scale::linear(150.0, top) }, "Window (segments, logarithmic)")
    } else {
        (Scale::linear(150.0, top), "Window (segments)")
    };
    let scale = scale.draw(svg, y, title, shown);
    draw_steps(svg, axis, scale, "c3", 1.2, &timeline.ssthresh);
    draw_steps(svg, axis, scale, "c0", 1.6, &timeline.cwnd);
}

fn draw_rto(svg: &mut String, axis: Axis, timeline: &Timeline, y: &mut f64) {
    let legend = [("timeout", "c4", LINE), ("it expired", "c1", DOT)];
    let shown = if timeline.timeouts.is_empty() { &legend[..1] } else { &legend };
    let scale = Scale::linear(80.0, highest(&timeline.rto).unwrap_or(1.0));
    let scale = scale.draw(svg, y, "Retransmission timeout (s)", shown);
    draw_steps(svg, axis, scale, "c4", 1.6, &timeline.rto);
    let mut dots = String::new();
    for tick in &timeline.timeouts {
        // The first value of that moment is the one that expired.
        let value = timeline.rto.iter().find(|p| p.at >= tick.at).map_or(0.0, |p| p.value);
        let _ = write!(dots, "M{:.1} {:.1}h0", axis.x(tick.at), scale.y(value));
    }
    draw_path(svg, "c1", 6.0, &dots);
}

fn highest(points: &[Point]) -> Option<f64> {
    points.iter().map(|point| point.value).max_by(f64::total_cmp)
}

impl Scale {
    fn linear(height: f64, highest: f64) -> Self {
        Scale { top: 0.0, height, highest: highest.max(1e-9) * HEADROOM, logarithmic: false }
    }

    /// Draws title, legend, axis and grid of a panel of this scale at `y`, which moves below it.
    fn draw(self, svg: &mut String, y: &mut f64, title: &str, legend: &[(&str, &str, &str)]) -> Self {
        let scale = Scale { top: *y + HEADER, ..self };
        let right = WIDTH - RIGHT;
        let baseline = *y + HEADER - 9.0;
        let _ = writeln!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"{baseline}\">{}</text>", escape(title));
        draw_legend(svg, baseline, legend);
        for (number, tick) in scale.ticks().into_iter().enumerate() {
            let y = scale.y(tick);
            let class = if number > 0 { "grid" } else { "axis" };
            let _ = writeln!(
                svg,
                "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                tick_text(tick)
            );
        }
        *y = scale.top + scale.height + GAP;
        scale
    }
}

/// At the right edge, above a panel: pairs of a name and its colour and sign.
fn draw_legend(svg: &mut String, baseline: f64, legend: &[(&str, &str, &str)]) {
    let entry = |(name, colour, sign): &(&str, &str, &str)| {
        format!("<tspan class=\"sign\" fill=\"var(--{colour})\">{sign}</tspan> {}", escape(name))
    };
    let entries: Vec<String> = legend.iter().map(entry).collect();
    let x = WIDTH - RIGHT;
    // Spaces that a page does not join.
    let entries = entries.join(" \u{a0} ");
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{baseline}\" text-anchor=\"end\">{entries}</text>");
}

fn draw_path(svg: &mut String, colour: &str, width: f64, path: &str) {
    if !path.is_empty() {
        let _ = writeln!(
            svg,
            "<path class=\"mark\" stroke=\"var(--{colour})\" stroke-width=\"{width}\" d=\"{path}\"/>"
        );
    }
}

/// A curve that keeps each value until the next; above the scale there is none.
fn draw_steps(svg: &mut String, axis: Axis, scale: Scale, colour: &str, width: f64, points: &[Point]) {
    let mut path = String::new();
    let mut present: Option<String> = None;
    for point in points {
        let x = axis.x(point.at);
        let y = (point.value <= scale.highest).then(|| format!("{:.1}", scale.y(point.value)));
        if present == y {
            continue;
        }
        let _ = match (&present, &y) {
            (None, Some(y)) => write!(path, "M{x:.1} {y}"),
            (Some(_), Some(y)) => write!(path, "H{x:.1}V{y}"),
            (_, None) => write!(path, "H{x:.1}"),
        };
        present = y;
    }
    if let (Some(last), Some(_)) = (points.last(), present) {
        let _ = write!(path, "H{:.1}", axis.x(last.at));
    }
    draw_path(svg, colour, width, &path);
}

fn draw_time(svg: &mut String, axis: Axis, bottom: f64) {
    let right = WIDTH - RIGHT;
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{LEFT} {bottom:.1}H{right}\"/>");
    for tick in round_values(axis.seconds, 2.0) {
        let x = LEFT + tick / axis.seconds * (right - LEFT);
        let _ = writeln!(
            svg,
            "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            tick_text(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">Time (s)</text>",
        LEFT + (right - LEFT) / 2.0,
        bottom + 36.0
    );
}

/// Round values from zero up to `highest`, `crowd` times as many as an axis has usually.
fn round_values(highest: f64, crowd: f64) -> Vec<f64> {
    let step = ticks(0.0, highest / crowd).get(1).copied().unwrap_or(highest);
    (0..).map(|n| f64::from(n) * step).take_while(|value| *value <= highest * 1.000_001).collect()
}
