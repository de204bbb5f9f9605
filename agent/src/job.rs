//! One job from claim to outcome.
