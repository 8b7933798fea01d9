//! Lesson library `autograd`.
