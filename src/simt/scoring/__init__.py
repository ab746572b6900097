"""From instances to numbers: quality, latency, policy, significance; no model is loaded here."""
