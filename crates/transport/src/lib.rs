//! Publish and subscribe.
