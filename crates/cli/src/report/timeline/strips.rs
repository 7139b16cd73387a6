//! The strips under the panels: through whom the host spoke, when it was cut off, what its policy heard, when it held
//! the sender.

use std::fmt::Write;

use segue_sim::timeline::{Attachment, Heard, Span, Timeline};

use super::{Axis, GAP, HEADER, LEFT, RIGHT, WIDTH, draw_legend, draw_path, escape};

const ROW: f64 = 20.0;
const ROW_GAP: f64 = 5.0;
/// Colours for access points and agents, in the order in which they are met.
const COLOURS: usize = 6;
/// Spans closer than this share a mark.
const RESOLUTION: f64 = 0.5;
/// Width of a letter of the names in bands, rounded up.
const LETTER: f64 = 6.7;
/// Names that a legend holds.
const NAMES: usize = 8;
/// Marks of signals of one kind that are closer than this would run into one another.
const MARK: f64 = 9.0;

/// All strips that have something to show; `y` moves below them.
pub(super) fn draw(svg: &mut String, axis: Axis, timeline: &Timeline, y: &mut f64) {
    let outages: Vec<Span> = timeline.outages.iter().map(|outage| outage.span).collect();
    let is_empty = timeline.attachments.is_empty()
        && outages.is_empty()
        && timeline.signals.is_empty()
        && timeline.freezes.is_empty();
    if is_empty {
        return;
    }
    let title = timeline.host.as_ref().map_or("Path".to_owned(), |host| format!("Mobile host {host}"));
    let baseline = *y + HEADER - 9.0;
    let _ = writeln!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"{baseline}\">{}</text>", escape(&title));
    let met = met(timeline);
    let colours: Vec<String> = (0..met.len()).map(|number| format!("c{}", number % COLOURS)).collect();
    let names = met.iter().zip(&colours).map(|(name, colour)| (*name, colour.as_str(), "\u{25a0}"));
    let mut legend: Vec<(&str, &str, &str)> = names.take(NAMES).collect();
    if !timeline.registrations.is_empty() {
        legend.push(("registered", "ink", "|"));
    }
    if !timeline.signals.is_empty() {
        legend.extend([("heard NOT_OK", "fail", "\u{25bc}"), ("heard OK", "pass", "\u{25b2}")]);
    }
    draw_legend(svg, baseline, &legend);
    *y += HEADER;
    if !timeline.attachments.is_empty() {
        begin_row(svg, *y, "Attached to");
        draw_attachments(svg, axis, timeline, &met, *y);
        *y += ROW + ROW_GAP;
    }
    for (label, colour, spans) in [("Cut off", "fail", &outages), ("Frozen", "c5", &timeline.freezes)] {
        if !spans.is_empty() {
            begin_row(svg, *y, label);
            draw_spans(svg, axis, *y, (label, colour), spans);
            *y += ROW + ROW_GAP;
        }
    }
    for (label, layer) in [("Link signals", "link-"), ("IP signals", "ip-")] {
        let of_layer: Vec<&Heard> = timeline.signals.iter().filter(|h| h.kind.starts_with(layer)).collect();
        if !of_layer.is_empty() {
            begin_row(svg, *y, label);
            for heard in of_layer {
                draw_signals(svg, axis, *y, heard);
            }
            *y += ROW + ROW_GAP;
        }
    }
    *y += GAP - ROW_GAP;
}

fn begin_row(svg: &mut String, y: f64, label: &str) {
    let width = WIDTH - LEFT - RIGHT;
    let _ = writeln!(
        svg,
        "<rect class=\"row\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width}\" height=\"{ROW}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
        LEFT - 8.0,
        y + 14.0
    );
}

/// Access points and agents in the order in which the host met them.
fn met(timeline: &Timeline) -> Vec<&str> {
    let mut met: Vec<&str> = Vec::new();
    for to in timeline.attachments.iter().filter_map(|attachment| attachment.to.as_deref()) {
        if !met.contains(&to) {
            met.push(to);
        }
    }
    met
}

fn draw_attachments(svg: &mut String, axis: Axis, timeline: &Timeline, met: &[&str], y: f64) {
    for Attachment { span, to } in &timeline.attachments {
        let name = to.as_deref().unwrap_or("nobody");
        let look = match met.iter().position(|met| *met == name) {
            Some(number) => format!("fill=\"var(--c{})\"", number % COLOURS),
            None => "class=\"nobody\"".to_owned(),
        };
        let class = if to.is_some() { "name" } else { "thin" };
        draw_band(svg, axis, y, *span, &look, (class, name, &story(name, *span)));
    }
    let mut marks = String::new();
    for tick in &timeline.registrations {
        let _ = write!(marks, "M{:.1} {:.1}v{ROW}", axis.x(tick.at), y);
    }
    draw_path(svg, "ink", 2.0, &marks);
}

fn draw_spans(svg: &mut String, axis: Axis, y: f64, (label, colour): (&str, &str), spans: &[Span]) {
    for span in merged(axis, spans.iter().copied()) {
        let lasted = format!("{:.1} s", span.duration().as_secs_f64());
        let look = format!("fill=\"var(--{colour})\"");
        draw_band(svg, axis, y, span, &look, ("name", &lasted, &story(&label.to_lowercase(), span)));
    }
}

/// A band with a text in it, if the text fits.
fn draw_band(
    svg: &mut String,
    axis: Axis,
    y: f64,
    span: Span,
    look: &str,
    (class, text, title): (&str, &str, &str),
) {
    let (x, width) = axis.stretch(span);
    let _ = writeln!(
        svg,
        "<rect {look} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW}\"><title>{}</title></rect>",
        width.max(1.0),
        escape(title)
    );
    if text.chars().count() as f64 * LETTER + 4.0 <= width {
        let _ = writeln!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x + width / 2.0,
            y + 14.0,
            escape(text)
        );
    }
}

/// Good news points upwards from the lower edge, bad news downwards from the upper. What is repeated at once is a
/// short line.
fn draw_signals(svg: &mut String, axis: Axis, y: f64, heard: &Heard) {
    let bad = heard.kind.ends_with("not-ok");
    let colour = if bad { "fail" } else { "pass" };
    let (edge, point) = if bad { (y + 1.5, 8) } else { (y + ROW - 1.5, -8) };
    let mut path = String::new();
    let mut drawn = f64::NEG_INFINITY;
    for x in heard.at.iter().map(|tick| axis.x(tick.at)) {
        let _ = if x - drawn >= MARK {
            drawn = x;
            write!(path, "M{:.1} {edge:.1}h8l-4 {point}z", x - 4.0)
        } else {
            write!(path, "M{:.1} {edge:.1}h1v{}h-1z", x - 0.5, point / 2)
        };
    }
    let _ = writeln!(
        svg,
        "<path style=\"fill:var(--{colour})\" d=\"{path}\"><title>{} heard</title></path>",
        heard.kind.to_uppercase().replace('-', "_")
    );
}

/// Spans of which no two are too close to be told apart.
pub(super) fn merged(axis: Axis, spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if axis.x(span.from) - axis.x(last.until) < RESOLUTION => last.until = span.until,
            _ => merged.push(span),
        }
    }
    merged
}

/// What is shown when one points at it.
pub(super) fn story(what: &str, span: Span) -> String {
    format!(
        "{what} from {:.3} s to {:.3} s: {:.3} s",
        span.from.as_secs_f64(),
        span.until.as_secs_f64(),
        span.duration().as_secs_f64()
    )
}
