//! What a scheme may order a station to do.

use super::super::rate::RateControl;
use super::super::retry::Limits;
use super::Dcf;

impl Dcf {
    /// Sets the retry limits.
    pub fn set_retry_limits(&mut self, limits: Limits) {
        self.retries.set_limits(limits);
    }

    /// Sets the rate control and forgets what was learned.
    pub fn set_rate_control(&mut self, control: RateControl) {
        self.rate_control = control;
        self.peers.reset_rates(control);
    }

    /// Lowers a fixed rate to at most `to_percent` of the configured one, unless that takes it below `floor_percent`.
    pub fn reduce_rate(&mut self, to_percent: u8, floor_percent: u8) {
        if let RateControl::Fixed(full) = self.config.rate_control
            && let Some(rate) = full.reduced(to_percent, floor_percent)
        {
            self.set_rate_control(RateControl::Fixed(rate));
        }
    }

    /// Takes the configured retry limits and rate again.
    pub fn restore_defaults(&mut self) {
        self.retries.set_limits(self.config.retry_limits);
        if self.rate_control != self.config.rate_control {
            self.set_rate_control(self.config.rate_control);
        }
    }

    /// Sets the RTS threshold.
    pub fn set_rts_threshold(&mut self, bytes: u32) {
        self.config.rts_threshold = bytes;
    }
}
